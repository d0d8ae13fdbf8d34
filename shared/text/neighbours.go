package text

import (
	"strings"
	"unicode"
)

// neighbours walks along a text and says what the company of each character
// adds to its weight. Scripts do not change within a word, and not often
// between words; capitals do not follow small letters; words are made of vowels
// and consonants in turn; signs stand between words.
type neighbours struct {
	accents int // counts accented letters behind others, which matter in Latin only

	before rune   // the character before
	within bool   // before is a sign that should not have a letter behind it
	script script // of the last letter
	alike  int    // how many letters before are vowels, or consonants
	vowel  bool   // which of the two
}

func (n *neighbours) add(r rune) int {
	if r < 0x80 && n.before < 0x80 && n.script == latinScript && !n.within {
		n.before, n.alike = r, 0 // nothing to say about ASCII
		return 0
	}
	w := spelling(n.before, r)
	switch {
	case isLetter(r):
		w += n.letterWeight(r)
		n.within = false
	default:
		n.within = isSign(r) && (isLetter(n.before) || unicode.In(r, unicode.Sc, unicode.Sk, unicode.N))
		n.alike = 0
	}
	n.before = r
	return w
}

func (n *neighbours) letterWeight(r rune) int {
	w := n.scriptWeight(r) + n.rowWeight(r)
	if n.within {
		w += signInWord
	}
	if !isLetter(n.before) {
		if r >= 0x80 && unicode.IsMark(r) {
			w += signInWord
		}
		return w
	}
	if r < 0x80 && n.before < 0x80 {
		return w
	}
	if unicode.IsLower(n.before) && unicode.IsUpper(r) {
		w += lateCapital
	}
	if r >= 0x80 && n.before >= 0x80 && !unicode.IsMark(r) {
		n.accents++
	}
	return w
}

// scriptWeight is for leaving a script.
func (n *neighbours) scriptWeight(r rune) int {
	s, last := scriptOf(r), n.script
	n.script = s
	switch {
	case s == last || last == none:
		return 0
	case isLetter(n.before):
		return otherScript
	case s == ideographic || last == ideographic:
		return 0
	}
	return scriptChange
}

// rowWeight is for the third letter of a kind in a row, and further ones.
func (n *neighbours) rowWeight(r rune) int {
	s := scriptOf(r)
	if s != greek && s != cyrillicScript {
		n.alike = 0
		return 0
	}
	if vowel := isVowel(r); vowel != n.vowel {
		n.vowel, n.alike = vowel, 0
	}
	n.alike++
	if n.alike < 3 {
		return 0
	}
	return threeAlike
}

// spelling is for pairs that words do not have. Some letters of Hebrew and one
// of Greek have a form for the end of a word and another for elsewhere; in
// Cyrillic й follows a vowel, the hard and the soft sign follow a consonant, and
// the hard sign ends no word.
func spelling(a, b rune) int {
	switch {
	case a < 0x80 && b < 0x80:
		return 0
	case strings.ContainsRune("ךםןףץς", a) && isLetter(b),
		strings.ContainsRune("כמנפצσъ", a) && !isLetter(b),
		b == 'й' && scriptOf(a) == cyrillicScript && !isVowel(a),
		strings.ContainsRune("ьъ", b) && (scriptOf(a) != cyrillicScript || isVowel(a)):
		return badSpelling
	}
	return 0
}

func isVowel(r rune) bool { return strings.ContainsRune(vowels, unicode.ToLower(r)) }

// isLetter is true for accents that combine with a letter, and false for the
// ordinal signs, which Unicode calls letters.
func isLetter(r rune) bool {
	if r < 0x80 {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.In(r, unicode.L, unicode.M) && r != 'º' && r != 'ª'
}

// isSign is true for what does not stand within words. Apostrophes do, and the
// middle dot of Catalan.
func isSign(r rune) bool { return r >= 0x80 && !strings.ContainsRune("’·\u200c\u00ad", r) }

type script int

const (
	none script = iota
	latinScript
	greek
	cyrillicScript
	hebrew
	arabic
	ideographic // and whatever else mixes freely with other scripts
)

func scriptOf(r rune) script {
	switch {
	case r < 0x0370, r >= 0x1E00 && r < 0x1F00:
		return latinScript
	case r < 0x0400:
		return greek
	case r < 0x0530:
		return cyrillicScript
	case r >= 0x0590 && r < 0x0600:
		return hebrew
	case r >= 0x0600 && r < 0x0700:
		return arabic
	}
	return ideographic
}
