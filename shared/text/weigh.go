package text

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A weight is how unusual a text is: about ten times the number of bits a
// language would need to say it. Decodings of the same bytes can be compared
// whatever number of characters they have; that is what makes two letters of
// one alphabet against one ideograph of another a fair question.
const (
	asciiWeight   = 50  // any ASCII character
	markWeight    = 80  // punctuation that any text may use, or this language does
	symbolWeight  = 110 // a sign that any text may use
	wideWeight    = 100 // ASCII in its wide form, among ideographs
	narrowWeight  = 95  // half-width katakana
	strangeWeight = 170 // any other letter or sign
	foreignWeight = 400 // private use, controls, unassigned

	otherScript  = 100 // within a word
	scriptChange = 25  // from one word to the next
	lateCapital  = 60  // a capital behind a small letter
	threeAlike   = 25  // a third vowel or a third consonant in a row
	badSpelling  = 50  // two letters that words of their script do not have
	twoAccents   = 25  // one accented letter behind another, where most letters are ASCII
	signInWord   = 80  // a sign between two letters, or an accent without its letter
	margin       = 40  // what another reading must be better by than windows-1252
)

// Signs that any text may use.
const (
	anyMarks   = "\u00a0–—…‘’“”„«»"
	anySymbols = "§©®°€•™×±½²µ£"
)

// price is a language made fit for weighing.
type price struct {
	language
	of map[rune]int
}

// prices is made once, at the first file that is neither UTF-8 nor binary.
var prices = sync.OnceValue(func() []price {
	all := make([]price, len(languages))
	for i, l := range languages {
		all[i] = price{l, l.prices()}
	}
	return all
})

// prices follows Zipf: a character at place n of the order is worth a constant
// and ten times the binary logarithm of n.
func (l language) prices() map[rune]int {
	first, capital := 37, 25
	switch l.kind {
	case latin:
		first, capital = 60, 20
	case ideographs:
		first = 40
	}
	of := map[rune]int{}
	place := 0
	for _, r := range l.letters {
		place++
		whole := bits.Len(uint(place)) - 1
		of[r] = first + 10*whole + 10*(place-1<<whole)>>whole // linear between the powers of two
		if upper := unicode.ToUpper(r); upper != r && upper >= 0x80 {
			of[upper] = of[r] + capital
		}
	}
	for _, r := range l.marks {
		of[r] = markWeight
	}
	return of
}

// alone is what a character beyond ASCII is worth by itself.
func (p price) alone(r rune) int {
	if w, ok := p.of[r]; ok {
		return w
	}
	switch {
	case strings.ContainsRune(anyMarks, r):
		return markWeight
	case strings.ContainsRune(anySymbols, r):
		return symbolWeight
	case r >= 0xFF01 && r <= 0xFF5E && p.kind == ideographs:
		return wideWeight
	case r >= 0xFF61 && r <= 0xFF9F:
		return narrowWeight
	case unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S):
		return strangeWeight
	}
	return foreignWeight
}

// weigh is the weight of a reading as text of the language.
func (p price) weigh(r reading) int {
	sum := r.company
	if p.kind == latin {
		sum += twoAccents * r.accents
	}
	for _, c := range r.characters {
		sum += c.times * p.alone(c.r)
	}
	return sum
}

// reading is one way to understand the sample: an encoding, what is the same in
// every language about the text it gives, and the least weight in any of them.
type reading struct {
	encoding   Encoding
	characters []character // those beyond ASCII
	company    int         // the weight of ASCII and of neighbours
	accents    int         // accented letters behind others
	weight     int
}

type character struct {
	r     rune
	times int
}

// byLanguage takes the least unusual of all readings that are valid for the
// whole head. A NUL is never text here, and other control characters nearly
// never.
func byLanguage(h head) (Encoding, bool) {
	if bytes.IndexByte(h.bytes, 0) >= 0 || oddControls(h.bytes)*64 > len(h.bytes) {
		return Encoding{}, false
	}
	sample := sampleOf(h)
	readings := readingsOf(sample)
	slices.SortStableFunc(readings, func(a, b reading) int { return cmp.Compare(a.weight, b.weight) })
	i := slices.IndexFunc(readings, func(r reading) bool {
		_, ok := r.encoding.strict(h)
		return ok
	})
	if i < 0 {
		return Encoding{}, false
	}

	// A sample may be so short that random bytes are without control characters by chance.
	// Then it must not be unusual in every language.
	all, high := len(sample.bytes), 0
	for _, c := range sample.bytes {
		if c >= 0x80 {
			high++
		}
	}
	perByte := (readings[i].weight - asciiWeight*(all-high)) / max(1, high)
	return readings[i].encoding, all >= 64 || perByte < 150
}

// sampleOf is the lines that are not ASCII only, 2 KiB of them. The line feed is
// part of no longer character in any encoding weighed here.
func sampleOf(h head) head {
	const enough = 2 << 10
	var sample []byte
	for line := range bytes.Lines(h.bytes) {
		if bytes.IndexFunc(line, notASCII) < 0 {
			continue
		}
		sample = append(sample, line...)
		if len(sample) > enough {
			return head{sample[:enough], false}
		}
	}
	return head{sample, h.whole}
}

// readingsOf weighs the sample in every encoding that can decode it, by the
// language that finds it least unusual. They are in the order of the table of
// languages, so that of equals the earlier wins; windows-1252 has its advantage
// already.
func readingsOf(sample head) []reading {
	var readings []reading
	place := map[string]int{}
	for _, p := range prices() {
		for _, name := range p.encodings {
			i, seen := place[name]
			if !seen {
				i = len(readings)
				place[name] = i
				readings = append(readings, read(must(name), sample))
			}
			if r := &readings[i]; r.characters != nil {
				r.weight = min(r.weight, p.weigh(*r))
			}
		}
	}
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.characters == nil })
	for i := range readings {
		if readings[i].encoding.Name() == "windows-1252" {
			readings[i].weight -= margin
		}
	}
	return readings
}

// read decodes the sample. What cannot be decoded has no characters.
func read(e Encoding, sample head) reading {
	out := reading{encoding: e, weight: math.MaxInt}
	s, ok := e.strict(sample)
	if !ok {
		return out
	}
	times := map[rune]int{}
	var n neighbours
	for _, r := range s {
		out.company += n.add(r)
		if r < 0x80 {
			out.company += asciiWeight
			continue
		}
		times[r]++
	}
	out.accents = n.accents
	for r, n := range times {
		out.characters = append(out.characters, character{r, n})
	}
	return out
}

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
		inWords := r < 0x80 || strings.ContainsRune("’·\u200c\u00ad", r) // apostrophes, and the middle dot of Catalan
		n.within = !inWords && (isLetter(n.before) || unicode.In(r, unicode.Sc, unicode.Sk, unicode.N))
		n.alike = 0
	}
	n.before = r
	return w
}

func (n *neighbours) letterWeight(r rune) int {
	w := n.scriptWeight(r)

	// The third letter of a kind in a row, and further ones.
	if s := n.script; s != greek && s != cyrillicScript {
		n.alike = 0
	} else if vowel := isVowel(r); vowel != n.vowel {
		n.vowel, n.alike = vowel, 1
	} else if n.alike++; n.alike >= 3 {
		w += threeAlike
	}

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
