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

// each hands out the stream block by block until its end, which it reports, or
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

// streamEnd answers a negative offset. It keeps two windows while it reads: the
// one from line 1, for a text with fewer lines than were asked for, and the last
// lines in a ring.
func (z sizes) streamEnd(ctx context.Context, r io.Reader, w Want) (Window, error) {
	back := -w.Offset
	w.Offset = 1
	first := newScan(w, 1)
	tail := newRing(z.ring, back)
	_, err := z.each(ctx, r, func(b []byte) bool {
		first.feed(b)
		tail.feed(b)
		return true
	})
	if err != nil {
		return Window{}, err
	}
	head := first.finish(true)
	if head.Total <= back {
		return head, nil
	}
	return tail.window(w, head.Total)
}

// ring remembers the last lines of a stream in a bounded buffer.
type ring struct {
	buf   []byte // begins at the start of a line, unless lost
	lines int64  // to remember
	limit int    // bytes to remember at least; there are never more than twice that and a block
	lost  bool   // the limit made it forget a part of what was wanted
}

func newRing(limit int, lines int64) *ring { return &ring{lines: lines, limit: limit} }

func (r *ring) feed(b []byte) {
	if need := len(r.buf) + len(b); need > cap(r.buf) {
		r.buf = slices.Grow(r.buf, max(need, min(2*cap(r.buf), 2*r.limit+len(b)))-len(r.buf))
	}
	r.buf = append(r.buf, b...)
	if len(r.buf) > 2*r.limit {
		r.forget()
	}
}

// forget keeps the lines wanted, and of them no more than the limit.
func (r *ring) forget() {
	from, known := lastLines(r.buf, r.lines)
	r.lost = len(r.buf)-from > r.limit || r.lost && !known
	from = max(from, len(r.buf)-r.limit)
	r.buf = append(r.buf[:0], r.buf[from:]...)
}

// lastLines is where the last n lines of b begin. Known says that a line feed
// before that place shows it; if not, it is 0.
func lastLines(b []byte, n int64) (at int, known bool) {
	end := len(b) - 1 // a line feed there begins no line
	for ; n > 0 && end > 0; n-- {
		end = bytes.LastIndexByte(b[:end], '\n')
	}
	if end < 0 || n > 0 {
		return 0, false
	}
	return end + 1, true
}

// window cuts the window out of what is remembered; total is more than r.lines.
func (r *ring) window(w Want, total int64) (Window, error) {
	from, known := lastLines(r.buf, r.lines)
	if r.lost && !known {
		return Window{}, r.errForgotten(total)
	}
	w.Offset = total - r.lines + 1
	s := newScan(w, w.Offset)
	s.feed(r.buf[from:])
	return s.finish(true), nil
}

func (r *ring) errForgotten(total int64) error {
	return fault.New(fault.LimitReached,
		"the last "+strconv.FormatInt(r.lines, 10)+" lines are more than the "+strconv.Itoa(r.limit)+
			" bytes that can be kept of a text in this encoding",
		"Ask for fewer lines from the end, or count from the start").
		With("limit_bytes", r.limit).With("total_lines", total)
}
