package lines

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// scan is the one machine behind all windows: it is fed the text piece by
// piece, in order, skips to the first line wanted, takes lines, and then only
// counts. Where the pieces are cut makes no difference.
type scan struct {
	want Want
	out  Window
	room int64 // bytes to set aside for the window when it begins

	line    int64 // number of the line the next byte belongs to
	within  bool  // that line has begun: a byte of it was seen
	taken   bool  // the window is complete
	more    bool  // a byte was seen after the window
	current part  // the line being taken
}

// part is a line that is being taken.
type part struct {
	at      int   // where it begins in out.Text
	dropped int64 // bytes beyond MaxLine, not kept
	last    byte  // the last of those
}

// newScan is a scan whose first byte will belong to line at, which is want.Offset
// or before.
func newScan(want Want, at int64) *scan {
	s := &scan{want: want, line: at}
	s.out = Window{Start: want.Offset, Total: -1}
	return s
}

// feed takes the next bytes of the text.
func (s *scan) feed(b []byte) {
	b = s.skip(b)
	for len(b) > 0 && !s.taken {
		b = s.take(b)
	}
	if len(b) > 0 {
		s.more = true
		s.count(b)
	}
}

// skip passes over what lies before the window.
func (s *scan) skip(b []byte) []byte {
	if s.line >= s.want.Offset || len(b) == 0 {
		return b
	}
	if n := int64(bytes.Count(b, newline)); s.line+n < s.want.Offset {
		s.count(b)
		return nil
	}
	for s.line < s.want.Offset {
		b = b[bytes.IndexByte(b, '\n')+1:]
		s.line++
	}
	s.within = false
	return b
}

var newline = []byte{'\n'}

// count moves on over b without keeping it.
func (s *scan) count(b []byte) {
	s.line += int64(bytes.Count(b, newline))
	s.within = b[len(b)-1] != '\n'
}

// take adds the rest of the current line, or as much of it as b holds, to the
// window and returns what follows.
func (s *scan) take(b []byte) []byte {
	if !s.within {
		s.current = part{at: len(s.out.Text)}
		s.within = true
	}
	end := bytes.IndexByte(b, '\n')
	piece, rest := b, b[:0]
	if end >= 0 {
		piece, rest = b[:end], b[end+1:]
	}
	s.keep(piece)
	if s.tooMuch() {
		s.giveBack()
		return b
	}
	if end >= 0 && !s.endLine("\n") {
		return b
	}
	return rest
}

// keep adds a piece of the current line, up to MaxLine.
func (s *scan) keep(piece []byte) {
	room := s.want.MaxLine - (len(s.out.Text) - s.current.at)
	kept := min(room, len(piece))
	if s.out.Text == nil {
		s.out.Text = make([]byte, 0, max(s.room, int64(kept)))
	}
	s.out.Text = append(s.out.Text, piece[:kept]...)
	if kept < len(piece) {
		s.current.dropped += int64(len(piece) - kept)
		s.current.last = piece[len(piece)-1]
	}
}

// tooMuch says that the current line does not fit. The first always does: a
// window without it would never move on.
func (s *scan) tooMuch() bool {
	return s.out.Count > 0 && len(s.out.Text) > s.want.MaxBytes
}

// giveBack ends the window before the current line.
func (s *scan) giveBack() {
	s.out.Text = s.out.Text[:s.current.at]
	s.taken, s.more = true, true
}

// endLine ends the current line with its line end, or none at the end of the
// text; false if it did not fit and the window ended before it.
func (s *scan) endLine(lineEnd string) bool {
	if s.current.dropped > 0 && lineEnd != "" && s.current.last == '\r' {
		s.current.dropped--
		lineEnd = "\r\n"
	}
	cut := s.current.dropped > 0
	if cut {
		s.mark()
	}
	s.out.Text = append(s.out.Text, lineEnd...)
	if s.tooMuch() {
		s.giveBack()
		return false
	}
	s.out.Count++
	if cut {
		s.out.Cut++
	}
	if lineEnd != "" {
		s.line++
		s.within = false
	}
	s.taken = s.out.Count == s.want.Limit
	return true
}

// mark puts the marker where the current line was cut, at the border of a
// character.
func (s *scan) mark() {
	kept := s.out.Text[s.current.at:]
	whole := len(kept) - cutRune(kept)
	s.current.dropped += int64(len(kept) - whole)
	s.out.Text = append(s.out.Text[:s.current.at+whole], Marker(s.current.dropped)...)
}

// Marker is what stands in place of the n bytes by which a line was cut.
func Marker(n int64) string {
	return "… [line cut: " + strconv.FormatInt(n, 10) + " more bytes]"
}

// cutRune is how many bytes at the end of b are the beginning of a character
// that is not complete.
func cutRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
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
		s.out.Total = s.total()
	}
	return s.out
}

// total is the number of lines at the end of the text: the line the next byte
// would belong to has begun, or does not count.
func (s *scan) total() int64 {
	if s.within {
		return s.line
	}
	return s.line - 1
}
