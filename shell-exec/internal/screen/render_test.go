package screen

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWhatATerminalWouldShow(t *testing.T) {
	for _, c := range []struct{ what, raw, want string }{
		{"nothing", "", ""},
		{"plain lines", "a\nb\n", "a\nb\n"},
		{"a last line without an end", "a\nb", "a\nb"},
		{"tabs", "a\tb\n\t\tc", "a\tb\n\t\tc"},
		{"line ends of Windows", "a\r\nb\r\n", "a\nb\n"},
		{"a progress bar", "10%\r50%\r100%\ndone", "100%\ndone"},
		{"a shorter text over a longer one", "loading\rok", "okading"},
		{"a shorter text over a longer one that is erased", "loading\rok\x1b[K", "ok"},
		{"a spinner", "|\b/\b-\b\\\b done", " done"},
		{"bold by overstriking", "b\bbo\bold _\bu", "bold u"},
		{"backspace at the beginning", "\b\ba", "a"},
		{"colours", "\x1b[1;31mred\x1b[0m and \x1b[38:5:4mblue\x1b[m", "red and blue"},
		{"a title ended by BEL", "\x1b]0;secret\aafter", "after"},
		{"a title ended by ST", "\x1b]0;secret\x1b\\after", "after"},
		{"a title without an end costs one line", "\x1b]0;secret\nafter", "\nafter"},
		{"the title of screen", "\x1bksecret\x1b\\after", "after"},
		{"a link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a device string with lines", "a\x1bPq#0\n!8~\x1b\\b", "ab"},
		{"a program command", "a\x1b_Gf=24;AAAA\x1b\\b", "ab"},
		{"a string that is cancelled", "a\x1bPxy\x18b", "ab"},
		{"controls of eight bits", "\u009b31mred\u009d0;t\u009c \u0090x\u009cy", "red y"},
		{"next line of eight bits", "a\u0085b", "a\nb"},
		{"bytes of eight bits are no controls", "\x9b31m", "\uFFFD31m"},
		{"character sets", "\x1b(Ba\x1b)0b\x1b#8c", "abc"},
		{"modes", "\x1b[?25l\x1b[?2004ha\x1b[?25h", "a"},
		{"a question about the keyboard moves nothing", "a\x1b[sb\nc\x1b[?ud", "ab\ncd"},
		{"keys", "\x1b=\x1b>a", "a"},
		{"what makes no sound, and no sign", "a\x00\x07\x0e\x0f\x7fb", "ab"},
		{"a control within a sequence", "a\x1b[3\n1mb", "a\nb"},
		{"an escape within a sequence", "\x1b[3\x1b[31ma", "a"},
		{"a letter no sequence has", "\x1b[3éa", "éa"},
		{"a sequence that is not whole", "a\x1b[3", "a"},
		{"vertical tab and form feed", "a\vb\fc", "a\nb\nc"},

		{"to the left and right", "abcdef\x1b[4Dx\x1b[1Cy", "abxdyf"},
		{"right of the end", "a\x1b[3Cb", "a   b"},
		{"right of the end, and nothing", "a\x1b[300C\nb", "a\nb"},
		{"to a column", "abc\x1b[2Gx\x1b[5Gy", "axc y"},
		{"erase to the left", "abc\x1b[2D\x1b[1Kx", " xc"},
		{"erase the line", "abc\x1b[2K\rx", "x"},
		{"erase the line where the cursor is", "abc\x1b[2Kx", "   x"},
		{"erase characters", "abcdef\r\x1b[2Xx", "x cdef"},
		{"delete characters", "abcdef\r\x1b[2Px", "xdef"},
		{"insert characters", "abc\r\x1b[2@x", "x abc"},
		{"a tab over what stands", "abcdefghij\r\tX", "abcdefghXj"},
		{"over a tab", "a\tb\r12345", "12345   b"},

		{"a bar of two lines", "a 1\nb 1\n\x1b[2Aa 2\nb 2\n", "a 2\nb 2\n"},
		{"previous lines", "a 1\nb 1\n\x1b[2Fa 2\x1b[1Eb 2\n", "a 2\nb 2\n"},
		{"a bar of lines that go away", "x\na 1\nb 1\n\x1b[2A\x1b[Jdone\n", "x\ndone\n"},
		{"up further than there is", "a\nb\x1b[9Ax", "ax\nb"},
		{"up and down", "a\nb\n\x1bMc\x1bDd", "a\nc\n d"},
		{"save and restore", "ab\x1b7\ncd\x1b8x", "abx\ncd"},
		{"delete a line", "a\nb\nc\x1b[2A\x1b[M", "b\nc"},
		{"insert a line", "a\nb\x1b[A\x1b[Lx", " x\na\nb"},
		{"the first clear keeps what was", "old\n\x1b[H\x1b[2Jnew", "old\nnew"},
		{"a later clear repaints", "old\n\x1b[H\x1b[2J1\nx\x1b[H\x1b[2J2", "old\n2"},
		{"a page without a clear", "\x1b[H1\nx\x1b[H2", "2\nx"},
		{"a place on the page", "\x1b[2;3Hx\x1b[1;1Hy", "y\n  x"},
		{"reset", "old\n\x1bcnew", "old\nnew"},

		{"wide characters", "日本語\r他", "他本語"},
		{"half of a wide character", "日本語\rx", "x 本語"},
		{"two halves", "日本語\r\x1b[Cxy", " xy 語"},
		{"a wide one over narrow ones", "abc\r日", "日c"},
		{"combining marks go with their letter", "e\u0301a\rx", "xa"},
		{"a mark without a letter", "\u0301a", "\u0301a"},
		{"emoji", "👩‍👩‍👧 ok", "👩‍👩‍👧 ok"},
		{"bytes that are no characters", "a\xff\xe3\x81b\xe3", "a\uFFFD\uFFFD\uFFFDb\uFFFD"},
	} {
		if got := Render([]byte(c.raw)); got != c.want {
			t.Errorf("%s: %q became %q, not %q", c.what, c.raw, got, c.want)
		}
	}
}

