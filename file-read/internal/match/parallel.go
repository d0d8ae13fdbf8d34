package match

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"sync"
)

// parallel runs do for the jobs that next returns, as many at a time as workers, and
// passes the results to take in the order of the jobs. Jobs begin in their order, never
// more than 2*workers ahead. When take returns false, or ctx ends, the context of the running jobs ends
// and no further result is taken; when parallel returns, nothing is running. A panic of
// a job is raised again here.
func parallel[J, R any](ctx context.Context, workers int, next func() (J, bool), do func(context.Context, J) R, take func(R) bool) {
	type outcome struct {
		result   R
		panicked any
	}
	type task struct {
		job  J
		done chan outcome
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	tasks := make(chan task, 2*workers)
	defer close(tasks)
	for range workers {
		running.Go(func() {
			for t := range tasks {
				func() {
					var o outcome
					defer func() {
						o.panicked = recover()
						t.done <- o
					}()
					o.result = do(ctx, t.job)
				}()
			}
		})
	}
	var waiting []task
	for more := true; ; {
		for more && len(waiting) < 2*workers {
			t := task{done: make(chan outcome, 1)}
			if t.job, more = next(); more {
				waiting = append(waiting, t)
				tasks <- t
			}
		}
		if len(waiting) == 0 {
			return
		}
		o := <-waiting[0].done
		waiting = waiting[1:]
		if o.panicked != nil {
			panic(o.panicked)
		}
		if !take(o.result) || ctx.Err() != nil {
			return
		}
	}
}

// fileReader is a stream that can be read at any offset.
type fileReader interface {
	io.ReaderAt
	Size() int64
}

// minChunks is the number of chunks below which a file is not searched in parallel.
const minChunks = 4

// chunked is a file that is searched in chunks of whole lines. The results are put
// together in order.
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

// chunk is a part of a file from the start of a line to the end of one, or the error of
// looking for that end.
type chunk struct {
	from, to int64
	err      error
}

// chunkResult is what a chunk contains; its lines are numbered from 1.
type chunkResult struct {
	res   Result
	lines int64
	err   error
}

// search searches the file on all processors. The first chunk is searched alone: often it
// has all that is wanted.
func (f *chunked) search(ctx context.Context) (Result, error) {
	first, _ := f.next()
	f.res.Encoding = f.p.utf8.Name()
	if f.take(f.searchChunk(ctx, first)) {
		parallel(ctx, runtime.GOMAXPROCS(0), f.next, f.searchChunk, f.take)
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

// searchChunk searches a chunk. The first begins with the head of the file.
func (f *chunked) searchChunk(ctx context.Context, c chunk) chunkResult {
	if c.err != nil {
		return chunkResult{err: c.err}
	}
	s := f.p.borrow(io.NewSectionReader(f.r, c.from, c.to-c.from), f.w)
	defer f.p.giveBack(s)
	var err error
	if c.from == 0 {
		err = s.begin()
	}
	if err == nil && !s.res.Binary {
		err = s.rest(ctx)
	}
	return chunkResult{s.res, s.line - 1, err}
}

// take adds the result of a chunk and reports whether more is wanted.
func (f *chunked) take(c chunkResult) bool {
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
