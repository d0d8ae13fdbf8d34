package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes visible what would otherwise act on a terminal, on a line-based
// listing or on the order of what is shown: control characters, escape codes,
// bidirectional and other format characters, line and paragraph separators,
// tag characters, and bytes that are not UTF-8 become \n, \x1b, \u202e,
// \U000e0041 and \xff. Everything else, the backslash too, stays as it is: the
// outcome is for reading, not for turning back.
//
// The joiners U+200C and U+200D stay, because words in Persian and Indic
// scripts and many emoji are made with them. Bidirectional characters are those
// of CVE-2021-42574.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			b.WriteString(`\x` + hex(rune(s[i]), 2))
		case acts(r):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, acts) < 0
}

// acts says that r does something other than being shown.
func acts(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7F
	}
	if r == 0x200C || r == 0x200D {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return `\x` + hex(r, 2)
	case r < 0x10000:
		return `\u` + hex(r, 4)
	}
	return `\U` + hex(r, 8)
}

func hex(r rune, digits int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

// Cut shortens s to at most max bytes, at the border of a character. A max
// below zero is zero.
func Cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	if max <= 0 {
		return ""
	}
	end := max
	for end > 0 && max-end < utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	if !utf8.RuneStart(s[end]) {
		return s[:max] // no UTF-8 here, so no border to keep
	}
	return s[:end]
}