func TestALongLineIsNotCut(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("x", 10*renderWidth), strings.Repeat("語", 3*renderWidth), strings.Repeat("x\t語", renderWidth),
		strings.Repeat("e\u0301", 3*renderWidth), strings.Repeat("\u0301", 1<<16), strings.Repeat("a\n", 3*renderRows),
	} {
		if got := Render([]byte(text)); got != text {
			t.Errorf("%.20q… of %d bytes became %d bytes", text, len(text), len(got))
		}
	}
}

// few bytes that ask for much, over and over
func greedy() []string {
	return []string{
		"\x1b[999C", "\x1b[999Cx\n", "\x1b[64;999Hx", "x\r\x1b[999@", "\x1b[99L", "\x1b[99L\x1b[99M", "\x1b[J\n\n\n\x1b[99A", "\x1b[1J\x1b[99B", "\x1b[2J\x1b[50;50H\n",
		"\x1b[", "\x1b]", "\x1bP", "\x1b[9", "\u0301", "\n", "\t\r", "\x1b7\n\x1b8", "日\b", "\xff", "é",
	}
}

func TestFewBytesCannotAskForMuch(t *testing.T) {
	const size = 1 << 18
	for _, part := range greedy() {
		raw := bytes.Repeat([]byte(part), size/len(part))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := Render(raw)
		runtime.ReadMemStats(&after)
		if len(got) > 3*len(raw)+1<<17 {
			t.Errorf("%q over and over: %d bytes became %d", part, len(raw), len(got))
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 96*size {
			t.Errorf("%q over and over: %d MB were used for %d", part, used>>20, size>>20)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	for name, part := range map[string]string{
		"log": "2026-07-28 12:00:00 something happened\n", "progress": "\r[=====>     ] 45%", "colours": "\x1b[32mok\x1b[0m\n", "japanese": "日本語の文章です\n",
		"erase": "\x1b[1J\x1b[99B", "insert": "x\r\x1b[999@",
	} {
		raw := bytes.Repeat([]byte(part), 1<<20/len(part))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				Render(raw)
			}
		})
	}
}

// controls says whether text has what a terminal obeys. A tab and a line end are text.
func controls(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' })
}

func FuzzRender(f *testing.F) {
	for _, part := range greedy() {
		f.Add([]byte("ab\n"+part+"日本\tx\n"+part), uint16(3))
	}
	f.Add([]byte("\x1b[5;5Habc\x1b7\x1b[2A\x1b[J\x1b8\x1b[2J\x1b[9A\x1b[1J"), uint16(9))
	f.Fuzz(func(t *testing.T, raw []byte, cut uint16) {
		got := Render(raw)
		if !utf8.ValidString(got) || controls(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		at := int(cut) % (len(raw) + 1)
		if parts := render(raw[:at], raw[at:]); parts != got {
			t.Fatalf("%q became %q, and cut at %d %q", raw, got, at, parts)
		}
		var bytewise [][]byte
		for i := range raw {
			bytewise = append(bytewise, raw[i:i+1])
		}
		if parts := render(bytewise...); parts != got {
			t.Fatalf("%q became %q, and byte by byte %q", raw, got, parts)
		}
		if text := string([]rune(string(raw))); !controls(text) && text != got {
			t.Fatalf("%q has no controls and became %q", text, got)
		}
		if again := Render([]byte(got)); again != got {
			t.Fatalf("%q rendered again is %q", got, again)
		}
	})
}
