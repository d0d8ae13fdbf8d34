package match

import (
	"bytes"
	"context"
	"io"
	"runtime"

	"github.com/multiollama/mcp-server/file-read/internal/ahead"
)

// file is a stream that can be read at any place.
type file interface {
	io.ReaderAt
	Size() int64
}

// fewest chunks that are worth it.
const fewest = 4

// inParts is r as a file that is searched in parts, if it is one, is large, and no hit
// can need what lies in another part. Its head was read, and it goes on behind that.
func (s *search) inParts(r io.Reader) *chunked {
	f, ok := r.(file)
	if !ok || s.w.Context > 0 || s.p.spans || s.res.Encoding != s.p.utf8.Name() {
		return nil
	}
	size := f.Size()
	if size < fewest*int64(s.p.sizes.chunk) {
		return nil
	}
	return &chunked{p: s.p, r: f, size: size, w: s.w, line: 1}
}

// chunked is a file that is searched in chunks, each of them whole lines. What
// is found is put together in order.
type chunked struct {
	p    *Pattern
	r    io.ReaderAt
	size int64
	w    Want

	at int64 // where the next chunk begins

	res  Result // of the chunks that are done
	line int64  // number of the line after them
	err  error
}

// chunk is a part of a file from the start of a line to the end of one, or why
// there is none.
type chunk struct {
	from, to int64
	err      error
}

// found is what a chunk held; its lines are numbered from 1.
type found struct {
	res   Result
	lines int64
	err   error
}

// search searches the file by as many goroutines as can run at once. The first chunk is
// done alone: often it is all that is wanted.
func (f *chunked) search(ctx context.Context) (Result, error) {
	first, _ := f.next()
	f.res.Encoding = f.p.utf8.Name()
	if f.take(f.look(ctx, first)) {
		ahead.Each(ctx, runtime.GOMAXPROCS(0), f.next, f.look, f.take)
	}
	if f.err == nil {
		f.err = ctx.Err()
	}
	return f.res, f.err
}

// next is the next chunk. It ends with the line that its last byte is in.
func (f *chunked) next() (chunk, bool) {
	if f.at >= f.size {
		return chunk{}, false
	}
	c := chunk{from: f.at, to: f.size}
	var buf [4 << 10]byte
	for at := f.at + int64(f.p.sizes.chunk) - 1; at < f.size; at += int64(len(buf)) {
		n, err := f.r.ReadAt(buf[:], at)
		if err != nil && err != io.EOF {
			f.at = f.size
			return chunk{err: err}, true
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			c.to = min(f.size, at+int64(i)+1)
			break
		}
		if n == 0 {
			break
		}
	}
	f.at = c.to
	return c, true
}

// look searches a chunk. The first begins with the head of the file.
func (f *chunked) look(ctx context.Context, c chunk) found {
	if c.err != nil {
		return found{err: c.err}
	}
	s := f.p.borrow(ctx, io.NewSectionReader(f.r, c.from, c.to-c.from), f.w)
	defer f.p.giveBack(s)
	search := s.rest
	if c.from == 0 {
		search = s.run
	}
	err := search()
	return found{s.res, s.line - 1, err}
}

// take adds what a chunk held, and says whether more is wanted.
func (f *chunked) take(c found) bool {
	for i := range c.res.Hits {
		if f.w.MaxHits > 0 && len(f.res.Hits) == f.w.MaxHits {
			f.res.More = true
			return false
		}
		c.res.Hits[i].Line += f.line - 1
		f.res.Hits = append(f.res.Hits, c.res.Hits[i])
		f.res.Lines++
	}
	if f.w.CountOnly {
		f.res.Lines += c.res.Lines
	}
	f.res.More = c.res.More
	f.res.Binary = c.res.Binary
	f.res.Windowed = f.res.Windowed || c.res.Windowed
	f.line += c.lines
	if f.err == nil {
		f.err = c.err
	}
	enough := f.w.FirstOnly && f.res.Lines > 0
	return f.err == nil && !enough && !f.res.Binary && !f.res.More
}
