package page

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible is a text without the characters that have no shape: controls, bidirectional
// ones, tags, zero-width ones. They are how text is hidden from people and not from
// models. The joiners within words stay, and a variation selector behind what it can
// select a shape of. count, where not nil, grows by what was dropped, soft hyphens and
// carriage returns aside.
func visible(s string, count *int) string {
	if !strings.ContainsFunc(s, suspect) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(' ')
	for _, r := range s {
		if !suspect(r) || stays(before, r) {
			b.WriteRune(r)
			before = r
			continue
		}
		if count != nil && r != softHyphen && r != '\r' {
			*count++
		}
	}
	return b.String()
}

const softHyphen = 0xAD

func suspect(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r < 0x7F:
		return false
	case r == utf8.RuneError, unicode.Is(unicode.Prepended_Concatenation_Mark, r): // shown
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// stays says that r means something where it stands.
func stays(before, r rune) bool {
	switch {
	case r == 0x200C || r == 0x200D: // joiners
		return unicode.In(before, unicode.L, unicode.M, unicode.So, unicode.Sk)
	case r == 0xFE0E || r == 0xFE0F: // text or emoji
		return unicode.In(before, unicode.S, unicode.Po) || '0' <= before && before <= '9'
	case 0xE0100 <= r && r <= 0xE01EF: // forms of ideographs
		return unicode.Is(unicode.Han, before)
	}
	return false
}
