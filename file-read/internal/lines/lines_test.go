package lines_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/fault"
)

func window(text string, start int64, count int, total, next int64) lines.Window {
	w := lines.Window{Start: start, Count: count, Total: total, Next: next, Truncated: next != 0}
	if text != "" {
		w.Text = []byte(text)
	}
	return w
}

var sentences = []struct {
	what string
	text string
	want lines.Want
	got  lines.Window
}{
	{"nothing asked is everything", "a\nb\n", lines.Want{}, window("a\nb\n", 1, 2, 2, 0)},
	{"a last line without a line feed is a line", "a\nb", lines.Want{}, window("a\nb", 1, 2, 2, 0)},
	{"a line feed at the end begins no line", "a\n", lines.Want{Offset: 2}, window("", 2, 0, 1, 0)},
	{"two line feeds are two empty lines", "\n\n", lines.Want{}, window("\n\n", 1, 2, 2, 0)},
	{"an empty text has no lines", "", lines.Want{}, window("", 1, 0, 0, 0)},
	{"an empty text has none at its end either", "", lines.Want{Offset: -5}, window("", 1, 0, 0, 0)},
	{"a line in the middle", "a\nb\nc\n", lines.Want{Offset: 2, Limit: 1}, window("b\n", 2, 1, 3, 3)},
	{"a limit that ends with the text leaves nothing to go on with", "a\nb\n", lines.Want{Offset: 2, Limit: 1}, window("b\n", 2, 1, 2, 0)},
	{"past the end the total is told", "a\nb\nc", lines.Want{Offset: 9}, window("", 9, 0, 3, 0)},
	{"the last line", "a\nb\nc\n", lines.Want{Offset: -1}, window("c\n", 3, 1, 3, 0)},
	{"the last line without a line feed", "a\nb\nc", lines.Want{Offset: -1}, window("c", 3, 1, 3, 0)},
	{"the last lines, limited", "a\nb\nc\nd\n", lines.Want{Offset: -3, Limit: 2}, window("b\nc\n", 2, 2, 4, 4)},
	{"more last lines than there are", "a\nb\n", lines.Want{Offset: -7, Limit: 1}, window("a\n", 1, 1, 2, 2)},
	{"an empty last line", "a\n\n", lines.Want{Offset: -1}, window("\n", 2, 1, 2, 0)},
	{"an empty first line from the end", "\na", lines.Want{Offset: -2}, window("\na", 1, 2, 2, 0)},
	{"carriage returns stay", "a\r\nb\r\n", lines.Want{Offset: 2}, window("b\r\n", 2, 1, 2, 0)},
	{"a carriage return alone ends no line", "a\rb\n", lines.Want{}, window("a\rb\n", 1, 1, 1, 0)},
	{"bytes that do not fit are left for the next window", "aaa\nbbb\nccc\n", lines.Want{MaxBytes: 9}, window("aaa\nbbb\n", 1, 2, 3, 3)},
	{"bytes that fit exactly are taken", "aaa\nbbb\nccc\n", lines.Want{MaxBytes: 8}, window("aaa\nbbb\n", 1, 2, 3, 3)},
	{"a last line that does not fit is left", "aaa\nbbb", lines.Want{MaxBytes: 6}, window("aaa\n", 1, 1, 2, 2)},
	{"bytes limited from the end", "aaa\nbbb\nccc\n", lines.Want{Offset: -2, MaxBytes: 5}, window("bbb\n", 2, 1, 3, 3)},
}

func TestWindows(t *testing.T) {
	for _, c := range sentences {
		t.Run(c.what, func(t *testing.T) {
			everyWay(t, c.text, c.want, c.got)
		})
	}
}

// everyWay reads the same window in one block and in blocks of one, two and
// three bytes, from a file and from a stream that stutters.
func everyWay(t *testing.T, text string, want lines.Want, expected lines.Window) {
	t.Helper()
	for _, block := range []int{1, 2, 3, 1 << 10} {
		z := lines.Small{Block: block, Ring: 1 << 10, CountAll: 1 << 10}
		got, err := z.Read(t.Context(), strings.NewReader(text), int64(len(text)), want)
		check(t, "Read", block, got, expected, err)
		got, err = z.ReadStream(t.Context(), iotest.OneByteReader(strings.NewReader(text)), want)
		check(t, "ReadStream", block, got, expected, err)
	}
}

func check(t *testing.T, how string, block int, got, expected lines.Window, err error) {
	t.Helper()
	if len(got.Text) == 0 {
		got.Text = nil
	}
	if diff := cmp.Diff(expected, got); err != nil || diff != "" {
		t.Errorf("%s, blocks of %d: %v %s", how, block, err, diff)
	}
}

