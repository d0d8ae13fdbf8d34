package milestones

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	piece   = 256 << 10 // read at once; larger is not faster
	stretch = 8 << 20   // counted before anybody looks whether that is far enough
	workers = 2
)

// counts are how many line feeds stand before each milestone.
type counts struct {
	size   int64
	step   int64   // bytes from one milestone to the next, a power of two
	before []int64 // at 0, step, 2*step, …
}

func newCounts(size int64) counts {
	step := int64(least)
	for size/step >= perFile {
		step *= 2
	}
	return counts{size, step, []int64{0}}
}

// place is the last milestone before which the line has not begun.
func (c counts) place(line int64) lines.Place {
	i := sort.Search(len(c.before), func(i int) bool { return c.before[i]+1 >= line }) - 1
	if i <= 0 {
		return lines.Place{}
	}
	return lines.Place{At: int64(i) * c.step, Line: c.before[i] + 1}
}

// through is c with enough milestones to pass that line, or all of them. c stays as it
// is.
func (c counts) through(ctx context.Context, r io.ReaderAt, line int64) (counts, error) {
	if c.passes(line) {
		return c, nil
	}
	c.before = slices.Clone(c.before)
	var bufs [workers][piece]byte
	for !c.passes(line) {
		at := int64(len(c.before)-1) * c.step
		feeds, err := c.stretch(ctx, r, &bufs, at, min(at+max(stretch, workers*c.step), c.size))
		if err != nil {
			return counts{}, err
		}
		for _, n := range feeds {
			c.before = append(c.before, c.before[len(c.before)-1]+n)
		}
	}
	return c, nil
}

// passes says that the milestones go beyond that line, or come to the last one before
// the end.
func (c counts) passes(line int64) bool {
	last := len(c.before) - 1
	return c.before[last]+1 >= line || int64(last+1)*c.step >= c.size
}

// stretch counts the line feeds of every step from one place to another; a step that
// comes to the end of the file has no milestone behind it. The pieces are taken by
// whoever is free.
func (c counts) stretch(ctx context.Context, r io.ReaderAt, bufs *[workers][piece]byte, from, to int64) ([]int64, error) {
	feeds := make([]int64, (min(to, c.size-1)-from)/c.step)
	size := max(piece, c.step)
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		fails [workers]error
	)
	for w := range workers {
		wg.Go(func() {
			for fails[w] == nil {
				at := from + (next.Add(1)-1)*size
				if at >= to {
					return
				}
				fails[w] = c.piece(ctx, r, bufs[w][:], from, at, min(at+size, to), feeds)
			}
		})
	}
	wg.Wait()
	return feeds, errors.Join(fails[:]...)
}

// piece counts from at to end, into the steps of the stretch that began at from.
func (c counts) piece(ctx context.Context, r io.ReaderAt, buf []byte, from, at, end int64, feeds []int64) error {
	for at < end {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		n, err := r.ReadAt(buf[:min(int64(len(buf)), end-at)], at)
		for b := buf[:n]; len(b) > 0; {
			i := (at - from) / c.step
			k := min(int64(len(b)), from+(i+1)*c.step-at)
			if i < int64(len(feeds)) { // what is behind the last milestone is for no one
				feeds[i] += int64(bytes.Count(b[:k], newline))
			}
			b, at = b[k:], at+k
		}
		if errors.Is(err, io.EOF) {
			return nil // it was made shorter meanwhile; the rest has no line feeds
		}
		if err != nil {
			return fault.From(err)
		}
	}
	return nil
}

var newline = []byte{'\n'}
