package lines

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// scan cuts all windows: it is fed the text piece by piece, in order, skips to the first
// line wanted, takes lines, and then only counts. Where the pieces are cut makes no
// difference.
type scan struct {
	want Want
	out  Window
	room int64 // bytes to set aside for the window when it begins

	line   int64 // number of the line the next byte belongs to
	within bool  // that line has begun: a byte of it was seen
	taken  bool  // the window is complete
	more   bool  // a byte was seen after the window

	// The line being taken.
	begin   int   // where it begins in out.Text
	dropped int64 // its bytes beyond MaxLine
	last    byte  // the last of those
}

// newScan is a scan whose first byte belongs to the line with this number, which is
// want.Offset or before.
func newScan(want Want, line int64) *scan {
	return &scan{want: want, line: line, out: Window{Start: want.Offset, Total: -1}}
}

var newline = []byte{'\n'}

// feed takes the next bytes of the text.
func (s *scan) feed(b []byte) {
	if len(b) > 0 && s.line < s.want.Offset {
		if s.line+int64(bytes.Count(b, newline)) < s.want.Offset {
			s.count(b)
			return
		}
		for s.line < s.want.Offset {
			b = b[bytes.IndexByte(b, '\n')+1:]
			s.line++
		}
		s.within = false
	}
	for len(b) > 0 && !s.taken {
		b = s.take(b)
	}
	if len(b) > 0 {
		s.more = true
		s.count(b)
	}
}

// count goes past b without keeping it.
func (s *scan) count(b []byte) {
	s.line += int64(bytes.Count(b, newline))
	s.within = b[len(b)-1] != '\n'
}

// take adds the rest of the current line, or as much of it as is in b, up to MaxLine, to
// the window and returns what follows.
func (s *scan) take(b []byte) []byte {
	if !s.within {
		s.begin, s.dropped, s.within = len(s.out.Text), 0, true
	}
	end := bytes.IndexByte(b, '\n')
	piece, rest := b, b[:0]
	if end >= 0 {
		piece, rest = b[:end], b[end+1:]
	}
	n := min(s.want.MaxLine-(len(s.out.Text)-s.begin), len(piece))
	if s.out.Text == nil {
		s.out.Text = make([]byte, 0, max(s.room, int64(n)))
	}
	s.out.Text = append(s.out.Text, piece[:n]...)
	if n < len(piece) {
		s.dropped += int64(len(piece) - n)
		s.last = piece[len(piece)-1]
	}
	if !s.fits() || end >= 0 && !s.endLine("\n") {
		return b
	}
	return rest
}

// fits reports whether the current line fits in the window, and ends the window before
// it if not. The first line always fits: a window without it would never move on.
func (s *scan) fits() bool {
	if s.out.Count == 0 || len(s.out.Text) <= s.want.MaxBytes {
		return true
	}
	s.out.Text = s.out.Text[:s.begin]
	s.taken, s.more = true, true
	return false
}

// endLine ends the current line with its line end, or with none at the end of the text,
// and reports whether it fits.
func (s *scan) endLine(lineEnd string) bool {
	if s.dropped > 0 && lineEnd != "" && s.last == '\r' {
		s.dropped--
		lineEnd = "\r\n"
	}
	if s.dropped > 0 { // cut at the border of a character
		line := s.out.Text[s.begin:]
		for n := 1; n < utf8.UTFMax && n <= len(line); n++ {
			if tail := line[len(line)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					s.dropped += int64(n)
					s.out.Text = s.out.Text[:len(s.out.Text)-n]
				}
				break
			}
		}
		s.out.Text = append(s.out.Text, Marker(s.dropped)...)
	}
	s.out.Text = append(s.out.Text, lineEnd...)
	if !s.fits() {
		return false
	}
	s.out.Count++
	if s.dropped > 0 {
		s.out.Cut++
	}
	if lineEnd != "" {
		s.line++
		s.within = false
	}
	s.taken = s.out.Count == s.want.Limit
	return true
}

// Marker is what replaces the n bytes by which a line was cut.
func Marker(n int64) string {
	return "… [line cut: " + strconv.FormatInt(n, 10) + " more bytes]"
}

// finish ends the scan: ended says that the last byte fed was the last of the
// text.
func (s *scan) finish(ended bool) Window {
	if ended && s.within && !s.taken && s.line >= s.want.Offset {
		s.endLine("")
	}
	if s.more {
		s.out.Truncated = true
		s.out.Next = s.out.Start + int64(s.out.Count)
	}
	if ended && s.out.Start > 0 {
		s.out.Total = s.line
		if !s.within { // the line that the next byte would belong to does not count
			s.out.Total--
		}
	}
	return s.out
}
