package screen

import (
	"reflect"
	"strings"
	"testing"
)

func written(size Size, text string) *Screen {
	s := New(size, DefaultHistory)
	_, _ = s.Write([]byte(text))
	return s
}

func TestTheScreenShowsWhatWasWritten(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"lines", "one\r\ntwo", "one\ntwo"},
		{"a line feed alone keeps the column", "one\ntwo", "one\n   two"},
		{"a progress bar is its last state", "10%\r50%\rdone", "done"},
		{"a long line wraps", "1234567890abc", "1234567890\nabc"},
		{"a full line waits before it wraps", "1234567890\r\nx", "1234567890\nx"},
		{"lines at the top are gone", "1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5"},
		{"erased to the end of the line", "abcdef\x1b[4D\x1b[K", "ab"},
		{"erased up to the cursor", "abcdef\x1b[3D\x1b[1K", "    ef"},
		{"an insertion moves the rest", "abcdefghij\x1b[1;2H\x1b[3@", "a   bcdefg"},
		{"a deletion moves the rest", "abcdefghij\x1b[1;2H\x1b[3P", "aefghij"},
		{"a repeated character", "a\x1b[3b", "aaaa"},
		{"line drawing", "\x1b(0lqk\x1b(B-", "┌─┐-"},
		{"Japanese is two columns wide", "日本語日本語", "日本語日本\n語"},
		{"half of a wide character is none", "日本\x1b[1;2Hx", " x本"},
		{"combining marks", "e\u0301a\u0308\u0323.", "e\u0301a\u0308\u0323."},
		{"a family is one picture", "👩‍👩‍👧‍👦|", "👩‍👩‍👧‍👦|"},
		{"a flag", "🇩🇪|", "🇩🇪|"},
		{"Arabic comes back in the order it was written", "مَرحبا", "مَرحبا"},
		{"not UTF-8", "a\xff\xe6\x97b", "a\ufffd\ufffd\ufffdb"},
		{"a string of no use", "a\x1bPwhatever\x1b\\b\x1b_x\x1b\\c", "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := written(Size{10, 4}, c.text).View()
			if got := strings.TrimRight(strings.Join(v.Lines, "\n"), "\n"); got != c.want {
				t.Errorf("%q shows\n%s\nnot\n%s", c.text, got, c.want)
			}
		})
	}
}

func TestLinesKeepTheirNumbers(t *testing.T) {
	s := New(Size{10, 2}, 3)
	_, _ = s.Write([]byte("0\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6"))
	want := Page{Lines: []string{"2", "3"}, Start: 2, Lost: 1, First: 2, Total: 7, More: true}
	if got := s.Lines(1, 2, false); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, not %+v", got, want)
	}
	if got := s.Lines(-2, 9, false); !reflect.DeepEqual(got.Lines, []string{"5", "6"}) || got.Start != 5 || got.More {
		t.Errorf("the last two are %+v", got)
	}
}
