package match

import (
	"bytes"
	"context"
	"unicode/utf8"
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
	f := s.p.needle.in(block)
	from, counted := 0, 0
	for !s.stop && from < len(block) {
		m, ok := s.p.next(s.ctx, f, from)
		if !ok {
			break
		}
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

// next is the first matching line of the finder's block that begins at or after
// from, which is where a line begins. What it answers when ctx has ended means
// nothing.
func (p *Pattern) next(ctx context.Context, f *finder, from int) (span, bool) {
	if len(f.text) == 0 {
		return p.nextOf(ctx, f.block, from)
	}
	for from < len(f.block) && ctx.Err() == nil {
		at := f.next(from)
		if at < 0 {
			break
		}
		m := lineAround(f.block, at)
		if p.exact {
			return m, true
		}
		if loc := p.find(ctx, p.whole, f.block[m.start:m.end]); loc != nil {
			m.at = m.start + loc[0]
			return m, true
		}
		from = m.end + 1
	}
	return span{}, false
}

// nextOf is next without a needle: it runs the expression over as many lines at
// once as one step allows.
func (p *Pattern) nextOf(ctx context.Context, block []byte, from int) (span, bool) {
	for from < len(block) && ctx.Err() == nil {
		end := stepEnd(block, from, p.step)
		if loc := p.find(ctx, p.whole, block[from:end]); loc != nil {
			return lineAround(block, from+loc[0]), true
		}
		from = end + 1
	}
	return span{}, false
}

// stepEnd is the end of a line, its line feed excluded, at most step bytes from
// where a line begins, or of that line if it is longer.
func stepEnd(block []byte, from, step int) int {
	if to := min(len(block), from+step); to > from {
		if i := bytes.LastIndexByte(block[from:to], '\n'); i >= 0 {
			return from + i
		}
	}
	return lineAround(block, from).end
}

// lineAround is the line that byte at is in; the line feed belongs to the line
// that it ends.
func lineAround(block []byte, at int) span {
	m := span{bytes.LastIndexByte(block[:at], '\n') + 1, len(block), at}
	if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
		m.end = at + i
	}
	return m
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
	f := s.p.needle.in(piece)
	if s.stop || len(f.text) > 0 && f.next(0) < 0 {
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
