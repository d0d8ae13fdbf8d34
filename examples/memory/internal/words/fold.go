package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	prolonged  = 'ー' // U+30FC, which Unicode counts to no script
	apostrophe = '\''
)

// fold makes letters alike that mean the same: width and other compatibility forms
// (NFKC, Unicode Standard Annex 15), case, accents of Latin letters, katakana. What
// joins or hides letters and is not shown goes.
func fold(text string) string {
	if isPlain(text) {
		return strings.ToLower(text)
	}
	text = cases.Fold().String(norm.NFKD.String(text))
	var b strings.Builder
	var base rune
	for _, r := range norm.NFKD.String(text) {
		isMark := unicode.Is(unicode.Mn, r)
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			continue
		case isMark && unicode.Is(unicode.Latin, base):
			continue
		case r == '’', r == 'ʼ':
			r = apostrophe
		}
		if !isMark {
			base = r
		}
		b.WriteRune(hiragana(r))
	}
	return norm.NFC.String(b.String())
}

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hiragana is a letter of katakana as hiragana, which stands 0x60 before it in Unicode.
func hiragana(r rune) rune {
	if 'ァ' <= r && r <= 'ヶ' || r == 'ヽ' || r == 'ヾ' {
		return r - 0x60
	}
	return r
}
