package text

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes visible what would otherwise act on a terminal, on a line-based
// listing or on the order of what is shown, or hide in it: control characters, escape
// codes, bidirectional and other format characters, line and paragraph separators,
// tag characters, characters without a shape, and bytes that are not UTF-8 become \n,
// \x1b, \u202e, \U000e0041 and \xff. Everything else, the backslash too, stays as it
// is, and so does what keep names: the outcome is for reading, not for turning back.
//
// The joiners U+200C and U+200D stay, because words in Persian and Indic
// scripts and many emoji are made with them, and so do variation selectors.
// Bidirectional characters are those of CVE-2021-42574.
func Escape(s string, keep ...rune) string {
	return escapeFunc(s, func(r rune) bool { return acts(r) && !slices.Contains(keep, r) })
}

// EscapeAll is Escape for where somebody looks for what went wrong, as in the audit log:
// there the joiners, spaces but the ordinary one, and characters of private use become
// visible too.
func EscapeAll(s string) string { return escapeFunc(s, Hides) }

// Hides says that r acts or may hide something from a person who reads it closely.
func Hides(r rune) bool {
	return !unicode.IsPrint(r) || acts(r)
}

// acts says that r does something other than being shown.
func acts(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7F
	}
	if r == 0x200C || r == 0x200D {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

func escapeFunc(s string, hides func(rune) bool) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hides) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hides(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
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

// LineEnding is how the lines of a text end.
type LineEnding string

// The line endings. Mixed is any two of the first three together; None is text
// without a line end.
const (
	LF    LineEnding = "lf"
	CRLF  LineEnding = "crlf"
	CR    LineEnding = "cr"
	Mixed LineEnding = "mixed"
	None  LineEnding = "none"
)

// LineEndingOf looks at all of b, which is UTF-8 or another encoding in which
// CR and LF are the bytes 0x0D and 0x0A and nothing else is. A CR as the very
// last byte counts only where it is the only line end, since b may be the head
// of a file, cut within a CRLF.
func LineEndingOf(b []byte) LineEnding {
	crlf := bytes.Count(b, []byte("\r\n"))
	lf := bytes.Count(b, []byte("\n")) - crlf
	cr := bytes.Count(b, []byte("\r")) - crlf
	if cr == 1 && crlf+lf > 0 && b[len(b)-1] == '\r' {
		cr = 0
	}
	switch {
	case lf+crlf+cr == 0:
		return None
	case crlf+cr == 0:
		return LF
	case lf+cr == 0:
		return CRLF
	case lf+crlf == 0:
		return CR
	}
	return Mixed
}