func TestLongLinesAreCutAndSaySo(t *testing.T) {
	for _, c := range []struct {
		what, text string
		maxLine    int
		shown      string
		cut        int
	}{
		{"a line of the allowed length is whole", "abcd\nx\n", 4, "abcd\nx\n", 0},
		{"so it is before a carriage return", "abcd\r\nx\r\n", 4, "abcd\r\nx\r\n", 0},
		{"and at the end of the text", "abcd", 4, "abcd", 0},
		{"one byte more is cut", "abcde\nx\n", 4, "abcd… [line cut: 1 more bytes]\nx\n", 1},
		{"the line end stays whatever it is", "abcdef\r\nx", 4, "abcd… [line cut: 2 more bytes]\r\nx", 1},
		{"a cut last line gets no line end", "abcdef", 4, "abcd… [line cut: 2 more bytes]", 1},
		{"a character is not cut in two", "ab日本\n", 4, "ab… [line cut: 6 more bytes]\n", 1},
		{"a character that just fits stays", "a日本\n", 4, "a日… [line cut: 3 more bytes]\n", 1},
		{"bytes that are no UTF-8 are cut anywhere", "\xe9\xe9\xe9\xe9\xe9\n", 4, "\xe9\xe9\xe9… [line cut: 2 more bytes]\n", 1},
		{"each long line is counted", "aaaaa\nbbbbb\n", 4, "aaaa… [line cut: 1 more bytes]\nbbbb… [line cut: 1 more bytes]\n", 2},
		{"a carriage return within a long line is a byte of it", "abcd\rx\n", 4, "abcd… [line cut: 2 more bytes]\n", 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			n := int64(strings.Count(c.text, "\n"))
			if !strings.HasSuffix(c.text, "\n") {
				n++
			}
			expected := window(c.shown, 1, int(n), n, 0)
			expected.Cut = c.cut
			everyWay(t, c.text, lines.Want{MaxLine: c.maxLine}, expected)
		})
	}
}

func TestALineLargerThanAWindowIsCutSoThatReadingMovesOn(t *testing.T) {
	text := strings.Repeat("x", 50) + "\nnext\n"
	w, err := lines.Read(t.Context(), strings.NewReader(text), int64(len(text)), lines.Want{MaxBytes: 10})
	if err != nil || string(w.Text) != "xxxxxxxxxx… [line cut: 40 more bytes]\n" || w.Next != 2 {
		t.Errorf("%q, next %d, %v", w.Text, w.Next, err)
	}
}

func TestFromTheEndOfALargeTextLinesAreNumberedFromTheEnd(t *testing.T) {
	text := "a\nb\nc\nd\ne\n"
	z := lines.Small{Block: 3, Ring: 100, CountAll: 4}
	for _, c := range []struct {
		what string
		want lines.Want
		got  lines.Window
	}{
		{"all that was asked for", lines.Want{Offset: -2}, window("d\ne\n", -2, 2, -1, 0)},
		{"a part, and where to go on", lines.Want{Offset: -4, Limit: 3}, window("b\nc\nd\n", -4, 3, -1, -1)},
		{"the start of the text was reached, so its numbers are known", lines.Want{Offset: -5}, window("a\nb\nc\nd\ne\n", 1, 5, 5, 0)},
		{"forwards the total is unknown before the end", lines.Want{Offset: 2, Limit: 1}, window("b\n", 2, 1, -1, 3)},
		{"forwards the total is known at the end", lines.Want{Offset: 5}, window("e\n", 5, 1, 5, 0)},
		{"and past it", lines.Want{Offset: 7}, window("", 7, 0, 5, 0)},
	} {
		got, err := z.Read(t.Context(), strings.NewReader(text), int64(len(text)), c.want)
		check(t, c.what, 3, got, c.got, err)
	}
}

