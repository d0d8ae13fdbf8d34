package match

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/text"
)

// lineOf is a line as it is shown: without the carriage return of its end.
func (s *search) lineOf(block []byte, start, end int) []byte {
	line := block[start:end]
	if s.p.keepCR && end < len(block) {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	return line
}

// window is at most limit bytes of a line, the match that begins at byte at
// among them, and whether something was left out.
func window(line []byte, at, limit int) (string, bool) {
	if len(line) <= limit {
		return valid(line), false
	}
	from := max(0, min(at-limit/4, len(line)-limit))
	to := borderBefore(line, min(from+limit, len(line)-1))
	if from+limit >= len(line) {
		to = len(line)
	}
	for from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	return valid(line[from:to]), true
}

// beginning is a line of the context: its first bytes, and a mark if there are
// more.
func beginning(line []byte, limit int) string {
	if len(line) <= limit {
		return valid(line)
	}
	return valid([]byte(text.Cut(string(line[:limit+1]), limit))) + "…"
}

func valid(b []byte) string {
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// linesBefore are the lines of the context before the line that begins at
// start.
func (s *search) linesBefore(block []byte, start int) []string {
	var last []string // in reverse
	for start > 0 && len(last) < s.w.Context {
		end := start - 1
		start = bytes.LastIndexByte(block[:end], '\n') + 1
		last = append(last, beginning(s.lineOf(block, start, end), s.w.MaxText))
	}
	earlier := s.before[max(0, len(s.before)-(s.w.Context-len(last))):]
	lines := append([]string(nil), earlier...)
	for i := len(last) - 1; i >= 0; i-- {
		lines = append(lines, last[i])
	}
	return lines
}

// linesAfter are the lines of the context from the line on that begins at
// start, as far as they are in the block.
func (s *search) linesAfter(block []byte, start int) []string {
	var lines []string
	for start < len(block) && len(lines) < s.w.Context {
		end := lineAround(block, start).end
		lines = append(lines, beginning(s.lineOf(block, start, end), s.w.MaxText))
		start = end + 1
	}
	return lines
}

// serve gives the first lines of a block to hits that still lack lines after
// them.
func (s *search) serve(block []byte) {
	if s.w.Context == 0 || s.owed == len(s.res.Hits) {
		return
	}
	lines := s.linesAfter(block, 0)
	for i := s.owed; i < len(s.res.Hits); i++ {
		h := &s.res.Hits[i]
		missing := min(s.w.Context-len(h.After), len(lines))
		h.After = append(h.After, lines[:missing]...)
	}
	s.settle()
}

// settle moves owed past the hits that have all their lines.
func (s *search) settle() {
	for s.owed < len(s.res.Hits) && len(s.res.Hits[s.owed].After) >= s.w.Context {
		s.owed++
	}
}
