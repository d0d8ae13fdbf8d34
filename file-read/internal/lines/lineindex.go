package lines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	indexedFiles = 8               // whose line numbers are remembered
	maxPoints    = 16 << 10        // points of a file; 8 bytes each
	minStep      = 64 << 10        // bytes between two points
	settling     = 2 * time.Second // a file that changed less long ago is not trusted: the clock of FAT stands still for that
	stretch      = 8 << 20         // bytes counted before looking whether that is far enough
	counters     = 2               // goroutines that count
	// MinIndexed is the size in bytes from which on a file is worth an index.
	MinIndexed = 8 << 20
)

// LineIndex knows where lines are in large files: how many line feeds are before every
// 64 KiB. It counts as far as it is asked, on two processors, and remembers the counts
// of the last few files. Any number of goroutines may use it.
//
// It never remembers what may be wrong. Counts belong to one version of a file, by its
// stamp (device, inode, size, both times), and are kept only if the file still had that
// stamp after they were made, and had it long enough before that every change since
// would have shown: clocks of file systems stand still for a while. A file that grew is
// another version. What no stamp shows is not seen here either: bytes written through a
// mapping show when the system writes them back. A file has at most 16,384 points, at
// greater distances if it is larger. LineIndex opens nothing: it reads what it is given.
type LineIndex struct {
	now func() time.Time

	mu    sync.Mutex
	known []lineCounts // the last one used first
}

// lineCounts are how many line feeds are before each point of one version of a file.
// They do not change; more of them are another value.
type lineCounts struct {
	stamp  confine.Stamp
	step   int64   // bytes from one point to the next, a power of two
	before []int64 // at 0, step, 2*step, …
}

// NewLineIndex is an empty index.
func NewLineIndex(now func() time.Time) *LineIndex { return &LineIndex{now: now} }

// File is an open file of that version.
type File struct {
	io.ReaderAt
	Stamp confine.Stamp
	// Again is the version that the file has now.
	Again func() (confine.Stamp, error)
}

// Before is the last point before a line, or before the end of the file if that
// comes first. The zero Place is the start.
func (x *LineIndex) Before(ctx context.Context, f File, line int64) (Place, error) {
	began := x.now()
	c := x.find(f.Stamp)
	if !c.pass(line) {
		c.before = slices.Clone(c.before) // others read those that are known
		var bufs [counters][block]byte
		for !c.pass(line) {
			from := int64(len(c.before)-1) * c.step
			counts, err := c.count(ctx, f, &bufs, from, min(from+max(stretch, counters*c.step), f.Stamp.Size))
			if err != nil {
				return Place{}, err
			}
			for _, n := range counts {
				c.before = append(c.before, c.before[len(c.before)-1]+n)
			}
		}
		// A file without an inode has no stamp that shows a change.
		if f.Stamp.Ino != 0 && max(f.Stamp.Modified, f.Stamp.Changed) < began.Add(-settling).UnixNano() {
			if now, err := f.Again(); err == nil && now == f.Stamp {
				x.remember(c)
			}
		}
	}
	i := sort.Search(len(c.before), func(i int) bool { return c.before[i]+1 >= line }) - 1
	if i <= 0 {
		return Place{}, nil
	}
	return Place{At: int64(i) * c.step, Line: c.before[i] + 1}, nil
}

// pass reports whether the points go beyond that line, or include the last one before
// the end.
func (c *lineCounts) pass(line int64) bool {
	last := len(c.before) - 1
	return c.before[last]+1 >= line || int64(last+1)*c.step >= c.stamp.Size
}

// count counts the line feeds of every step from one point to another; a step at the end
// of the file has no point behind it, and is not counted. Each goroutine counts a part.
func (c *lineCounts) count(ctx context.Context, r io.ReaderAt, bufs *[counters][block]byte, from, to int64) ([]int64, error) {
	counts := make([]int64, (min(to, c.stamp.Size-1)-from)/c.step)
	part := (int64(len(counts)) + counters - 1) / counters * c.step
	var running sync.WaitGroup
	var fails [counters]error
	for w := range counters {
		running.Go(func() {
			at := from + int64(w)*part
			end := min(at+part, from+int64(len(counts))*c.step)
			for at < end && fails[w] == nil {
				if err := ctx.Err(); err != nil {
					fails[w] = fault.From(err)
					return
				}
				n, err := r.ReadAt(bufs[w][:min(block, end-at)], at)
				for b := bufs[w][:n]; len(b) > 0; {
					i := (at - from) / c.step
					k := min(int64(len(b)), from+(i+1)*c.step-at)
					counts[i] += int64(bytes.Count(b[:k], newline))
					b, at = b[k:], at+k
				}
				if errors.Is(err, io.EOF) {
					return // it was made shorter meanwhile; the rest has no line feeds
				}
				if err != nil {
					fails[w] = fault.From(err)
				}
			}
		})
	}
	running.Wait()
	return counts, errors.Join(fails[:]...)
}

// find is what is known of a version: nothing, or some of its points.
func (x *LineIndex) find(s confine.Stamp) lineCounts {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.known, func(c lineCounts) bool { return c.stamp == s })
	if i < 0 {
		step := int64(minStep)
		for s.Size/step >= maxPoints {
			step *= 2
		}
		return lineCounts{s, step, []int64{0}}
	}
	c := x.known[i]
	copy(x.known[1:], x.known[:i])
	x.known[0] = c
	return c
}

// remember keeps c in place of what is known of the same file, unless that is more.
func (x *LineIndex) remember(c lineCounts) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.known, func(o lineCounts) bool { return o.stamp.SameFile(c.stamp) })
	if i >= 0 {
		if old := x.known[i]; old.stamp == c.stamp && len(old.before) >= len(c.before) {
			return
		}
		x.known = slices.Delete(x.known, i, i+1)
	}
	x.known = slices.Insert(x.known, 0, c)
	x.known = x.known[:min(len(x.known), indexedFiles)]
}
