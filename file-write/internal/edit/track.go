package edit

import (
	"strings"

	"golang.org/x/text/transform"

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
	page page
	ends ends

	// Of an encoding other than UTF-8, where text and bytes are not the same:
	decoder transform.Transformer
	raw     []byte
	t, r    int    // the same place in the text and in the bytes
	shifts  bool   // ISO-2022-JP: escape sequences are between characters
	shift   string // the escape sequence in force, empty at the start
}

func newTracker(p page) *tracker {
	t := &tracker{page: p, ends: ends{text: p.text, paired: p.ending == text.CRLF || p.ending == text.Mixed}}
	if !p.enc.IsUTF8() {
		t.decoder, t.raw, t.shifts = p.enc.NewDecoder(), []byte(p.raw), p.enc.Name() == "iso-2022-jp"
	}
	return t
}

// match finds the match between two offsets of page.lines. It is not ok where
// the match begins or ends within a character of the encoding.
func (t *tracker) match(from, to int) (m match, ok bool) {
	m.from = t.ends.to(from)
	m.to = t.ends.to(to)
	if t.decoder == nil {
		m.rawFrom, m.rawTo = m.from, m.to
		return m, true
	}
	var begins, ends bool
	m.rawFrom, m.before, begins = t.decodeTo(m.from)
	_, _, ends = t.decodeTo(m.to)
	m.rawTo, m.after = t.r, t.shift
	return m, begins && ends
}

// complete reports whether the bytes and the text come to their ends together, as they
// must if every character was told from the next. A file of escape sequences only has no
// text, and the decoder was not called.
func (t *tracker) complete() bool {
	if t.decoder == nil || t.page.text == "" {
		return true
	}
	_, _, whole := t.decodeTo(len(t.page.text))
	return whole && t.r == len(t.page.raw)
}

// decodeTo goes forwards to an offset of the text, or to the first border of a character
// after it, which is not ok. The decoder passes the escape sequences there too: at and
// shift are where the last character ends, and the state there.
func (t *tracker) decodeTo(offset int) (at int, shift string, ok bool) {
	var room [4096]byte
	from, more := t.r, 0 // bytes that a character needs beyond the offset
	for t.t < offset {
		n, taken, err := t.decoder.Transform(room[:min(len(room), offset-t.t+more)], t.raw[t.r:], true)
		t.t, t.r = t.t+n, t.r+taken
		if n > 0 {
			more = 0
		} else if more++; err != transform.ErrShortDst {
			break
		}
	}
	at, shift = t.r, t.shift
	if !t.shifts {
		return at, shift, t.t == offset
	}

	at = from
	for i := from; i < t.r; {
		rest := t.page.raw[i:t.r]
		if rest[0] == '\x1b' {
			n := 3
			if strings.HasPrefix(rest, "\x1b$(") {
				n = 4
			}
			t.shift = rest[:min(n, len(rest))]
			i += n
			continue
		}
		n := 1
		switch twoBytes := strings.HasPrefix(t.shift, "\x1b$"); { // JIS X 0208 or 0212
		case twoBytes && rest[0] == '\n':
			t.shift = "" // the WHATWG Encoding Standard: a line end resets it
		case twoBytes:
			n = 2
		}
		i += n
		at, shift = i, t.shift
	}
	return at, shift, t.t == offset
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
