package match

import (
	"bytes"
	"context"
	"unicode/utf8"
)

// together searches a stream whose lines a match may span: all of it at once.
func (s *search) together(ctx context.Context) error {
	in := s.in
	in.room = spanRoom
	for !in.eof {
		if err := ctx.Err(); err != nil {
			return err
		}
		if in.n == len(in.buf) && !in.grow() {
			s.res.TooLarge = true
			return nil
		}
		if err := in.fill(); err != nil {
			return err
		}
	}
	if in.n > MaxSpan {
		s.res.TooLarge = true
		return nil
	}
	text := in.buf[:in.n]
	counted := 0
	m := matches{p: s.p, text: text}
	for m.advance(ctx); m.found && !s.stop; {
		// The lines that the match touches are one hit, together with the matches that
		// begin in one of them.
		hit := lineAround(text, m.a)
		for m.found && m.a <= hit.end {
			if m.b > m.a {
				hit.end = max(hit.end, endOfLine(text, m.b-1))
			}
			m.advance(ctx)
		}
		s.line += int64(bytes.Count(text[counted:hit.start], lineFeed))
		counted = hit.start
		s.take(text, hit)
	}
	return nil
}

// matches goes through the matches in a text, in order. A match is found where
// it would be if the search began at the start of the text.
type matches struct {
	p     *Pattern
	text  []byte
	next  int // where the next match may begin
	a, b  int // the match
	found bool
}

// advance goes to the next match. The character before next is looked at only to find
// out whether a line or a word begins there.
func (m *matches) advance(ctx context.Context) {
	m.found = false
	if m.next > len(m.text) || !m.p.mayMatch(m.text, m.next) {
		return
	}
	var a, b int
	switch {
	case m.p.exact && m.p.seek.single != nil:
		misses := 0
		a = m.p.seek.next(m.text, m.next, &misses) // mayMatch has seen it
		b = a + len(m.p.seek.single.Text)
	case m.next == 0:
		loc := m.p.find(ctx, m.p.whole, m.text)
		if loc == nil {
			return
		}
		a, b = loc[0], loc[1]
	default:
		_, size := utf8.DecodeLastRune(m.text[:m.next])
		base := m.next - size
		loc := m.p.onward.FindReaderSubmatchIndex(&runes{ctx: ctx, text: m.text[base:]})
		if loc == nil {
			return
		}
		a, b = base+loc[2], base+loc[3]
	}
	if ctx.Err() != nil || a == len(m.text) && (a == 0 || m.text[a-1] == '\n') { // behind the last line
		return
	}
	m.a, m.b, m.found = a, b, true
	if m.next = b; a == b {
		_, size := utf8.DecodeRune(m.text[b:])
		m.next += max(1, size) // the same empty match is not found twice
	}
}

// mayMatch reports whether there can be a match from a place on.
func (p *Pattern) mayMatch(text []byte, from int) bool {
	misses := 0
	return p.seek.none() || p.seek.next(text, from, &misses) >= 0
}
