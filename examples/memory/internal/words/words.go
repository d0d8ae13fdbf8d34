// Package words turns text into tokens, so that a query finds a memory that says the
// same in another form: wide or narrow letters, upper or lower case, hiragana or
// katakana, with or without accents, in the singular or the plural, in British or
// American spelling.
//
// Scripts that put no spaces between words, Japanese first of all, have no words here
// but every two letters that stand together, and every ideograph by itself. So
// 「好きな色」 is found in 「好きな色は青です」 without a dictionary, and 青い in it too, by 青.
//
// It refuses to know what a word means: 好きな色 and "favourite colour" have no token in
// common. A token holds letters, digits and signs that are not ASCII, and nothing that
// is syntax anywhere.
package words

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Version is of the rules: an index that was made under others has to be made anew.
const Version = 1

// Most bounds the tokens of a query.
const Most = 32

// longest bounds the letters of a token that count; a word that is longer is no word.
const longest = 40

// token is a piece of a text, and whether it only holds a sentence together: "the", です.
type token struct {
	text string
	bare bool
}

// Of is every token of text in its order, each as often as it stands there.
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
	dense              // in twos: nothing says where a word ends
	sign               // it stands for itself: an emoji
)

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return spaced
		}
		return gap
	case r == utf8.RuneError:
		return gap
	case r == prolonged:
		return dense
	case !unicode.In(r, unicode.L, unicode.M, unicode.N):
		if unicode.Is(unicode.So, r) {
			return sign
		}
		return gap
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
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
			if t := wordOf(run); t.text != "" {
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

// pairs adds every two letters of a run, and every ideograph. A letter that is alone
// stands for itself.
func pairs(all []token, run []rune) []token {
	for i, r := range run {
		if i+1 < len(run) {
			pair := string(run[i : i+2])
			all = append(all, token{pair, isGrammar(pair)})
		}
		if unicode.Is(unicode.Han, r) || len(run) == 1 {
			all = append(all, token{string(r), unicode.Is(unicode.Hiragana, r)})
		}
	}
	return all
}

// isGrammar knows the endings, particles and pronouns of Japanese that stand in any
// sentence, as two letters of it.
func isGrammar(pair string) bool {
	switch pair {
	case "です", "ます", "ませ", "せん", "した", "して", "する", "され", "れた", "れる", "てい", "いる", "いた", "いて", "いま",
		"ある", "あり", "あっ", "なる", "なっ", "なり", "った", "って", "でし", "まし", "しま", "から", "まで", "より", "ので", "のに",
		"のは", "のが", "には", "では", "とは", "もの", "こと", "ため", "よう", "とし", "とい", "いう", "など", "だと", "だっ",
		"けど", "しか", "だけ", "ない", "なく", "なか", "かっ", "たい", "たく", "くだ", "ださ", "さい", "この", "その", "あの", "どの",
		"これ", "それ", "あれ", "どれ", "ここ", "そこ", "どこ", "なに", "なん", "いつ", "だれ", "すか", "ょう", "しょ", "らい":
		return true
	}
	return false
}
