// Package words turns text into tokens, so that a query finds a memory that says the
// same in another form: wide or narrow letters, upper or lower case, hiragana or
// katakana, with or without accents, in the singular or the plural, in British or
// American spelling.
//
// Scripts that put no spaces between words, Japanese first of all, have no words here
// but every two letters that are next to each other, and every ideograph by itself. So
// 「好きな色」 is found in 「好きな色は青です」 without a dictionary, and 青い in it too, by 青.
//
// No meaning is known: 好きな色 and "favourite colour" have no token in common. A token
// holds letters, digits and signs that are not ASCII, and nothing that is syntax anywhere.
package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Version is of the rules: an index that was made under others has to be made again.
const Version = 1

// Most bounds the tokens of a query.
const Most = 32

const (
	longest    = 40  // letters of a token that count; a word that is longer is no word
	prolonged  = 'ー' // U+30FC, which Unicode counts to no script
	apostrophe = '\''
)

// token is a piece of a text, and whether it only holds a sentence together: "the", です.
type token struct {
	text string
	bare bool
}

// Of returns every token of text in its order, each as often as it is there.
func Of(text string) []string {
	var all []string
	for _, t := range scan(text) {
		all = append(all, t.text)
	}
	return all
}

// Asked is what a query looks for, each token once. Those that only hold a sentence
// together count where there are no others.
func Asked(query string) []string {
	var full, bare []string
	for _, t := range scan(query) {
		into := &full
		if t.bare {
			into = &bare
		}
		if len(*into) < Most && !slices.Contains(*into, t.text) {
			*into = append(*into, t.text)
		}
	}
	if len(full) > 0 {
		return full
	}
	return bare
}

// kind is how a letter joins with its neighbours.
type kind int

const (
	gap    kind = iota // it does not
	spaced             // to a word between gaps
	dense              // in twos: nothing shows where a word ends
	sign               // it is a token by itself: an emoji
)

var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func kindOf(r rune) kind {
	switch {
	case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
		return spaced
	case r < utf8.RuneSelf || r == utf8.RuneError:
		return gap
	case r == prolonged:
		return dense
	case unicode.Is(unicode.So, r):
		return sign
	case !unicode.In(r, unicode.L, unicode.M, unicode.N):
		return gap
	case unicode.In(r, unspaced...):
		return dense
	}
	return spaced
}

// scan cuts a text into runs of one kind, and each run into its tokens.
func scan(text string) []token {
	var all []token
	letters := []rune(fold(text))
	for start := 0; start < len(letters); {
		k, end := kindOf(letters[start]), start+1
		for end < len(letters) && (kindOf(letters[end]) == k || k == spaced && letters[end] == apostrophe) {
			end++
		}
		run := letters[start:end]
		switch start = end; k {
		case spaced:
			if t := wordOf(string(run)); t.text != "" {
				all = append(all, t)
			}
		case dense:
			all = pairs(all, run)
		case sign:
			for _, r := range run {
				all = append(all, token{text: string(r)})
			}
		}
	}
	return all
}

// pairs adds every two letters of a run, and every ideograph, or a letter that is alone.
func pairs(all []token, run []rune) []token {
	for i, r := range run {
		if i+1 < len(run) {
			pair := string(run[i : i+2])
			all = append(all, token{pair, grammar[pair]})
		}
		if unicode.Is(unicode.Han, r) || len(run) == 1 {
			all = append(all, token{string(r), unicode.Is(unicode.Hiragana, r)})
		}
	}
	return all
}

// fold makes letters alike that mean the same: width and other compatibility forms
// (NFKC, Unicode Standard Annex 15), case, accents of Latin letters, and katakana, which
// is 0x60 after hiragana in Unicode. It removes what joins or hides letters and is not shown.
func fold(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(text)
	}
	text = cases.Fold().String(norm.NFKD.String(text))
	var b strings.Builder
	var base rune
	for _, r := range norm.NFKD.String(text) {
		isMark := unicode.Is(unicode.Mn, r)
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), isMark && unicode.Is(unicode.Latin, base):
			continue
		case r == '’', r == 'ʼ':
			r = apostrophe
		}
		if !isMark {
			base = r
		}
		if 'ァ' <= r && r <= 'ヶ' || r == 'ヽ' || r == 'ヾ' {
			r -= 0x60
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// wordOf is a word as a token: an English one without what inflects it, in American
// spelling. Where nothing is left its text is empty. A word of another language that is
// taken for English gets the same token in a memory and in a query.
func wordOf(word string) token {
	word = strings.TrimSuffix(strings.Trim(word, string(apostrophe)), "'s")
	word = strings.ReplaceAll(word, string(apostrophe), "")
	if letters := []rune(word); len(letters) > longest {
		word = string(letters[:longest])
	}
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" { // not what the stemmer knows
		return token{text: word}
	}
	if function[word] {
		return token{word, true}
	}

	// The stemmer takes "ize" for an ending of its own and would make organize an organ, so
	// it gets the endings with a z in American spelling with an s.
	for _, end := range []string{"e", "es", "ed", "er", "ers", "ing", "able", "ation", "ations", "ational"} {
		rest, found := strings.CutSuffix(word, "z"+end)
		if found && (strings.HasSuffix(rest, "i") || strings.HasSuffix(rest, "y")) {
			word = rest + "s" + end
			break
		}
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return token{text: american(env.Current())}
}

// american is a stem in American spelling, but for that z. It works on stems so that all
// forms of a word change alike; that it turns some into no words at all does no harm.
func american(stem string) string {
	if other := irregular[stem]; other != "" {
		return other
	}
	for _, rule := range []struct {
		end, with string
		least     int // letters of the stem
	}{
		{"enc", "ens", 5}, // defence
		{"ogu", "og", 5},  // catalogue
		{"tr", "ter", 4},  // centre
		{"br", "ber", 4},  // fibre
	} {
		if rest, found := strings.CutSuffix(stem, rule.end); found && len(stem) >= rule.least {
			stem = rest + rule.with
		}
	}
	if at := strings.Index(stem, "our"); at > 0 && strings.ContainsAny(stem[:at], "aeiou") { // colour, not hour
		stem = stem[:at] + "or" + stem[at+len("our"):]
	}
	if len(stem) > 5 {
		stem = strings.ReplaceAll(stem, "ae", "e") // anaesthetic
	}
	return stem
}

var irregular = map[string]string{
	"grey": "gray", "programm": "program", "chequ": "check", "tyre": "tire", "plough": "plow", "mould": "mold", "sceptic": "skeptic",
	"aluminium": "aluminum", "jewelleri": "jewelri", "pyjama": "pajama", "moustach": "mustach", "aeroplan": "airplan",
}

// function has the words of English that are in any sentence.
var function = set(`a an the this that these those i me my mine we us our ours you your yours
	he him his she her hers it its they them their theirs
	am is are was were be been being do does did doing have has had having can could will would shall should might must
	and or but nor not no if then than so as of at by for with about to from
	in into on onto off out up down over under what which who whom whose when where
	why how there here just too very such some any each both please s t`)

// grammar has the endings, particles and pronouns of Japanese that are in any sentence, as
// two letters of it.
var grammar = set(`です ます ませ せん した して する され れた れる てい いる いた いて いま
	ある あり あっ なる なっ なり った って でし まし しま から まで より ので のに
	のは のが には では とは もの こと ため よう とし とい いう など だと だっ
	けど しか だけ ない なく なか かっ たい たく くだ ださ さい この その あの どの
	これ それ あれ どれ ここ そこ どこ なに なん いつ だれ すか ょう しょ らい`)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}