func TestAStreamSaysWhenItCannotRememberTheEnd(t *testing.T) {
	text := strings.Repeat("0123456789\n", 100)
	for _, c := range []struct {
		what   string
		offset int64
		code   fault.Code
	}{
		{"a few lines are remembered", -3, ""},
		{"as many as certainly fit are remembered", -9, ""},
		{"more than fit are refused, not shown in part", -60, fault.LimitReached},
		{"more than there are begin at the first line", -100, ""},
		{"many more than there are begin there too", -1 << 62, ""},
	} {
		z := lines.Small{Block: 7, Ring: 100, CountAll: 1 << 20}
		got, err := z.ReadStream(t.Context(), strings.NewReader(text), lines.Want{Offset: c.offset, Limit: 1})
		if c.code != "" {
			if !errors.Is(err, c.code) {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if start := max(1, 101+c.offset); err != nil || got.Start != start || string(got.Text) != "0123456789\n" {
			t.Errorf("%s: %+v %v", c.what, got, err)
		}
	}
}

func TestWantsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, want := range []lines.Want{{Limit: -1}, {MaxBytes: -1}, {MaxLine: -1}} {
		if _, err := lines.Read(t.Context(), strings.NewReader("a"), 1, want); !errors.Is(err, fault.ParamInvalid) {
			t.Errorf("%+v: %v", want, err)
		}
		if _, err := lines.ReadStream(t.Context(), strings.NewReader("a"), want); !errors.Is(err, fault.ParamInvalid) {
			t.Errorf("stream, %+v: %v", want, err)
		}
	}
}

// changing is a file of which less or more is there than its size said.
func TestAFileThatChangesWhileItIsReadEndsWhereItEnds(t *testing.T) {
	for _, c := range []struct {
		what string
		text string
		size int64
		want lines.Want
		got  string
	}{
		{"grown: the end is the size it had", "a\nb\nc\n", 4, lines.Want{}, "a\nb\n"},
		{"grown: from the end likewise", "a\nb\nc\n", 4, lines.Want{Offset: -1}, "b\n"},
		{"shrunk: the end is where it is", "a\nb\n", 4000, lines.Want{}, "a\nb\n"},
		{"shrunk to nothing", "", 4000, lines.Want{Offset: -3}, ""},
		{"a size below zero is an empty text", "a\n", -1, lines.Want{}, ""},
	} {
		for _, block := range []int{1, 3, 1000} {
			z := lines.Small{Block: block, CountAll: 1 << 20}
			got, err := z.Read(t.Context(), strings.NewReader(c.text), c.size, c.want)
			if err != nil || string(got.Text) != c.got {
				t.Errorf("%s: %q %v", c.what, got.Text, err)
			}
		}
	}
}

func TestAFileThatShrinksBetweenTwoReadsDoesNotPanic(t *testing.T) {
	text := []byte(strings.Repeat("line\n", 100))
	for after := range 60 {
		for _, offset := range []int64{1, 50, -1, -50, -500} {
			r := &shrinking{text: text, after: after}
			z := lines.Small{Block: 16, CountAll: int64(after%2) * 1000}
			if _, err := z.Read(t.Context(), r, int64(len(text)), lines.Want{Offset: offset}); err != nil {
				t.Errorf("after %d reads, offset %d: %v", after, offset, err)
			}
		}
	}
}

type shrinking struct {
	text  []byte
	after int // reads until it shrinks to a third
}

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	if s.after--; s.after < 0 {
		s.text = s.text[:min(len(s.text), 170)]
	}
	return bytes.NewReader(s.text).ReadAt(p, off)
}

type broken struct{}

var errDisk = errors.New("a secret of the disk")

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errDisk }
func (broken) Read([]byte) (int, error)          { return 0, errDisk }

func TestErrorsOfReadingAreTold(t *testing.T) {
	for _, offset := range []int64{1, -1} {
		if _, err := lines.Read(t.Context(), broken{}, 100, lines.Want{Offset: offset}); !errors.Is(err, errDisk) {
			t.Errorf("Read from %d: %v", offset, err)
		}
		_, err := lines.ReadStream(t.Context(), broken{}, lines.Want{Offset: offset})
		if !errors.Is(err, errDisk) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ReadStream from %d: %v", offset, err)
		}
	}
}

// cancelling cancels its own reader after some blocks.
type cancelling struct {
	blocks int
	cancel context.CancelFunc
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.blocks--; c.blocks == 0 {
		c.cancel()
	}
	clear(p)
	return len(p), nil
}

func (c *cancelling) ReadAt(p []byte, _ int64) (int, error) { return c.Read(p) }

func TestACancelledReadEndsAtTheNextBlock(t *testing.T) {
	for _, c := range []struct {
		what string
		read func(context.Context, *cancelling) error
	}{
		{"forwards", func(ctx context.Context, r *cancelling) error {
			_, err := lines.Read(ctx, r, 1<<50, lines.Want{Offset: 2})
			return err
		}},
		{"backwards", func(ctx context.Context, r *cancelling) error {
			_, err := lines.Read(ctx, r, 1<<50, lines.Want{Offset: -2})
			return err
		}},
		{"a stream", func(ctx context.Context, r *cancelling) error {
			_, err := lines.ReadStream(ctx, r, lines.Want{Offset: 2})
			return err
		}},
		{"the end of a stream", func(ctx context.Context, r *cancelling) error {
			_, err := lines.ReadStream(ctx, r, lines.Want{Offset: -2})
			return err
		}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r := &cancelling{blocks: 3, cancel: cancel}
		err := c.read(ctx, r)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, fault.TimedOut) {
			t.Errorf("%s: %v", c.what, err)
		}
		if r.blocks != 0 {
			t.Errorf("%s: %d blocks were read after the cancel", c.what, -r.blocks)
		}
	}
}

var _ io.ReaderAt = (*cancelling)(nil)

func TestNothingBeforeAKnownPlaceIsRead(t *testing.T) {
	r := onlyBehind{newNumbered(), 1 << 40}
	w, err := lines.Read(t.Context(), r, 1<<50, lines.Want{Offset: 1<<40/100 + 1000, Limit: 3, From: lines.Place{At: 1 << 40, Line: 1<<40/100 + 1}})
	if err != nil || w.Count != 3 || w.Next != 1<<40/100+1003 {
		t.Errorf("%+v, %v", w, err)
	}
}

// onlyBehind fails where something before a place is read.
type onlyBehind struct {
	io.ReaderAt
	at int64
}

func (o onlyBehind) ReadAt(p []byte, off int64) (int, error) {
	if off < o.at {
		return 0, errors.New("read before the place")
	}
	return o.ReaderAt.ReadAt(p, off)
}
