package lines

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/multiollama/mcp-server/shared/fault"
)

// text is the first size bytes of an io.ReaderAt, read in blocks.
type text struct {
	r    io.ReaderAt
	size int64
	buf  []byte
}

func (z sizes) read(ctx context.Context, r io.ReaderAt, size int64, w Want) (Window, error) {
	w, err := w.checked()
	if err != nil {
		return Window{}, err
	}
	at, line, room := int64(0), int64(1), z.block
	if w.From.At > 0 && w.From.Line < w.Offset {
		at, line, room = w.From.At, w.From.Line, z.near
	}
	t := &text{r, size, make([]byte, max(0, min(int64(room), size)))}
	if w.Offset < 0 {
		if at, line, err = z.lineFromEnd(ctx, t, -w.Offset); err != nil {
			return Window{}, err
		}
		w.Offset = line
	}
	s := newScan(w, line)
	s.room = max(0, min(int64(w.MaxBytes), size-at))
	if w.Limit > 0 && int64(w.Limit) < s.room/usualLine {
		s.room = int64(w.Limit) * usualLine
	}
	for pos := at; ; {
		b, err := t.block(ctx, pos, z.blockEnd(pos+1))
		if err != nil {
			return Window{}, err
		}
		pos += int64(len(b))
		s.feed(b)
		if len(b) == 0 || pos >= size {
			return s.finish(true), nil
		}
		if s.taken && s.more && size > z.countAll && z.blockEnd(pos) < size {
			return s.finish(false), nil
		}
	}
}

// blockEnd is where the block ends that pos is in, or at the end of. No read goes beyond
// it, and a text that ends in it is read to its end: from wherever the reading began, so
// that Total does not depend on Want.From.
func (z sizes) blockEnd(pos int64) int64 {
	b := int64(z.block)
	return (pos + b - 1) / b * b
}

// block reads from pos to end, as much as fits in the buffer; nothing at the end of the
// text.
func (t *text) block(ctx context.Context, pos, end int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	n := min(int64(len(t.buf)), end-pos, t.size-pos)
	if n <= 0 {
		return nil, nil
	}
	got, err := t.r.ReadAt(t.buf[:n], pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.From(err)
	}
	return t.buf[:got], nil
}

// lineFromEnd is where the n-th line from the end begins, and its number: -n in a text whose
// lines are too many to count.
func (z sizes) lineFromEnd(ctx context.Context, t *text, n int64) (at, line int64, err error) {
	if at, err = t.fromEnd(ctx, n); err != nil {
		return 0, 0, err
	}
	if at > 0 && t.size > z.countAll {
		return at, -n, nil
	}
	line = 1
	for pos := int64(0); pos < at; {
		b, err := t.block(ctx, pos, at)
		if err != nil {
			return 0, 0, err
		}
		if len(b) == 0 {
			break
		}
		line += int64(bytes.Count(b, newline))
		pos += int64(len(b))
	}
	return at, line, nil
}

// fromEnd is the byte where the n-th line from the end begins, 0 if there are fewer. The
// line feed that ends the text begins no line.
func (t *text) fromEnd(ctx context.Context, n int64) (int64, error) {
	for end := t.size - 1; end > 0; {
		from := max(0, end-int64(len(t.buf)))
		b, err := t.block(ctx, from, end)
		if err != nil {
			return 0, err
		}
		if c := int64(bytes.Count(b, newline)); c < n {
			n -= c
			end = from
			continue
		}
		for ; n > 1; n-- {
			b = b[:bytes.LastIndexByte(b, '\n')]
		}
		return from + int64(bytes.LastIndexByte(b, '\n')) + 1, nil
	}
	return 0, nil
}
