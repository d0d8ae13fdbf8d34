package lines_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// text is a file in memory whose reads are counted.
type text struct {
	content []byte
	read    atomic.Int64 // bytes
	fails   error
}

func (x *text) ReadAt(p []byte, off int64) (int, error) {
	if x.fails != nil {
		return 0, x.fails
	}
	n, err := bytes.NewReader(x.content).ReadAt(p, off)
	x.read.Add(int64(n))
	return n, err
}

var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return monday }

// stampOf is a version of a text that was written so long before monday.
func stampOf(x *text, ino uint64, ago time.Duration) confine.Stamp {
	then := monday.Add(-ago).UnixNano()
	return confine.Stamp{Dev: 1, Ino: ino, Size: int64(len(x.content)), Modified: then, Changed: then}
}

func file(x *text, s confine.Stamp) lines.File {
	return lines.File{ReaderAt: x, Stamp: s, Again: func() (confine.Stamp, error) { return s, nil }}
}

// uneven is a text of that size with line feeds at random.
func uneven(size int, seed uint64) *text {
	random := rand.New(rand.NewPCG(seed, 1))
	content := bytes.Repeat([]byte{'x'}, size)
	for at := random.IntN(200); at < size; at += 1 + random.IntN(200) {
		content[at] = '\n'
	}
	return &text{content: content}
}

