package output_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

func captured(t *testing.T, budget int, text string, by int) output.Parts {
	t.Helper()
	c, err := output.NewCapture(budget)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk([]byte(text), by) {
		if n, err := c.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	return c.Parts()
}

func TestWhatFitsIsCapturedWhole(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 1023, 1024} {
		text := strings.Repeat("日", n/3) + strings.Repeat("x", n%3)
		p := captured(t, 1024, text, 7)
		if string(p.Head) != text || p.Tail != nil || p.Omitted != 0 || p.Total != int64(n) || p.Text() != text {
			t.Errorf("%d bytes: %+v", n, p)
		}
	}
}

func TestOfWhatDoesNotFitBothEndsAreCapturedByCharacters(t *testing.T) {
	for n := range 200 {
		text := strings.Repeat("x", n%4) + strings.Repeat("日本語é", 95+n) + strings.Repeat("y", n%3)
		p := captured(t, 1024, text, 1+n)
		at := int64(len(p.Head)) + p.Omitted
		if p.Omitted <= 0 || p.Total != int64(len(text)) || text[:len(p.Head)] != string(p.Head) || text[at:] != string(p.Tail) {
			t.Fatalf("of %d bytes: head %d, tail %d, %d left out", len(text), len(p.Head), len(p.Tail), p.Omitted)
		}
		if !utf8.Valid(p.Head) || !utf8.Valid(p.Tail) || len(p.Head) < 509 || len(p.Tail) < 509 {
			t.Fatalf("of %d bytes: head %d, tail %d", len(text), len(p.Head), len(p.Tail))
		}
	}
}

func TestTheTextTellsWhatWasLeftOut(t *testing.T) {
	p := captured(t, 1024, "\x1b[32m"+strings.Repeat("a", 1000)+strings.Repeat("b", 1000)+"\r\n", 9)
	if want := strings.Repeat("a", 507) + "\n[… 983 bytes left out …]\n" + strings.Repeat("b", 510) + "\n"; p.Text() != want {
		t.Errorf("%q", p.Text())
	}
}

func TestPartsAreTheCallers(t *testing.T) {
	c, err := output.NewCapture(1024)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, strings.Repeat("a", 2000))
	p := c.Parts()
	io.WriteString(c, strings.Repeat("b", 2000))
	if strings.Contains(string(p.Head)+string(p.Tail), "b") {
		t.Error("they changed afterwards")
	}
}

func TestACaptureIsReadWhileItIsWritten(t *testing.T) {
	c, err := output.NewCapture(1024)
	if err != nil {
		t.Fatal(err)
	}
	var newest output.Newest
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for range 1000 {
				io.WriteString(io.MultiWriter(c, &newest), "a line\n")
			}
		})
	}
	for range 200 {
		p := c.Parts()
		if p.Total != int64(len(p.Head)+len(p.Tail))+p.Omitted {
			t.Fatalf("%+v", p)
		}
		newest.Lines(3)
	}
	writers.Wait()
	if p := c.Parts(); p.Total != 21_000 {
		t.Errorf("%d bytes", p.Total)
	}
}

func TestTheNewestLinesAreAsATerminalShowsThem(t *testing.T) {
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "line %d\n", i)
	}
	for _, c := range []struct{ what, text, want string }{
		{"nothing", "", ""},
		{"one", "a", "a"},
		{"more than were asked for", "a\nb\nc\nd\n", "b|c|d"},
		{"blank ones", "a\n\n  \nb\n\n", "a|b"},
		{"a progress bar", "start\n10%\r20%\r\x1b[32m30%", "start|30%"},
		{"many", many.String(), "line 4997|line 4998|line 4999"},
		{"a long progress bar", strings.Repeat("\r[=====] 10%", 1000), "[=====] 10%"},
		{"a line without an end", strings.Repeat("日", 5000), strings.Repeat("日", 2730)},
	} {
		for _, by := range []int{1, 3, 1000, 1 << 20} {
			var n output.Newest
			for part := range slices.Chunk([]byte(c.text), by) {
				n.Write(part)
			}
			if got := strings.Join(n.Lines(3), "|"); got != c.want {
				t.Errorf("%s, by %d: %q", c.what, by, got)
			}
		}
	}
}

func FuzzCapture(f *testing.F) {
	f.Add("日本語é\xff\xe3x", uint16(300), uint16(7))
	f.Fuzz(func(t *testing.T, text string, times, by uint16) {
		text = strings.Repeat(text, min(int(times), 1+20_000/(len(text)+1)))
		p := captured(t, 1024, text, 1+int(by))
		at := int64(len(p.Head)) + p.Omitted
		if text[:len(p.Head)] != string(p.Head) || p.Omitted > 0 && text[at:] != string(p.Tail) || p.Total != int64(len(text)) {
			t.Fatalf("of %d bytes: head %d, tail %d, %d left out", len(text), len(p.Head), len(p.Tail), p.Omitted)
		}
		if utf8.ValidString(text) && !(utf8.Valid(p.Head) && utf8.Valid(p.Tail)) {
			t.Fatal("a character is cut")
		}
		if p.Omitted > 0 && p.Omitted > int64(len(text))-1024+6 {
			t.Fatalf("%d bytes of %d were left out", p.Omitted, len(text))
		}
		var one, parts output.Newest
		io.WriteString(&one, text)
		for part := range slices.Chunk([]byte(text), 1+int(by)) {
			parts.Write(part)
		}
		if a, b := one.Lines(5), parts.Lines(5); !slices.Equal(a, b) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
