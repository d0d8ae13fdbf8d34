package lines_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/multiollama/mcp-server/file-read/internal/lines"
)

// split is the plain definition of lines that windows are held against.
func split(text []byte) [][]byte {
	all := bytes.SplitAfter(text, []byte("\n"))
	if len(all[len(all)-1]) == 0 {
		all = all[:len(all)-1]
	}
	return all
}

// plain answers a want by splitting the whole text; no line is cut.
func plain(text []byte, w lines.Want) lines.Window {
	all := split(text)
	start := max(1, w.Offset)
	if w.Offset < 0 {
		start = max(1, int64(len(all))+w.Offset+1)
	}
	out := lines.Window{Start: start, Total: int64(len(all))}
	for i := start - 1; i < int64(len(all)); i++ {
		full := w.Limit > 0 && out.Count == w.Limit
		if full || out.Count > 0 && len(out.Text)+len(all[i]) > w.MaxBytes {
			out.Truncated, out.Next = true, i+1
			break
		}
		out.Text = append(out.Text, all[i]...)
		out.Count++
	}
	return out
}

// FuzzWindows holds the properties of the package, for any text, any want and any
// place of the borders between blocks:
//
//   - a window is what splitting the whole text gives;
//   - a stream gives what a file gives;
//   - a negative offset gives what the positive one for that line gives;
//   - a place that is known changes nothing;
//   - windows put together are the text.
func FuzzWindows(f *testing.F) {
	for _, text := range []string{
		"", "\n", "\n\n", "a", "a\n", "a\nb", "a\r\nb\r\n", "a\rb", "\na\n\nb\n\n",
		"日本\n語\r\nテキスト", "\xff\xfe\n\x00\n", "0123456789\n0123456789\n01", "ab\r\r\n\r\n\r",
	} {
		for _, offset := range []int64{1, 2, -1, -2, 7, -7} {
			f.Add([]byte(text), offset, uint8(2), uint8(9), uint8(3))
		}
	}
	f.Add([]byte("a line larger than its window"), int64(31), uint8(0), uint8(9), uint8(1)) // and nothing at the offset
	f.Add([]byte("\n0\n\n\n00"), int64(3), uint8(2), uint8(9), uint8(2))                    // and a place within a block
	f.Fuzz(func(t *testing.T, text []byte, offset int64, limit, maxBytes, block uint8) {
		want := lines.Want{Offset: offset, Limit: int(limit), MaxBytes: 1 + int(maxBytes)}
		z := lines.Small{Block: 1 + int(block), Ring: len(text) + 1, CountAll: 1 << 20}
		want.MaxLine = len(text) + 1
		if len(text)+1 > want.MaxBytes {
			shortLines(t, z, text, want)
			return
		}
		sameAsPlain(t, z, text, want)
	})
}

// shortLines is for texts larger than a window: as long as no line is larger
// than one, the properties are the same.
func shortLines(t *testing.T, z lines.Small, text []byte, want lines.Want) {
	for _, line := range split(text) {
		if len(withoutEnd(line)) > want.MaxBytes {
			cutLines(t, z, text, want)
			return
		}
	}
	sameAsPlain(t, z, text, want)
}

// withoutEnd takes the line end off; a carriage return alone is none.
func withoutEnd(line []byte) []byte {
	if body, ok := bytes.CutSuffix(line, []byte("\r\n")); ok {
		return body
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}

// cutLines is for texts with lines that are cut: file and stream agree, numbers
// are right, and following Next comes to the end.
func cutLines(t *testing.T, z lines.Small, text []byte, want lines.Want) {
	got, err := z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
	fromPlaces(t, z, text, want, got)
	stream, err2 := z.ReadStream(t.Context(), iotest.HalfReader(bytes.NewReader(text)), want)
	if diff := cmp.Diff(got, stream); err != nil || err2 != nil || diff != "" {
		t.Fatalf("stream and file differ: %v %v %s", err, err2, diff)
	}
	counted := 0
	for next := int64(1); next != 0; {
		want.Offset = next
		w, err := z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
		if err != nil || w.Next != 0 && w.Next <= next {
			t.Fatalf("window at %d: next %d, %v", next, w.Next, err)
		}
		counted += w.Count
		next = w.Next
	}
	if n := len(split(text)); counted != n || got.Total != int64(n) {
		t.Fatalf("%d lines in windows, total %d, there are %d", counted, got.Total, n)
	}
}

func sameAsPlain(t *testing.T, z lines.Small, text []byte, want lines.Want) {
	expected := plain(text, want)
	got, err := z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
	check(t, "file", z.Block, got, expected, err)
	fromPlaces(t, z, text, want, expected)
	got, err = z.ReadStream(t.Context(), iotest.HalfReader(bytes.NewReader(text)), want)
	check(t, "stream", z.Block, got, expected, err)
	z.CountAll = 0
	got, err = z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
	if err != nil {
		t.Fatal(err)
	}
	fromPlaces(t, z, text, want, got)
	fromTheEnd(t, z, text, want, expected)
	want.Offset = 1
	if all := together(t, z, text, want); !bytes.Equal(all, text) {
		t.Fatalf("windows together are %q, the text is %q", all, text)
	}
}

// fromPlaces reads with places known all over the text.
func fromPlaces(t *testing.T, z lines.Small, text []byte, want lines.Want, expected lines.Window) {
	for at := 0; at < len(text); at += 1 + len(text)/16 {
		want.From = lines.Place{At: int64(at), Line: 1 + int64(bytes.Count(text[:at], []byte("\n")))}
		got, err := z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
		if len(expected.Text) == 0 {
			expected.Text = nil
		}
		check(t, fmt.Sprintf("from %+v", want.From), z.Block, got, expected, err)
	}
}

// fromTheEnd reads without counting all lines: text and count are the same, and
// a negative number means the line it counts to.
func fromTheEnd(t *testing.T, z lines.Small, text []byte, want lines.Want, expected lines.Window) {
	got, err := z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
	if err != nil || !bytes.Equal(got.Text, expected.Text) || got.Truncated != expected.Truncated || got.Count != expected.Count {
		t.Fatalf("uncounted: %+v %v, want %+v", got, err, expected)
	}
	for _, n := range []*int64{&got.Start, &got.Next} {
		if *n < 0 {
			*n += expected.Total + 1
		}
	}
	if got.Start != expected.Start || got.Next != expected.Next || got.Total >= 0 && got.Total != expected.Total {
		t.Fatalf("uncounted numbers: %+v, want %+v", got, expected)
	}
}

func together(t *testing.T, z lines.Small, text []byte, want lines.Want) []byte {
	var all []byte
	for next := int64(1); next != 0; {
		want.Offset = next
		w, err := z.Read(t.Context(), bytes.NewReader(text), int64(len(text)), want)
		if err != nil || w.Next != 0 && w.Next <= next {
			t.Fatalf("window at %d: next %d, %v", next, w.Next, err)
		}
		all = append(all, w.Text...)
		next = w.Next
	}
	return all
}
