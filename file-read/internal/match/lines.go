package match

import (
	"bytes"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/file-read/internal/scan"
)

// blocks searches line by line, one block of lines after the other.
func (s *search) blocks() error {
	for !s.satisfied() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		block, whole, err := s.in.next()
		if err != nil || len(block) == 0 {
			return err
		}
		if !whole || s.at > 0 {
			block = s.long(block, whole)
		}
		s.lines(block)
	}
	return nil
}

// lines takes the hits of a block of whole lines.
func (s *search) lines(block []byte) {
	s.serve(block)
	s.look.begin(block)
	if s.w.CountOnly {
		s.count(len(block))
		return
	}
	from, counted := 0, 0
	for !s.stop && from < len(block) {
		found, ok := s.look.next(s.ctx, from)
		if !ok {
			break
		}
		m := s.hit(block, from, found)
		s.line += int64(bytes.Count(block[counted:m.start], lineFeed))
		counted = m.start
		s.take(block, m)
		from = m.end + 1
	}
	if !s.stop {
		s.line += int64(bytes.Count(block[counted:], lineFeed))
		s.remember(block)
	}
}

// count counts hits only: neither where they begin nor in which line they are is
// wanted.
func (s *search) count(size int) {
	for from := 0; from < size && !s.stop; {
		m, ok := s.look.next(s.ctx, from)
		if !ok {
			return
		}
		s.res.Lines++
		s.stop = s.w.FirstOnly
		from = m.end + 1
	}
}

// hit is the line of a sighting, and where the match begins in it. The line begins
// at or after from.
func (s *search) hit(block []byte, from int, found sighting) span {
	m := span{startOfLine(block, from, found.at), found.end, found.at}
	if found.begins {
		return m
	}
	m.at = m.start
	if loc := s.p.find(s.ctx, s.p.whole, block[m.start:m.end]); loc != nil {
		m.at += loc[0]
	}
	return m // without a match the context has ended
}

// stepEnd is the end of a line, its line feed excluded, at most step bytes from
// where a line begins, or of that line if it is longer.
func stepEnd(block []byte, from, step int) int {
	if to := min(len(block), from+step); to > from {
		if i := bytes.LastIndexByte(block[from:to], '\n'); i >= 0 {
			return from + i
		}
	}
	return endOfLine(block, from)
}

// lineAround is the line that byte at is in; the line feed belongs to the line
// that it ends.
func lineAround(block []byte, at int) span {
	return span{startOfLine(block, 0, at), endOfLine(block, at), at}
}

// startOfLine is where the line that byte at is in begins, which is not before
// from.
func startOfLine(block []byte, from, at int) int {
	return from + scan.LastLF(block[from:at]) + 1
}

func endOfLine(block []byte, at int) int {
	if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(block)
}

// long looks at a part of a line that does not fit in the buffer: the whole
// block, or with whole what there is of it up to the end of the line. It gives
// the lines after it.
func (s *search) long(block []byte, whole bool) (rest []byte) {
	s.res.Windowed = true
	piece := block
	if whole {
		end := lineAround(block, 0).end
		piece, rest = block[:end], block[min(end+1, len(block)):]
	}
	if s.at == 0 {
		s.serve(piece)
		s.begun = beginning(piece, s.w.MaxText)
	}
	back := len(piece)
	if !whole {
		back = wordBorder(piece[:back-overlap])
	}
	s.known = s.known || s.piece(piece, whole, back)
	switch {
	case whole:
		s.line, s.at, s.known = s.line+1, 0, false
		s.rememberLine(s.begun)
	case s.known:
		s.at += int64(len(piece))
	default:
		s.in.keep(len(piece) - back)
		s.at += int64(back)
	}
	return rest
}

// piece takes a hit in a part of a line, and says whether there is one. A match
// that the end of the window may have changed is left for the next one, which
// begins at back.
func (s *search) piece(piece []byte, ends bool, back int) bool {
	if !ends {
		piece = piece[:wordBorder(piece)-1]
	}
	if s.stop || !s.p.mayMatch(piece, 0) || !s.look.mayMatch(piece) {
		return false
	}
	loc := s.p.find(s.ctx, s.p.pieces[pieceOf(s.at == 0, ends)], piece)
	if loc == nil || s.ctx.Err() != nil {
		return false
	}
	if !ends && loc[1] == len(piece) && loc[0] >= back {
		return false
	}
	s.take(piece, span{0, len(piece), loc[0]})
	return true
}

// wordBorder is a place near the end of b, but not at its start, where a window
// may begin, and one character before which a window may end: right behind a
// byte that is in no word, so that \b is at the border what it is in the line.
// Where a word is longer than the overlap it is some border of a character.
func wordBorder(b []byte) int {
	for i := len(b); i > len(b)-overlap; i-- {
		if c := b[i-1]; c < utf8.RuneSelf && !isWord(c) {
			return i
		}
	}
	return borderBefore(b, len(b)-1)
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// borderBefore is where the character that byte i is in begins.
func borderBefore(b []byte, i int) int {
	for j := i; j > max(0, i-utf8.UTFMax); j-- {
		if utf8.RuneStart(b[j]) {
			return j
		}
	}
	return i
}
