package text_test

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/text"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ what, in, out string }{
		{"plain text stays", "notes.txt", "notes.txt"},
		{"so does text of any script", "メモ.txt ñ ق", "メモ.txt ñ ق"},
		{"so does an emoji made of several with joiners", "👩\u200d💻", "👩\u200d💻"},
		{"so does a backslash", `a\b`, `a\b`},
		{"so does a true replacement character", "\uFFFD", "\uFFFD"},
		{"a line feed cannot forge a line", "a\nb", `a\nb`},
		{"nor can a carriage return or a tab", "a\r\tb", `a\r\tb`},
		{"nor can a line or paragraph separator", "a\u2028b\u2029c\u0085d", `a\u2028b\u2029c\u0085d`},
		{"escape codes do not act", "\x1b[2Jx\a\x7f", `\x1b[2Jx\x07\x7f`},
		{"nor do those of one character", "\u009b2J", `\u009b2J`},
		{"bidirectional marks do not turn the order", "exe.\u202etxt.\u2066x", `exe.\u202etxt.\u2066x`},
		{"invisible characters are seen", "a\u200b\u00ad\ufeffb", `a\u200b\u00ad\ufeffb`},
		{"hidden tag characters are seen", "a\U000E0041", `a\U000e0041`},
		{"bytes that are not UTF-8 are seen", "a\xff\xc3", `a\xff\xc3`},
		{"NUL is seen", "a\x00b", `a\x00b`},
		{"characters without a shape are seen", "a\u3164\u034f\u115fb", `a\u3164\u034f\u115fb`},
		{"wide spaces and variants stay", "a\u3000\u00a0❤\ufe0f", "a\u3000\u00a0❤\ufe0f"},
		{"nothing is nothing", "", ""},
	} {
		if got := text.Escape(c.in); got != c.out {
			t.Errorf("%s: %q", c.what, got)
		}
	}
	if got := text.Escape("a\n\tb\x1b", '\n', '\t'); got != "a\n\tb"+`\x1b` {
		t.Errorf("what is to stay: %q", got)
	}
	if got := text.EscapeAll("a b\u200d\u3000\ue000\u3164語\xff\n"); got != `a b\u200d\u3000\ue000\u3164語\xff\n` {
		t.Errorf("to who reads closely: %q", got)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		what, in string
		max      int
		out      string
	}{
		{"what fits stays", "abc", 3, "abc"},
		{"what does not is shortened", "abcd", 3, "abc"},
		{"a character is whole or not there", "日本", 5, "日"},
		{"not even the first may fit", "日本", 2, ""},
		{"bytes that are not UTF-8 are cut anywhere", "\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
		{"less than nothing is nothing", "abc", -1, ""},
	} {
		if got := text.Cut(c.in, c.max); got != c.out {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}

func TestLineEndings(t *testing.T) {
	for _, c := range []struct {
		what, in string
		want     text.LineEnding
	}{
		{"no line ends at all", "abc", text.None},
		{"the empty text", "", text.None},
		{"Unix", "a\nb\n", text.LF},
		{"Windows", "a\r\nb\r\n", text.CRLF},
		{"classic Macintosh", "a\rb\r", text.CR},
		{"one line of it", "a\r", text.CR},
		{"Unix and Windows", "a\nb\r\n", text.Mixed},
		{"Unix and a carriage return within a line", "50%\r100%\n", text.Mixed},
		{"a head that was cut within CRLF", "a\r\nb\r", text.CRLF},
		{"a carriage return too many", "a\r\r\n", text.Mixed},
	} {
		if got := text.LineEndingOf([]byte(c.in)); got != c.want {
			t.Errorf("%s: %s", c.what, got)
		}
	}
}
