package lines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/multiollama/mcp-server/shared/fault"
)

func (z sizes) readStream(ctx context.Context, r io.Reader, w Want) (Window, error) {
	w, err := w.checked()
	if err != nil {
		return Window{}, err
	}
	if w.Offset < 0 {
		return z.streamEnd(ctx, r, w)
	}
	s := newScan(w, 1)
	read := int64(0)
	ended, err := z.each(ctx, r, func(b []byte) bool {
		s.feed(b)
		read += int64(len(b))
		return !s.taken || !s.more || read <= z.countAll
	})
	if err != nil {
		return Window{}, err
	}
	return s.finish(ended), nil
}

// each passes the stream to visit block by block until its end, which it reports, or
// until visit wants no more. The blocks are reused.
func (z sizes) each(ctx context.Context, r io.Reader, visit func([]byte) bool) (ended bool, err error) {
	buf := make([]byte, z.block)
	for {
		if err := ctx.Err(); err != nil {
			return false, fault.From(err)
		}
		n, err := io.ReadFull(r, buf)
		if n > 0 && !visit(buf[:n]) {
			return false, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return true, nil
		}
		if err != nil {
			return false, fault.From(err)
		}
	}
}

// streamEnd reads a window for a negative offset. It keeps two while it reads: the
// one from line 1, for a text with fewer lines than were asked for, and the last
// lines in a ring.
func (z sizes) streamEnd(ctx context.Context, r io.Reader, w Want) (Window, error) {
	tail := &ring{lines: -w.Offset, limit: z.ring}
	w.Offset = 1
	first := newScan(w, 1)
	_, err := z.each(ctx, r, func(b []byte) bool {
		first.feed(b)
		tail.feed(b)
		return true
	})
	if err != nil {
		return Window{}, err
	}
	head := first.finish(true)
	if head.Total <= tail.lines {
		return head, nil
	}
	from, complete := tail.last()
	if tail.lost && !complete {
		return Window{}, fault.New(fault.LimitReached,
			"the last "+strconv.FormatInt(tail.lines, 10)+" lines are more than the "+strconv.Itoa(tail.limit)+
				" bytes that can be kept of a text in this encoding",
			"Ask for fewer lines from the end, or count from the start").
			With("limit_bytes", tail.limit).With("total_lines", head.Total)
	}
	w.Offset = head.Total - tail.lines + 1
	s := newScan(w, w.Offset)
	s.feed(tail.buf[from:])
	return s.finish(true), nil
}

// ring keeps the last lines of a stream in a bounded buffer.
type ring struct {
	buf   []byte // begins at the start of a line, unless lost
	lines int64  // to keep
	limit int    // bytes to keep at least; there are never more than twice that and a block
	lost  bool   // the limit made it drop a part of what was wanted
}

func (r *ring) feed(b []byte) {
	if need := len(r.buf) + len(b); need > cap(r.buf) {
		r.buf = slices.Grow(r.buf, max(need, min(2*cap(r.buf), 2*r.limit+len(b)))-len(r.buf))
	}
	r.buf = append(r.buf, b...)
	if len(r.buf) > 2*r.limit { // keep the lines wanted, and of them no more than the limit
		from, complete := r.last()
		r.lost = len(r.buf)-from > r.limit || r.lost && !complete
		from = max(from, len(r.buf)-r.limit)
		r.buf = append(r.buf[:0], r.buf[from:]...)
	}
}

// last is where the last lines in the buffer begin. Complete says that a line feed
// before that place shows it; if not, it is 0.
func (r *ring) last() (at int, complete bool) {
	n, end := r.lines, len(r.buf)-1 // a line feed there begins no line
	for ; n > 0 && end > 0; n-- {
		end = bytes.LastIndexByte(r.buf[:end], '\n')
	}
	if end < 0 || n > 0 {
		return 0, false
	}
	return end + 1, true
}
