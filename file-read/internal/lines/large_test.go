package lines_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
)

// A text whose size does not matter may cost one block, the window, what the
// window needed to grow, and nothing else.
const (
	oneWindow    = 1 << 20
	oneStreamEnd = 64 << 20 // a ring of 8 to 16 MiB and what it needed to grow
)

// allocated is what f allocates altogether, freed or not: a bound on it is a
// bound on the memory in use at any moment.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// sparse is a file of 5 GiB with begin at its start and end at its end, and a
// hole between.
func sparse(t *testing.T, begin, end string) (*os.File, int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for at, s := range map[int64]string{0: begin, fiveGiB - int64(len(end)): end} {
		if _, err := f.WriteAt([]byte(s), at); err != nil {
			t.Skipf("this file system holds no sparse file of 5 GiB: %v", err)
		}
	}
	return f, fiveGiB
}

const fiveGiB = 5 << 30

// hole is the same as a sparse file, without the kernel filling pages.
type hole struct{ begin, end string }

func (h hole) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), fiveGiB-off))
	clear(p[:n])
	if off < int64(len(h.begin)) {
		copy(p[:n], h.begin[off:])
	}
	if at := fiveGiB - int64(len(h.end)) - off; at < int64(n) {
		copy(p[max(0, at):n], h.end[max(0, -at):])
	}
	return n, nil
}

func TestTheEndsOfASparseFileNeedNoMoreMemoryThanAWindow(t *testing.T) {
	f, size := sparse(t, "first\nsecond\n", "\nbefore\nlast\n")
	for _, c := range []struct {
		what string
		want lines.Want
		text string
		next int64
	}{
		{"the first line", lines.Want{Limit: 1}, "first\n", 2},
		{"the last line", lines.Want{Offset: -1}, "last\n", 0},
		{"the last line but one", lines.Want{Offset: -2, Limit: 1}, "before\n", -1},
	} {
		constant(t, c.what, f, size, c.want, c.text, c.next)
	}
}

func TestALineOfFiveGigabytesNeedsNoMoreMemoryThanAWindow(t *testing.T) {
	r := hole{"first\nsecond\n", "\nbefore\nlast\n"}
	cut := "\x00\x00\x00\x00" + lines.Marker(fiveGiB-13-13-4) + "\n"
	constant(t, "passed over", r, fiveGiB, lines.Want{Offset: 4}, "before\nlast\n", 0)
	constant(t, "shown, cut", r, fiveGiB, lines.Want{Offset: 3, Limit: 2, MaxLine: 4}, cut+"befo"+lines.Marker(2)+"\n", 5)
	constant(t, "from the end", r, fiveGiB, lines.Want{Offset: -3, Limit: 1, MaxLine: 4}, cut, -2)
}

func constant(t *testing.T, what string, r io.ReaderAt, size int64, want lines.Want, text string, next int64) {
	t.Helper()
	bytes := allocated(func() {
		w, err := lines.Read(t.Context(), r, size, want)
		if err != nil || string(w.Text) != text || w.Next != next {
			t.Errorf("%s: %q, next %d, %v", what, w.Text, w.Next, err)
		}
	})
	if bytes > oneWindow {
		t.Errorf("%s: allocated %d bytes", what, bytes)
	}
}

// numbered is a text of any size made up as it is read: lines of 100 bytes.
type numbered struct{ line []byte }

func newNumbered() numbered {
	return numbered{bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 10_000)}
}

func (n numbered) ReadAt(p []byte, off int64) (int, error) {
	for done := 0; done < len(p); {
		done += copy(p[done:], n.line[(off+int64(done))%int64(len(n.line)):])
	}
	return len(p), nil
}

func TestReadingFromTheEndTouchesTheEndOnly(t *testing.T) {
	r := &counting{ReaderAt: newNumbered()}
	w, err := lines.Read(t.Context(), r, 1<<50/100*100, lines.Want{Offset: -1000})
	if err != nil || w.Count != 1000 || w.Start != -1000 {
		t.Fatalf("%d lines from %d, %v", w.Count, w.Start, err)
	}
	if r.bytes > 1<<20 {
		t.Errorf("read %d bytes for the last 100,000", r.bytes)
	}
}

func TestReadingTheStartTouchesTheStartOnly(t *testing.T) {
	r := &counting{ReaderAt: newNumbered()}
	w, err := lines.Read(t.Context(), r, 1<<50, lines.Want{Limit: 10})
	if err != nil || w.Count != 10 || w.Next != 11 || w.Total != -1 {
		t.Fatalf("%+v, %v", w, err)
	}
	if r.bytes > 1<<20 {
		t.Errorf("read %d bytes for the first 1,000", r.bytes)
	}
}

type counting struct {
	io.ReaderAt
	bytes int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.bytes += int64(n)
	return n, err
}

func TestStreamsNeedBoundedMemory(t *testing.T) {
	const size = 256 << 20 / 100 * 100
	for _, c := range []struct {
		what   string
		offset int64
		bound  uint64
	}{
		{"a line far from the start", 2_000_000, oneWindow},
		{"the last line", -1, oneStreamEnd},
		{"the last 50,000 lines", -50_000, oneStreamEnd},
	} {
		r := io.NewSectionReader(newNumbered(), 0, size)
		bytes := allocated(func() {
			w, err := lines.ReadStream(t.Context(), r, lines.Want{Offset: c.offset, Limit: 1})
			if err != nil || w.Count != 1 {
				t.Errorf("%s: %+v %v", c.what, w, err)
			}
		})
		if bytes > c.bound {
			t.Errorf("%s: allocated %d bytes", c.what, bytes)
		}
	}
}

func BenchmarkLine900000OfAGigabyte(b *testing.B) {
	r, size := newNumbered(), int64(1<<30)
	b.SetBytes(900_000 * 100)
	for b.Loop() {
		w, err := lines.Read(b.Context(), r, size, lines.Want{Offset: 900_000, Limit: 100})
		if err != nil || w.Count != 100 {
			b.Fatal(w.Count, err)
		}
	}
}

func BenchmarkLastHundredLinesOfAGigabyte(b *testing.B) {
	r, size := newNumbered(), int64(1<<30/100*100)
	for b.Loop() {
		w, err := lines.Read(b.Context(), r, size, lines.Want{Offset: -100})
		if err != nil || w.Count != 100 {
			b.Fatal(w.Count, err)
		}
	}
}

func BenchmarkLastHundredLinesOfAStream(b *testing.B) {
	const size = 1 << 28 / 100 * 100
	b.SetBytes(size)
	for b.Loop() {
		r := io.NewSectionReader(newNumbered(), 0, size)
		w, err := lines.ReadStream(b.Context(), r, lines.Want{Offset: -100})
		if err != nil || w.Count != 100 {
			b.Fatal(w.Count, err)
		}
	}
}
