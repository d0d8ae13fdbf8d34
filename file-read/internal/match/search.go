package match

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/file-read/internal/scan"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Search reads r to its end, or until what is wanted is found, and tells the
// hits in order. When ctx ends, or r fails, the result is what was found so far
// beside the error, which is an Error of package fault.
//
// Where r is an io.ReaderAt too and tells its Size, a large file is searched in
// parts at the same time; it is not asked for its size where one read shows its end.
func (p *Pattern) Search(ctx context.Context, r io.Reader, w Want) (Result, error) {
	s := p.borrow(ctx, r, w)
	defer p.giveBack(s)
	res, err := s.search(r)
	if err != nil {
		return res, fault.From(err)
	}
	return res, nil
}

// search searches r, which the stream reads.
func (s *search) search(r io.Reader) (Result, error) {
	err := s.begin()
	if err == nil && !s.res.Binary && !s.in.eof {
		if parts := s.inParts(r); parts != nil {
			return parts.search(s.ctx)
		}
	}
	if err == nil && !s.res.Binary {
		err = s.rest()
	}
	return s.res, err
}

// search is one stream being searched. Searches are used again for the sake of
// the states of their machine.
type search struct {
	ctx  context.Context
	p    *Pattern
	w    Want
	in   *stream
	look lookout
	res  Result

	line int64 // number of the line the next block begins in
	stop bool  // no further hit is wanted

	before []string // the last Want.Context lines before the next block
	owed   int      // hits from here on may lack lines after them

	at    int64  // within a line over MaxLine: where in it the block begins, else 0
	known bool   // and that it matched already
	begun string // and how it is shown as context
}

// borrow begins a search, with what an earlier one has left.
func (p *Pattern) borrow(ctx context.Context, r io.Reader, w Want) *search {
	s, ok := p.idle.Get().(*search)
	if !ok {
		s = &search{look: lookout{p: p}}
	}
	if w.MaxText <= 0 {
		w.MaxText = DefaultCut
	}
	in := p.buffers.take(p.sizes.head)
	*in = stream{r: r, buf: in.buf, block: p.sizes.block, room: lineRoom, keepCR: p.keepCR}
	*s = search{ctx: ctx, p: p, w: w, line: 1, in: in, look: s.look}
	return s
}

// giveBack leaves what a search has to the next.
func (p *Pattern) giveBack(s *search) {
	p.buffers.give(s.in)
	s.look.begin(nil)
	*s = search{look: s.look}
	p.idle.Put(s)
}

// span is a hit in a block: where its first line begins, where its last line
// ends, line feed excluded, and where the match begins.
type span struct{ start, end, at int }

// A sighting is some place in a line that matches, or at its end: where the line
// ends, and whether the match begins there.
type sighting struct {
	at, end int
	begins  bool
}

// run searches the stream from its head on.
func (s *search) run() error {
	if err := s.begin(); err != nil || s.res.Binary {
		return err
	}
	return s.rest()
}

// rest searches a stream whose encoding is dealt with.
func (s *search) rest() error {
	look := s.blocks
	if s.p.spans {
		look = s.together
	}
	err := look()
	s.res.Binary = s.in.nul
	if err == nil {
		err = s.ctx.Err()
	}
	return err
}

// begin reads the head of the stream, tells its encoding from it and puts a
// decoder before the rest where one is needed.
func (s *search) begin() error {
	n, err := io.ReadFull(s.in.r, s.in.buf[:s.p.sizes.head])
	whole := err == io.EOF || err == io.ErrUnexpectedEOF
	if err != nil && !whole {
		return err
	}
	head := s.in.buf[:n]
	traits := scan.TraitsOf(head)
	encoding, ok := s.p.encodingOf(head, whole, traits)
	if !ok {
		s.res.Binary = true
		return nil
	}
	s.res.Encoding = encoding.Name()
	if encoding.IsUTF8() {
		s.in.eof = whole
		if bytes.HasPrefix(head, utf8BOM) {
			n = copy(head, head[len(utf8BOM):])
		}
		s.in.accept(n, traits)
		return nil
	}
	s.in.r = encoding.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(head)), s.in.r))
	return nil
}

var utf8BOM = []byte("\xEF\xBB\xBF")

// encodingOf tells the encoding of a stream by its first bytes. A stream is
// binary, and ok false, if they hold a NUL that no encoding explains. Without
// one it is searched in any case, like everything that ripgrep searches.
func (p *Pattern) encodingOf(head []byte, whole bool, traits scan.Traits) (e text.Encoding, ok bool) {
	if plain(head, whole, traits) {
		return p.utf8, true
	}
	if e, ok := text.EncodingOf(head, whole); ok {
		return e, true
	}
	return p.utf8, traits&scan.NUL == 0
}

// plain says that there is nothing to tell: valid UTF-8, and no escape sequence
// that could make it another encoding.
func plain(head []byte, whole bool, traits scan.Traits) bool {
	if traits&(scan.NUL|scan.ESC) != 0 {
		return false
	}
	if traits&scan.NonASCII == 0 {
		return true
	}
	if !whole {
		head = wholeRunes(head)
	}
	return validUTF8(head)
}

// validUTF8 goes from one character that is not ASCII to the next while there
// are few.
func validUTF8(b []byte) bool {
	const few = 100
	for range few {
		b = b[scan.ASCII(b):]
		for len(b) > 0 && b[0] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(b)
			if r == utf8.RuneError && size == 1 {
				return false
			}
			b = b[size:]
		}
	}
	return utf8.Valid(b)
}

// wholeRunes leaves out a character that is cut at the end of b.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// take records a hit in a block whose first line has the number s.line.
func (s *search) take(block []byte, m span) {
	lines := 1 + int64(bytes.Count(block[m.start:m.end], lineFeed))
	s.stop = s.w.FirstOnly
	if s.w.CountOnly {
		s.res.Lines += lines
		return
	}
	if s.w.MaxHits > 0 && len(s.res.Hits) == s.w.MaxHits {
		s.res.More, s.stop = true, true
		return
	}
	s.res.Lines += lines
	h := Hit{Line: s.line, Column: int(s.at) + m.at - m.start + 1}
	h.Text, h.Cut = window(s.lineOf(block, m.start, m.end), m.at-m.start, s.w.MaxText)
	h.Cut = h.Cut || s.at > 0
	if s.w.Context > 0 {
		h.Before = s.linesBefore(block, m.start)
		h.After = s.linesAfter(block, m.end+1)
	}
	s.res.Hits = append(s.res.Hits, h)
}

var lineFeed = []byte{'\n'}
