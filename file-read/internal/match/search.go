package match

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Search reads r to its end, or until what is wanted is found, and returns the hits in
// order. When ctx ends, or r fails, the result is what was found so far, with the error,
// which is an Error of package fault.
//
// Where r is an io.ReaderAt too and has a Size, a large file is searched in parts at the
// same time; Size is not called where one read shows the end of the file.
func (p *Pattern) Search(ctx context.Context, r io.Reader, w Want) (Result, error) {
	s := p.borrow(r, w)
	defer p.giveBack(s)
	err := s.begin()
	size := int64(0) // of a file in which no hit of a chunk can need what is in another
	f, ok := r.(fileReader)
	if ok && err == nil && !s.in.eof && w.Context <= 0 && !p.spans && s.res.Encoding == p.utf8.Name() {
		size = f.Size()
	}
	switch {
	case err != nil || s.res.Binary:
	case size >= minChunks*int64(p.sizes.chunk):
		s.res, err = (&chunked{p: p, r: f, size: size, w: s.w, line: 1}).search(ctx)
	default:
		err = s.rest(ctx)
	}
	if err != nil {
		return s.res, fault.From(err)
	}
	return s.res, nil
}

// search is one stream being searched. Searches are reused for the sake of the states of
// their machine.
type search struct {
	p    *Pattern
	w    Want
	in   *stream
	look lookout
	res  Result

	line int64 // number of the line the next block begins in
	stop bool  // no further hit is wanted

	before []string // the last Want.Context lines before the next block
	owed   int      // hits from here on may lack lines after them

	at      int64  // within a line over MaxLine: where in it the block begins, else 0
	matched bool   // and that it matched already
	begun   string // and how it is shown as context
}

// borrow begins a search, with what an earlier one has left.
func (p *Pattern) borrow(r io.Reader, w Want) *search {
	s, ok := p.idle.Get().(*search)
	if !ok {
		s = &search{look: lookout{p: p}}
	}
	if w.MaxText <= 0 {
		w.MaxText = DefaultCut
	}
	in := p.buffers.take(p.sizes.head)
	*in = stream{r: r, buf: in.buf, block: p.sizes.block, room: lineRoom, keepCR: p.keepCR}
	*s = search{p: p, w: w, line: 1, in: in, look: s.look}
	return s
}

// giveBack leaves what a search has to the next.
func (p *Pattern) giveBack(s *search) {
	if len(s.in.buf) <= lineRoom { // larger ones are not kept
		*s.in = stream{buf: s.in.buf}
		p.buffers.idle.Put(s.in)
	}
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

var (
	utf8BOM  = []byte("\xEF\xBB\xBF")
	lineFeed = []byte{'\n'}
)

// begin reads the head of the stream, detects its encoding and puts a decoder before the
// rest where one is needed. The stream is binary if its head has a NUL that no encoding
// explains. Without one it is searched in any case, as ripgrep does.
func (s *search) begin() error {
	n, err := io.ReadFull(s.in.r, s.in.buf[:s.p.sizes.head])
	whole := err == io.EOF || err == io.ErrUnexpectedEOF
	if err != nil && !whole {
		return err
	}
	head := s.in.buf[:n]
	found := traitsOf(head)
	encoding := s.p.utf8
	if !isUTF8(head, whole, found) {
		if e, ok := text.EncodingOf(head, whole); ok {
			encoding = e
		} else if found&hasNUL != 0 {
			s.res.Binary = true
			return nil
		}
	}
	s.res.Encoding = encoding.Name()
	if encoding.IsUTF8() {
		s.in.eof = whole
		if bytes.HasPrefix(head, utf8BOM) {
			n = copy(head, head[len(utf8BOM):])
		}
		s.in.accept(n, found)
		return nil
	}
	s.in.r = encoding.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(head)), s.in.r))
	return nil
}

// isUTF8 reports whether head is certainly UTF-8: valid, and without an escape sequence
// that could make it another encoding. A character that is cut at the end of a head that
// is not the whole text is left out of account.
func isUTF8(head []byte, whole bool, found traits) bool {
	if found&(hasNUL|hasESC) != 0 {
		return false
	}
	if found&hasNonASCII == 0 {
		return true
	}
	if !whole {
		if end := borderBefore(head, len(head)-1); !utf8.FullRune(head[end:]) {
			head = head[:end]
		}
	}
	for range 100 { // from one character that is not ASCII to the next, while there are few
		head = head[asciiPrefix(head):]
		for len(head) > 0 && head[0] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(head)
			if r == utf8.RuneError && size == 1 {
				return false
			}
			head = head[size:]
		}
	}
	return utf8.Valid(head)
}

// rest searches a stream whose head is dealt with.
func (s *search) rest(ctx context.Context) error {
	var err error
	if s.p.spans {
		err = s.together(ctx)
	} else {
		err = s.blocks(ctx)
	}
	s.res.Binary = s.in.nul
	if err == nil {
		err = ctx.Err()
	}
	return err
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

// find is where re first matches in text, or nil. Text that would keep the
// regexp package busy for long is passed to it rune by rune, so that it stops
// when ctx ends; the result is not valid then.
func (p *Pattern) find(ctx context.Context, re *regexp.Regexp, text []byte) []int {
	if len(text) <= p.patience {
		return re.FindIndex(text)
	}
	return re.FindReaderIndex(&runes{ctx: ctx, text: text})
}

// runes is an io.RuneReader over text that ends early when ctx does. The interface has
// no parameter for ctx.
type runes struct {
	ctx  context.Context
	text []byte
	at   int
	read int
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.read++; r.read%256 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	if c := r.text[r.at]; c < utf8.RuneSelf {
		r.at++
		return rune(c), 1, nil
	}
	c, size := utf8.DecodeRune(r.text[r.at:])
	r.at += size
	return c, size, nil
}
