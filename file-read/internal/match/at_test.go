package match_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/match"
)

// sameBothWays holds a search by offset to one of the same bytes as a stream.
func sameBothWays(t *testing.T, p *match.Pattern, data string, w match.Want) {
	t.Helper()
	want := search(t, p, data, w)
	got, err := p.Search(t.Context(), strings.NewReader(data), w)
	if err != nil {
		t.Fatal(err)
	}
	if want.More || w.FirstOnly {
		got.Binary, want.Binary = false, false // it depends on how much was read by then
	}
	if reflect.DeepEqual(want, got) {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%+v in %d bytes (-stream +offset)\n%s", w, len(data), diff)
	}
}

var wants = []match.Want{{}, {CountOnly: true}, {FirstOnly: true}, {FirstOnly: true, CountOnly: true}, {MaxHits: 1}, {MaxHits: 7}, {MaxText: 5}, {Context: 2}}

// FuzzInParts has bytes of any kind, in chunks that are small.
func FuzzInParts(f *testing.F) {
	for i, data := range []string{"one\r\ntwo\n\nthree", "\xEF\xBB\xBFa\n\x00b\n", "a\xff\n\xd0\x94a\r", "aaaaaaaaaaaaaaaaaaaaa", "\n"} {
		f.Add("a|o", data, uint16(i*50), uint8(i), uint8(i))
		f.Add("e$", data, uint16(200), uint8(4), uint8(7-i))
	}
	f.Fuzz(func(t *testing.T, expr, data string, times uint16, small, want uint8) {
		p, err := match.Compile(expr, match.Options{})
		if err != nil || len(data) == 0 {
			t.Skip()
		}
		p.Small(int(small))
		data = strings.Repeat(data, 1+min(int(times), 3000/len(data)))
		sameBothWays(t, p, data, wants[int(want)%len(wants)])
	})
}

func TestALargeFileIsTheSameByOffset(t *testing.T) {
	text := randomText(rand.New(rand.NewPCG(1, 9)))
	nul := len(text) - len(text)/5
	long := text[:40<<10] + strings.Repeat("needle é ", 150_000) + text[:40<<10] + strings.Repeat("x", 3<<19)
	for _, c := range []struct {
		what, data string
		wants      []match.Want
	}{
		{"lines of all lengths", text, wants},
		{"a mark at the start", "\xEF\xBB\xBFneedle\n" + text, wants[:2]},
		{"a NUL near the end", text[:nul] + "\x00" + text[nul:], wants},
		{"lines longer than chunks and buffers", long, wants[:2]},
		{"no line feed", strings.Repeat("needl ", 50_000) + "needle", wants[:2]},
		{"another encoding", "\xff\xfe" + strings.Repeat("n\x00e\x00e\x00d\x00l\x00e\x00\n\x00", 10_000), wants[:2]},
	} {
		for _, expr := range []string{"needle", `[0-9]z$`} {
			p := compile(t, expr, match.Options{})
			p.Small(4 << 10)
			for _, w := range c.wants {
				t.Run(fmt.Sprint(c.what, expr, w), func(t *testing.T) { sameBothWays(t, p, c.data, w) })
			}
		}
	}
}

// readerAt counts what is read, and fails or ends a context behind some place.
type readerAt struct {
	text   string
	bad    int64
	fail   error
	cancel func()
	read   atomic.Int64
}

func (r *readerAt) ReadAt(b []byte, at int64) (int, error) {
	r.read.Add(int64(len(b)))
	if at+int64(len(b)) > r.bad {
		if r.cancel != nil {
			r.cancel()
		} else if r.fail != nil {
			return 0, r.fail
		}
	}
	return strings.NewReader(r.text).ReadAt(b, at)
}

func TestSearchesByOffsetEndEarly(t *testing.T) {
	text := strings.Repeat("a line with a needle\n", 1_000_000)
	size := int64(len(text))
	p := compile(t, "needle", match.Options{})
	for _, w := range []match.Want{{MaxHits: 50}, {FirstOnly: true}} {
		r := &readerAt{text: text, bad: size}
		res, err := p.Search(t.Context(), io.NewSectionReader(r, 0, size), w)
		if err != nil || len(res.Hits) != max(1, w.MaxHits) || res.More != (w.MaxHits > 0) {
			t.Errorf("%+v: %d hits, %v", w, len(res.Hits), err)
		}
		if n := r.read.Load(); n > 2<<20 {
			t.Errorf("%+v: %d bytes were read", w, n)
		}
	}
	broken := errors.New("the disk is on fire")
	res, err := p.Search(t.Context(), io.NewSectionReader(&readerAt{text: text, bad: 8 << 20, fail: broken}, 0, size), match.Want{CountOnly: true})
	if !errors.Is(err, broken) || res.Lines == 0 || res.Lines > 9<<20/21 {
		t.Errorf("%d lines, %v", res.Lines, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &readerAt{text: text, bad: 8 << 20, cancel: cancel}
	res, err = p.Search(ctx, io.NewSectionReader(r, 0, size), match.Want{CountOnly: true})
	if !errors.Is(err, context.Canceled) || res.Lines == 0 || r.read.Load() > 20<<20 {
		t.Errorf("%d lines, %v, %d bytes were read", res.Lines, err, r.read.Load())
	}
}

// TestOneReadOfASmallFileIsEnough has a reader that says with its only bytes
// that there are no more, and fails if it is asked again.
func TestOneReadOfASmallFileIsEnough(t *testing.T) {
	for _, expr := range []string{"needle", "[xyz]7", "(?s)a.*b"} {
		r := &once{text: "a needle\nx7\nb\n"}
		if _, err := compile(t, expr, match.Options{Multiline: true}).Search(t.Context(), r, match.Want{}); err != nil || r.reads != 1 {
			t.Errorf("%q: %d reads, %v", expr, r.reads, err)
		}
	}
}

type once struct {
	text  string
	reads int
}

func (r *once) Read(p []byte) (int, error) {
	r.reads++
	return copy(p, r.text), io.EOF
}
