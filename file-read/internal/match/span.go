package match

import (
	"bytes"
	"unicode/utf8"
)

// together searches a stream whose lines a match may span: all of it at once.
func (s *search) together() error {
	s.in.room = spanRoom
	text, fits, err := s.all()
	if err != nil || !fits {
		s.res.TooLarge = !fits
		return err
	}
	counted := 0
	m := matches{s: s, text: text}
	for m.advance(); m.found && !s.stop; {
		hit := m.hit()
		s.line += int64(bytes.Count(text[counted:hit.start], lineFeed))
		counted = hit.start
		s.take(text, hit)
	}
	return nil
}

// all is the rest of the stream, or that it does not fit.
func (s *search) all() (text []byte, fits bool, err error) {
	in := s.in
	for !in.eof {
		if err := s.ctx.Err(); err != nil {
			return nil, true, err
		}
		if in.n == len(in.buf) && !in.grow() {
			return nil, false, nil
		}
		if err := in.fill(); err != nil {
			return nil, true, err
		}
	}
	return in.buf[:in.n], in.n <= MaxSpan, nil
}

// matches goes through the matches in a text, in order. A match is found where
// it would be if it were looked for from the start of the text.
type matches struct {
	s     *search
	text  []byte
	next  int // where the next match may begin
	a, b  int // the match
	found bool
}

// hit is the lines that the match touches, together with the matches after it
// that begin in one of them. It advances past these.
func (m *matches) hit() span {
	hit := lineAround(m.text, m.a)
	for m.found && m.a <= hit.end {
		if m.b > m.a {
			hit.end = max(hit.end, lineAround(m.text, m.b-1).end)
		}
		m.advance()
	}
	return hit
}

// advance goes to the next match.
func (m *matches) advance() {
	m.found = false
	if m.next > len(m.text) || !m.s.p.mayMatch(m.text, m.next) {
		return
	}
	loc := m.locate()
	if loc == nil || m.s.ctx.Err() != nil || pastEnd(m.text, loc[0]) {
		return
	}
	m.a, m.b, m.found = loc[0], loc[1], true
	if m.next = m.b; m.a == m.b {
		_, size := utf8.DecodeRune(m.text[m.b:])
		m.next += max(1, size) // the same empty match is not found twice
	}
}

// locate is the first match that begins at next or later. The character before
// next is looked at only to tell whether a line or a word begins there.
func (m *matches) locate() []int {
	p := m.s.p
	if p.exact && p.seek.single != nil {
		misses := 0
		at := p.seek.next(m.text, m.next, &misses) // mayMatch has seen it
		return []int{at, at + len(p.seek.single.Text)}
	}
	if m.next == 0 {
		return p.find(m.s.ctx, p.whole, m.text)
	}
	_, size := utf8.DecodeLastRune(m.text[:m.next])
	base := m.next - size
	loc := p.onward.FindReaderSubmatchIndex(&runes{ctx: m.s.ctx, text: m.text[base:]})
	if loc == nil {
		return nil
	}
	return []int{base + loc[2], base + loc[3]}
}

// pastEnd says that nothing of a line is at byte at: the text ends before it.
func pastEnd(text []byte, at int) bool {
	return at == len(text) && (at == 0 || text[at-1] == '\n')
}

// mayMatch says whether there can be a match from a place on.
func (p *Pattern) mayMatch(text []byte, from int) bool {
	misses := 0
	return p.seek.none() || p.seek.next(text, from, &misses) >= 0
}
