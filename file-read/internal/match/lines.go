package match

import (
	"bytes"
	"context"
	"unicode/utf8"
)

// blocks searches line by line, one block of lines after the other.
func (s *search) blocks(ctx context.Context) error {
	for {
		s.settle()
		if s.stop && s.owed == len(s.res.Hits) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		block, whole, err := s.in.next()
		if err != nil || len(block) == 0 {
			return err
		}
		if !whole || s.at > 0 {
			block = s.long(ctx, block, whole)
		}
		s.lines(ctx, block)
	}
}

// lines takes the hits of a block of whole lines.
func (s *search) lines(ctx context.Context, block []byte) {
	s.serve(block)
	s.look.begin(block)
	from, counted := 0, 0
	for !s.stop && from < len(block) {
		found, ok := s.look.next(ctx, from)
		if !ok {
			break
		}
		from = found.end + 1
		if s.w.CountOnly { // neither where hits begin nor their line numbers are wanted
			s.res.Lines++
			s.stop = s.w.FirstOnly
			continue
		}
		start := counted + lastLineFeed(block[counted:found.at]) + 1
		m := span{start, found.end, found.at}
		if !found.begins {
			m.at = start // without a match in this line the context has ended
			if loc := s.p.find(ctx, s.p.whole, block[start:m.end]); loc != nil {
				m.at += loc[0]
			}
		}
		s.line += int64(bytes.Count(block[counted:start], lineFeed))
		counted = start
		s.take(block, m)
	}
	if s.stop || s.w.CountOnly {
		return
	}
	s.line += int64(bytes.Count(block[counted:], lineFeed))
	if s.w.Context > 0 && len(block) > 0 { // the last lines, for hits at the start of the next block
		end := len(block)
		if block[end-1] != '\n' {
			end++ // linesBefore counts back from behind a line feed
		}
		s.before = s.linesBefore(block, end)
	}
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
	return from + lastLineFeed(block[from:at]) + 1
}

func endOfLine(block []byte, at int) int {
	if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(block)
}

// long looks at a part of a line that does not fit in the buffer: the whole
// block, or with whole what there is of it up to the end of the line. It returns
// the lines after it.
func (s *search) long(ctx context.Context, block []byte, whole bool) (rest []byte) {
	s.res.Windowed = true
	piece := block
	if whole {
		end := endOfLine(block, 0)
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
	s.matched = s.matched || s.piece(ctx, piece, whole, back)
	switch {
	case whole:
		s.line, s.at, s.matched = s.line+1, 0, false
		if s.w.Context > 0 {
			s.before = append(s.before, s.begun)
			s.before = s.before[max(0, len(s.before)-s.w.Context):]
		}
	case s.matched:
		s.at += int64(len(piece))
	default:
		s.in.used -= len(piece) - back // the rest is part of the next block too
		s.at += int64(back)
	}
	return rest
}

// piece takes a hit in a part of a line, and reports whether there is one. A match
// that the end of the window may have changed is left for the next one, which
// begins at back.
func (s *search) piece(ctx context.Context, piece []byte, ends bool, back int) bool {
	if !ends {
		piece = piece[:wordBorder(piece)-1]
	}
	if s.stop || !s.p.mayMatch(piece, 0) || !s.look.mayMatch(piece) {
		return false
	}
	loc := s.p.find(ctx, s.p.pieces[pieceOf(s.at == 0, ends)], piece)
	if loc == nil || ctx.Err() != nil {
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
		c := b[i-1]
		if c < utf8.RuneSelf && c != '_' && !isLetter(rune(c)) && (c < '0' || c > '9') {
			return i
		}
	}
	return borderBefore(b, len(b)-1)
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
