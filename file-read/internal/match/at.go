package match

import (
	"bytes"
	"context"
	"io"
	"runtime"

	"github.com/multiollama/mcp-server/file-read/internal/ahead"
	"github.com/multiollama/mcp-server/shared/fault"
)

// file is a stream that can be read at any place.
type file interface {
	io.ReaderAt
	Size() int64
}

// fewest chunks that are worth it.
const fewest = 4

// isLarge says that r is a file that goes on for long behind what is read.
func (p *Pattern) isLarge(r io.Reader) (file, bool) {
	f, ok := r.(file)
	return f, ok && f.Size() >= fewest*int64(p.sizes.chunk)
}

// searchAt is a search of the first size bytes of r. It searches parts of a large
// file at the same time, by as many goroutines as can run at once.
func (p *Pattern) searchAt(ctx context.Context, r io.ReaderAt, size int64, w Want) (Result, error) {
	if w.Context == 0 && !p.spans {
		f := chunked{p: p, r: r, size: size, w: w, line: 1}
		if f.searched(ctx) {
			if f.err != nil {
				return f.res, fault.From(f.err)
			}
			return f.res, nil
		}
	}
	s := p.borrow(ctx, io.NewSectionReader(r, 0, size), w)
	defer p.giveBack(s)
	if err := s.run(); err != nil {
		return s.res, fault.From(err)
	}
	return s.res, nil
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

// searched searches the file, or says that it cannot be done in chunks. The
// first one is done alone: it tells the encoding, and is often all that is
// wanted.
func (f *chunked) searched(ctx context.Context) bool {
	if f.size < fewest*int64(f.p.sizes.chunk) {
		return false
	}
	first, _ := f.next()
	if first.err != nil {
		return false
	}
	s := f.p.borrow(ctx, io.NewSectionReader(f.r, 0, first.to), f.w)
	err := s.run()
	head := found{s.res, s.line - 1, err}
	f.p.giveBack(s)
	if err == nil && !head.res.Binary && head.res.Encoding != f.p.utf8.Name() {
		return false
	}
	f.res.Encoding = head.res.Encoding
	if f.take(head) {
		ahead.Each(ctx, runtime.GOMAXPROCS(0), f.next, f.search, f.take)
	}
	if f.err == nil {
		f.err = ctx.Err()
	}
	return true
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

// search searches a chunk.
func (f *chunked) search(ctx context.Context, c chunk) found {
	if c.err != nil {
		return found{err: c.err}
	}
	s := f.p.borrow(ctx, io.NewSectionReader(f.r, c.from, c.to-c.from), f.w)
	defer f.p.giveBack(s)
	err := s.rest()
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
