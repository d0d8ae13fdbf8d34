package output

import (
	"unicode"

	eastasian "golang.org/x/text/width"
)

// width is how many columns a terminal gives to a printable character.
func width(c rune) int {
	switch {
	case c < 0x300:
		return 1
	case c >= 0x1160 && c <= 0x11ff: // vowels and finals that join the Hangul syllable before
		return 0
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch eastasian.LookupRune(c).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth:
		return 2
	}
	return 1
}
