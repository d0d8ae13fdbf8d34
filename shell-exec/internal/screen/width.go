package screen

import (
	"unicode"

	"golang.org/x/text/width"
)

const joiner = 0x200d

// lineDrawing is what the characters from ` to ~ are while line drawing is on.
var lineDrawing = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// Columns is how many columns a character takes: 0 if it combines with the one
// before, and -1 if it is a control character and not shown at all.
func Columns(r rune) int {
	switch {
	case r < 0x7f:
		return 1
	case r < 0xa0:
		return -1
	case r < 0x300:
		return 1
	case r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3: // most of what is wide
		return 2
	case r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff: // vowels and finals of Hangul
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Width is how many columns a line of a screen takes, or more where characters are joined.
func Width(line string) int {
	n := 0
	for _, r := range line {
		n += max(Columns(r), 0)
	}
	return n
}

// pictures says whether a character is, nearly enough, a pictograph.
func pictures(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff
}
