package dfa

import "bytes"

// streams are run by turns: what each of them looks up depends on its own last
// lookup only, so that a processor does them all at the same time.
const streams = 4

// fewest bytes that are worth being cut into streams.
const fewest = 2 << 10

// Lines adds a place in every line of the text that matches, in order.
func (m *Machine) Lines(text []byte, found []int) []int {
	whole := bytes.LastIndexByte(text, '\n') + 1
	m.earn(len(text))
	if whole < fewest {
		found = m.one(text[:whole], &stream{end: whole, state: m.begin}, found)
	} else {
		found = m.four(text[:whole], found)
	}
	if whole < len(text) && !m.failed && m.line(text[whole:]) {
		found = append(found, whole)
	}
	return found
}

// Line says whether a line, its line feed excluded, matches.
func (m *Machine) Line(line []byte) bool {
	m.earn(len(line))
	return m.line(line)
}

// earn allows for what making states may cost over so many bytes.
func (m *Machine) earn(n int) {
	m.credit = min(firstCredit, m.credit) + creditByByte*n
}

func (m *Machine) line(line []byte) bool {
	s := m.begin
	for _, b := range line {
		next := m.table[s+uint32(m.p.class[b])]
		if next >= unknown {
			if next&unknown != 0 {
				next = m.step(s, m.p.class[b])
			}
			if next&matched != 0 {
				return !m.failed
			}
		}
		s = next
	}
	next := m.table[s+uint32(m.p.newline)]
	if next&unknown != 0 {
		next = m.step(s, m.p.newline)
	}
	return next&matched != 0 && !m.failed
}

// stream is a part of a text, from the start of a line to the end of one.
type stream struct {
	at, end int
	state   uint32
}

// one runs a stream to its end.
func (m *Machine) one(text []byte, s *stream, found []int) []int {
	for s.at < s.end && !m.failed {
		class := m.p.class[text[s.at]]
		next := m.table[s.state+uint32(class)]
		s.at++
		s.state = next
		if next >= unknown {
			if m.settle(text, s); s.state&matched != 0 {
				found = append(found, s.at-1)
				m.leave(text, s)
			}
		}
	}
	return found
}

// settle finds out the state of a stream that has come to an unknown one.
func (m *Machine) settle(text []byte, s *stream) {
	if s.state&unknown != 0 {
		s.state = m.step(s.state&^flags, m.p.class[text[s.at-1]])
	}
}

// leave goes to the next line.
func (m *Machine) leave(text []byte, s *stream) {
	if text[s.at-1] != '\n' {
		s.at += bytes.IndexByte(text[s.at:], '\n') + 1
	}
	s.state = m.begin
}

// four runs a text in four streams.
func (m *Machine) four(text []byte, found []int) []int {
	var s [streams]stream // of about the same length
	at := 0
	for i := range s {
		end := len(text)
		if to := max(at, (i+1)*len(text)/streams); i < streams-1 && to < len(text) {
			end = to + bytes.IndexByte(text[to:], '\n') + 1
		}
		s[i] = stream{at, end, m.begin}
		at = end
		m.found[i] = m.found[i][:0]
	}
	for !m.failed {
		n := s[0].end - s[0].at
		for i := range s {
			n = min(n, s[i].end-s[i].at)
		}
		if n < 16 {
			break
		}
		m.attend(text, &s, run(&m.p.class, m.table, text, &s, n))
	}
	forgot := m.forgot
	for i := range s {
		found = append(found, m.found[i]...)
		if m.forgot != forgot {
			m.rewind(text, &s[i])
		}
		found = m.one(text, &s[i], found)
	}
	return found
}

// attend continues where, behind n more bytes, a stream has come to a match or to
// a state that is not known.
func (m *Machine) attend(text []byte, s *[streams]stream, n int) {
	for i := range s {
		s[i].at += n
		m.take(text, &s[i], i)
	}
	for i := range s {
		if s[i].state < unknown {
			continue
		}
		forgot := m.forgot
		m.settle(text, &s[i])
		m.take(text, &s[i], i)
		if m.forgot != forgot {
			for i := range s {
				m.rewind(text, &s[i])
			}
			return
		}
	}
}

// take records that the line stream i is in matches, and leaves it.
func (m *Machine) take(text []byte, s *stream, i int) {
	if s.state&flags == matched {
		m.found[i] = append(m.found[i], s.at-1)
		m.leave(text, s)
	}
}

// rewind goes back to where the line begins, because the state within it is
// forgotten.
func (m *Machine) rewind(text []byte, s *stream) {
	end := s.at
	if s.state&unknown != 0 {
		end-- // that byte was not looked at yet
	}
	s.at = bytes.LastIndexByte(text[:end], '\n') + 1
	s.state = m.begin
}