func before(t *testing.T, m *lines.LineIndex, f lines.File, line int64) lines.Place {
	t.Helper()
	p, err := m.Before(t.Context(), f, line)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryMilestoneIsRightAndBeforeItsLine(t *testing.T) {
	for _, size := range []int{0, 1, 64 << 10, 128<<10 - 1, 128 << 10, 128<<10 + 1, 20<<20 + 7} {
		x := uneven(size, uint64(size))
		m := lines.NewLineIndex(clock)
		last := int64(bytes.Count(x.content, []byte{'\n'}))
		for _, line := range []int64{1, 2, 3, last / 3, last / 2, last, last + 1, last + 2, 1 << 40} {
			p := before(t, m, file(x, stampOf(x, 1, time.Hour)), line)
			if p == (lines.Place{}) {
				continue
			}
			if n := 1 + int64(bytes.Count(x.content[:p.At], []byte{'\n'})); n != p.Line || p.Line >= line || p.At >= int64(size) {
				t.Errorf("line %d of %d bytes: %+v, there is line %d", line, size, p, n)
			}
			if rest := x.content[p.At:]; line <= last && lineFeeds(rest, line-p.Line-1) > 128<<10 {
				t.Errorf("line %d of %d bytes: %+v is far from it", line, size, p)
			}
		}
	}
}

// lineFeeds is where the n-th line feed of b is.
func lineFeeds(b []byte, n int64) int {
	at := 0
	for ; n > 0; n-- {
		at += bytes.IndexByte(b[at:], '\n') + 1
	}
	return at
}

func TestWindowsAreTheSameWithMilestones(t *testing.T) {
	x := uneven(9<<20, 3)
	m := lines.NewLineIndex(clock)
	size := int64(len(x.content))
	last := int64(bytes.Count(x.content, []byte{'\n'}))
	for range 20 {
		want := lines.Want{Offset: 1 + rand.Int64N(last+3), Limit: rand.IntN(2000), MaxBytes: 1 + rand.IntN(300<<10)}
		plain, err := lines.Read(t.Context(), bytes.NewReader(x.content), size, want)
		if err != nil {
			t.Fatal(err)
		}
		want.From = before(t, m, file(x, stampOf(x, 1, time.Hour)), want.Offset)
		near, err := lines.Read(t.Context(), x, size, want)
		if err != nil || !bytes.Equal(near.Text, plain.Text) {
			t.Fatalf("%+v: the texts differ (%v)", want, err)
		}
		near.Text, plain.Text = nil, nil
		if near.Total != plain.Total || near.Start != plain.Start || near.Next != plain.Next || near.Count != plain.Count || near.Truncated != plain.Truncated || near.Cut != plain.Cut {
			t.Fatalf("%+v: %+v, want %+v", want, near, plain)
		}
	}
}

func TestWhatWasCountedIsNotReadAgain(t *testing.T) {
	x := uneven(24<<20, 4)
	f := file(x, stampOf(x, 1, time.Hour))
	m := lines.NewLineIndex(clock)
	before(t, m, f, 50_000) // 5 MB
	if n := x.read.Load(); n > 8<<20 {
		t.Errorf("%d bytes were read for the first lines", n)
	}
	before(t, m, f, 150_000)
	if n := x.read.Load(); n > 16<<20 {
		t.Errorf("%d bytes were read for 15 MB", n)
	}
	was := x.read.Load()
	before(t, m, f, 1_000)
	before(t, m, f, 120_000)
	if n := x.read.Load() - was; n != 0 {
		t.Errorf("%d bytes were read again", n)
	}
	before(t, m, f, 1<<40)
	was = x.read.Load()
	before(t, m, f, 1<<50)
	if n := x.read.Load() - was; n != 0 || was > 41<<20 {
		t.Errorf("%d bytes were read, and %d again", was, n)
	}
}

func TestWhatMayBeWrongIsNotRemembered(t *testing.T) {
	old := uneven(9<<20, 5)
	for _, c := range []struct {
		what  string
		stamp confine.Stamp
		again func(confine.Stamp) (confine.Stamp, error)
	}{
		{"it changed a moment ago", stampOf(old, 1, time.Second), nil},
		{"it will change tomorrow", stampOf(old, 1, -24*time.Hour), nil},
		{"its attributes changed a moment ago", func() confine.Stamp {
			s := stampOf(old, 1, time.Hour)
			s.Changed = monday.UnixNano()
			return s
		}(), nil},
		{"it has no inode", stampOf(old, 0, time.Hour), nil},
		{"it changed meanwhile", stampOf(old, 1, time.Hour), func(s confine.Stamp) (confine.Stamp, error) { s.Modified++; return s, nil }},
		{"it is another file now", stampOf(old, 1, time.Hour), func(s confine.Stamp) (confine.Stamp, error) { s.Ino++; return s, nil }},
		{"it is gone", stampOf(old, 1, time.Hour), func(s confine.Stamp) (confine.Stamp, error) { return s, errors.New("gone") }},
	} {
		m := lines.NewLineIndex(clock)
		f := file(old, c.stamp)
		if c.again != nil {
			f.Again = func() (confine.Stamp, error) { return c.again(c.stamp) }
		}
		before(t, m, f, 10_000)
		old.read.Store(0)
		before(t, m, f, 10_000)
		if old.read.Load() == 0 {
			t.Errorf("%s: it was remembered", c.what)
		}
	}
}

func TestAChangedFileIsCountedAnew(t *testing.T) {
	x := uneven(9<<20, 6)
	m := lines.NewLineIndex(clock)
	s := stampOf(x, 1, time.Hour)
	before(t, m, file(x, s), 1<<40)
	x.content[5] = '\n'
	x.content[6] = '\n'
	for _, change := range []func(*confine.Stamp){
		func(s *confine.Stamp) { s.Modified++ }, func(s *confine.Stamp) { s.Changed++ }, func(s *confine.Stamp) { s.Ino++ }, func(s *confine.Stamp) { s.Dev++ },
	} {
		changed := s
		change(&changed)
		p := before(t, m, file(x, changed), 60_000)
		if n := 1 + int64(bytes.Count(x.content[:p.At], []byte{'\n'})); n != p.Line {
			t.Errorf("%+v is in line %d", p, n)
		}
	}
	x.content = append(x.content, "\nmore\n"...)
	grown := stampOf(x, 1, time.Hour)
	if p, q := before(t, m, file(x, grown), 1<<40), int64(bytes.Count(x.content, []byte{'\n'})); p.Line > q || p.At < 9<<20-128<<10 {
		t.Errorf("of a file that grew: %+v, it has %d lines", p, q)
	}
}

func TestTheFilesUsedLastAreRemembered(t *testing.T) {
	x := uneven(9<<20, 7)
	m := lines.NewLineIndex(clock)
	use := func(ino uint64) (reads int64) {
		x.read.Store(0)
		before(t, m, file(x, stampOf(x, ino, time.Hour)), 1_000)
		return x.read.Load()
	}
	for ino := uint64(1); ino <= 8; ino++ {
		use(ino)
	}
	use(1)
	use(9) // in place of 2
	for ino, want := range map[uint64]bool{1: true, 3: true, 8: true, 9: true} {
		if got := use(ino) == 0; got != want {
			t.Errorf("file %d is remembered: %v", ino, got)
		}
	}
	if use(2) == 0 {
		t.Error("nine files are remembered")
	}
}

func TestAHugeFileHasNoMoreMilestonesThanOthers(t *testing.T) {
	const size = 1 << 50
	m := lines.NewLineIndex(clock)
	s := confine.Stamp{Dev: 1, Ino: 1, Size: size, Modified: 1, Changed: 1}
	f := lines.File{ReaderAt: blanks{}, Stamp: s, Again: func() (confine.Stamp, error) { return s, nil }}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := m.Before(ctx, f, 2)
	if err == nil {
		t.Error("a million gigabytes were read")
	}
}

// blanks are lines of 8 bytes without end.
type blanks struct{}

func (blanks) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

func TestAnErrorEndsTheCount(t *testing.T) {
	x := uneven(20<<20, 8)
	x.fails = io.ErrClosedPipe
	if _, err := lines.NewLineIndex(clock).Before(t.Context(), file(x, stampOf(x, 1, time.Hour)), 1<<40); fault.From(err).Code == "" || err == nil {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x.fails = nil
	if _, err := lines.NewLineIndex(clock).Before(ctx, file(x, stampOf(x, 1, time.Hour)), 1<<40); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAFileThatBecomesShorterEndsTheCount(t *testing.T) {
	x := uneven(20<<20, 9)
	s := stampOf(x, 1, time.Hour)
	x.content = x.content[:9<<20]
	p := before(t, lines.NewLineIndex(clock), file(x, s), 1<<40)
	if n := 1 + int64(bytes.Count(x.content, []byte{'\n'})); p.Line != n {
		t.Errorf("%+v, there are %d lines", p, n)
	}
}

func TestManyReadersShareMilestones(t *testing.T) {
	m := lines.NewLineIndex(clock)
	texts := []*text{uneven(9<<20, 10), uneven(10<<20, 11), uneven(11<<20, 12)}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			x := texts[i%3]
			for range 8 {
				line := 1 + rand.Int64N(100_000)
				p, err := m.Before(t.Context(), file(x, stampOf(x, uint64(i%3)+1, time.Hour)), line)
				if n := 1 + int64(bytes.Count(x.content[:p.At], []byte{'\n'})); err != nil || p.At > 0 && n != p.Line {
					t.Errorf("line %d: %+v is in line %d, %v", line, p, n, err)
				}
			}
		})
	}
	wg.Wait()
}
