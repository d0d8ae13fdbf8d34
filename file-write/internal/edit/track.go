package edit

import (
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/text"
)

// match is one match: its bytes in the file, its characters in the text, and
// the shift states (see [shifted]) before and after it.
type match struct {
	rawFrom, rawTo int
	from, to       int
	before, after  string
}

// tracker carries offsets in page.lines back to page.text and page.raw. It goes
// forwards only, so that all matches in a file together cost one pass.
type tracker struct {
	ends  ends
	units *units // nil in UTF-8, where text and bytes are the same
}

func newTracker(p page) *tracker {
	t := &tracker{ends: ends{text: p.text, paired: p.ending == text.CRLF || p.ending == text.Mixed}}
	if !p.enc.IsUTF8() {
		name := p.enc.Name()
		t.units = &units{raw: p.raw, text: p.text, size: sizeIn(name), shifts: name == "iso-2022-jp", pairs: name == "big5"}
	}
	return t
}

// match finds the match between two offsets of page.lines. It is not ok where
// the match begins or ends within a character of the encoding.
func (t *tracker) match(from, to int) (m match, ok bool) {
	m.from = t.ends.to(from)
	m.to = t.ends.to(to)
	if t.units == nil {
		m.rawFrom, m.rawTo = m.from, m.to
		return m, true
	}
	begins := t.units.to(m.from)
	m.rawFrom, m.before = t.units.r, t.units.shift
	ends := t.units.to(m.to)
	t.units.passShifts()
	m.rawTo, m.after = t.units.r, t.units.shift
	return m, begins && ends
}

// complete reports whether the bytes and the text come to their ends together, as they
// must if every character was told from the next.
func (t *tracker) complete() bool {
	if t.units == nil {
		return true
	}
	whole := t.units.to(len(t.units.text))
	t.units.passShifts()
	return whole && t.units.r == len(t.units.raw)
}

// ends carries offsets in which each CR LF counts as one byte to offsets
// where it is two.
type ends struct {
	text   string
	paired bool // whether there are such pairs at all
	at     int  // in text
	lf     int  // the same place with each pair as one byte
}

func (e *ends) to(lf int) int {
	if !e.paired {
		return lf
	}
	for {
		i := strings.IndexByte(e.text[e.at:min(len(e.text), e.at+lf-e.lf)], '\r')
		if i < 0 {
			e.at, e.lf = e.at+lf-e.lf, lf
			return e.at
		}
		e.at, e.lf = e.at+i+1, e.lf+i+1
		if strings.HasPrefix(e.text[e.at:], "\n") {
			e.at++
		}
	}
}

// units goes over the characters of a file, in its bytes and in its text at
// once.
type units struct {
	raw, text string
	size      func(rest string) int
	shifts    bool // ISO-2022-JP: escape sequences are between characters
	pairs     bool // Big5: four characters are two in Unicode

	r, t  int    // the same place in raw and in text
	shift string // the escape sequence in force, empty at the start
}

// to goes forwards to an offset of the text, or to the first character border
// after it, which is not ok.
func (u *units) to(t int) bool {
	for u.t < t && u.r < len(u.raw) {
		u.step()
	}
	return u.t == t
}

// step passes one character and the escape sequences before it.
func (u *units) step() {
	u.passShifts()
	rest := u.raw[u.r:]
	if rest == "" {
		return
	}
	n := u.size(rest)
	twoBytes := u.shifts && strings.HasPrefix(u.shift, "\x1b$") // JIS X 0208 or 0212
	switch {
	case u.shifts && rest[0] == '\n':
		n = 1
		if twoBytes {
			u.shift = "" // the WHATWG Encoding Standard: a line end resets it
		}
	case twoBytes:
		n = 2
	}
	u.passRune()
	if u.pairs && n == 2 && len(rest) > 1 && rest[0] == 0x88 && strings.IndexByte("\x62\x64\xA3\xA5", rest[1]) >= 0 {
		u.passRune()
	}
	u.r += min(n, len(rest))
}

func (u *units) passRune() {
	_, n := utf8.DecodeRuneInString(u.text[u.t:])
	u.t += n
}

func (u *units) passShifts() {
	for u.shifts && strings.HasPrefix(u.raw[u.r:], "\x1b") {
		n := min(3, len(u.raw)-u.r)
		if strings.HasPrefix(u.raw[u.r:], "\x1b$(") {
			n = min(4, len(u.raw)-u.r)
		}
		u.shift = u.raw[u.r : u.r+n]
		u.r += n
	}
}

// sizeIn returns how many bytes the first character of valid text has, by encoding,
// after the WHATWG Encoding Standard.
func sizeIn(encoding string) func(rest string) int {
	afterLead := func(rest string) int {
		if c := rest[0]; c >= 0x81 && c <= 0xFE {
			return 2
		}
		return 1
	}
	utf16 := func(high int) func(rest string) int { // where the upper byte of a unit is
		return func(rest string) int {
			if len(rest) > high && rest[high] >= 0xD8 && rest[high] <= 0xDB {
				return 4
			}
			return 2
		}
	}
	switch encoding {
	case "utf-16le":
		return utf16(1)
	case "utf-16be":
		return utf16(0)
	case "shift_jis":
		return func(rest string) int {
			if c := rest[0]; c >= 0x81 && c <= 0x9F || c >= 0xE0 && c <= 0xFC {
				return 2
			}
			return 1
		}
	case "euc-jp":
		return func(rest string) int {
			if rest[0] == 0x8F {
				return 3
			}
			return afterLead(rest)
		}
	case "gb18030":
		return func(rest string) int {
			if n := afterLead(rest); n == 1 || len(rest) < 2 || rest[1] < 0x30 || rest[1] > 0x3F {
				return n
			}
			return 4
		}
	case "big5", "euc-kr":
		return afterLead
	}
	return func(string) int { return 1 }
}
