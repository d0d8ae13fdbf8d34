package screen

import (
	"reflect"
	"strings"
	"testing"
)

func TestProgramsAreAnswered(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"what are you", "\x1b[c", "\x1b[?62;22c"},
		{"which version", "\x1b[>c", "\x1b[>1;10;0c"},
		{"are you well", "\x1b[5n", "\x1b[0n"},
		{"where is the cursor", "ab\r\nc\x1b[6n", "\x1b[2;2R"},
		{"where is it on the page", "ab\x1b[?6n", "\x1b[?1;3R"},
		{"where is it in the region", "\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"how large are you", "\x1b[18t", "\x1b[8;4;10t"},
		{"is this mode on", "\x1b[?2004h\x1b[?2004$p\x1b[?1000$p\x1b[?999$p", "\x1b[?2004;1$y\x1b[?1000;2$y\x1b[?999;0$y"},
		{"what is the background", "\x1b]11;?\a", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"a setting and a capability that are not told", "\x1bP$qm\x1b\\\x1bP+q544e\x1b\\", "\x1bP0$r\x1b\\\x1bP0+r\x1b\\"},
		{"the title is never sent back", "\x1b]0;rm -rf ~\r\a\x1b[21t\x1b[20t\x05", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := written(Size{10, 4}, c.text)
			if got := string(s.Replies()); got != c.want {
				t.Errorf("%q is answered with %q, not %q", c.text, got, c.want)
			}
			if again := s.Replies(); len(again) > 0 {
				t.Errorf("%q is answered again with %q", c.text, again)
			}
		})
	}
}

func TestTheViewTellsModesAndTitle(t *testing.T) {
	s := written(Size{10, 4}, "\x1b]2;日本 title\x1b\\\x1b[?1;1002;2004h\x1b=\x1b[?25lab")
	got := s.View()
	want := View{Lines: []string{"ab", "", "", ""}, Cursor: Cursor{0, 2, true}, Title: "日本 title", Modes: Modes{true, true, true, true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v is not %+v", got, want)
	}
	_, _ = s.Write([]byte("\x1b[?1;1002;2004l\x1b>\x1b[?25h"))
	if got := s.View(); got.Modes != (Modes{}) || got.Cursor.Hidden {
		t.Errorf("after they are off: %+v", got)
	}
	_, _ = s.Write([]byte("\x1b]0;one\x1b[31mtwo\nthree\x01\a\x1b]0;\xff" + strings.Repeat("é", 2000) + "\a"))
	if got := s.View().Title; len(got) > maxTitle || strings.Trim(got, "é") != "" || got == "" {
		t.Errorf("the title is %q", got)
	}
}

func TestTheAlternateScreenLeavesThePrimaryOne(t *testing.T) {
	s := written(Size{10, 2}, "a\r\nb\r\nc$ \x1b[?1049h\x1b[H1\r\n2\r\n3\r\n4\x1b[2J")
	if v := s.View(); !v.Alternate || strings.Join(v.Lines, "") != "" {
		t.Errorf("the alternate screen is %+v", v)
	}
	if p := s.Lines(0, 9, false); !reflect.DeepEqual(p.Lines, []string{"a", "b", "c$"}) {
		t.Errorf("the lines meanwhile are %q", p.Lines)
	}
	_, _ = s.Write([]byte("\x1b[?1049lx"))
	if v := s.View(); v.Alternate || v.Lines[1] != "c$ x" {
		t.Errorf("after it: %+v", v)
	}
}

func TestOnlyTheTopOfTheScreenIsHistory(t *testing.T) {
	s := written(Size{10, 4}, "head\x1b[2;3r\x1b[3;1Ha\r\nb\r\nc\r\nd")
	if p := s.Lines(0, 9, false); p.First != 0 || !reflect.DeepEqual(p.Lines, []string{"head", "c", "d"}) {
		t.Errorf("below the top: %+v", p)
	}
	s = written(Size{10, 4}, "\x1b[4;1Hbar\x1b[1;3r\x1b[3;1Ha\r\nb\r\nc\r\nd")
	if p := s.Lines(0, 9, false); !reflect.DeepEqual(p.Lines, []string{"", "", "a", "b", "c", "d", "bar"}) {
		t.Errorf("above a bar: %+v", p)
	}
}

func TestWhatIsClearedIsToldAsLost(t *testing.T) {
	s := written(Size{10, 2}, "0\r\n1\r\n2\r\n3\x1b[H\x1b[2J\x1b[3J")
	want := Page{Lines: []string{}, Start: 4, Lost: 4, First: 4, Total: 4}
	if got := s.Lines(0, 9, false); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v is not %+v", got, want)
	}
	_, _ = s.Write([]byte("4\r\n5\r\n6"))
	if got := s.Lines(4, 9, false); got.Lost != 0 || !reflect.DeepEqual(got.Lines, []string{"4", "5", "6"}) {
		t.Errorf("after it: %+v", got)
	}
}

func TestClearingTheScreenKeepsItsLines(t *testing.T) {
	for _, clear := range []string{"\x1b[2J", "\x1b[H\x1b[J", "\x1bc"} {
		s := written(Size{10, 3}, "one\r\ntwo"+clear+"\x1b[Hthree")
		if p := s.Lines(0, 9, false); !reflect.DeepEqual(p.Lines, []string{"one", "two", "three"}) {
			t.Errorf("%q: %q", clear, p.Lines)
		}
	}
}

func TestResizingKeepsWhatIsShown(t *testing.T) {
	s := written(Size{10, 4}, "0123456789\r\nb\r\nc\r\n$ ")
	s.Resize(Size{5, 4})
	if v := s.View(); v.Lines[0] != "01234" || v.Cursor != (Cursor{3, 2, false}) {
		t.Errorf("narrower: %+v", v)
	}
	s.Resize(Size{10, 2})
	if v := s.View(); !reflect.DeepEqual(v.Lines, []string{"c", "$"}) || v.Cursor.Row != 1 {
		t.Errorf("lower: %+v", v)
	}
	s.Resize(Size{10, 4})
	if p := s.Lines(0, 9, false); !reflect.DeepEqual(p.Lines, []string{"0123456789", "b", "c", "$"}) {
		t.Errorf("all lines: %q", p.Lines)
	}
	s.Resize(Size{5000, -1})
	if s.size != (Size{MaxWidth, 1}) {
		t.Errorf("out of bounds: %+v", s.size)
	}
}

func TestResizingTheAlternateScreenKeepsThePrimaryOne(t *testing.T) {
	s := written(Size{10, 4}, "a\r\nb\r\nc\r\n$ \x1b[?1049hfull")
	s.Resize(Size{10, 2})
	s.Resize(Size{12, 3})
	_, _ = s.Write([]byte("\x1b[?1049lx"))
	if p := s.Lines(0, 9, false); !reflect.DeepEqual(p.Lines, []string{"a", "b", "c", "$ x"}) {
		t.Errorf("%q", p.Lines)
	}
}

func TestColoursComeBackAsSGR(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\x1b[1;31mred\x1b[0m plain", "\x1b[0;1;31mred\x1b[0m plain"},
		{"\x1b[38;5;200ma\x1b[48:2::1:2:3mb", "\x1b[0;38;5;200ma\x1b[0;38;5;200;48;2;1;2;3mb\x1b[0m"},
		{"\x1b[97;104ma", "\x1b[0;97;104ma\x1b[0m"},
		{"\x1b[4:3ma\x1b[4:0mb", "\x1b[0;4ma\x1b[0mb"},
		{"\x1b[38;2;1;2;3;4ma", "\x1b[0;4;38;2;1;2;3ma\x1b[0m"},
		{"\x1b[58;5;1;7ma", "\x1b[0;7ma\x1b[0m"},
		{"\x1b[38ma\x1b[38;5mb", "ab"},
		{"\x1b[44ma\x1b[K", "\x1b[0;44ma         \x1b[0m"},
		{"\x1b]8;;http://x.y\x1b\\link\x1b]8;;\x1b\\", "link"},
	} {
		if got := written(Size{10, 2}, c.text).ANSI()[0]; got != c.want {
			t.Errorf("%q is %q, not %q", c.text, got, c.want)
		}
	}
	s := written(Size{10, 1}, "\x1b[32mgone\x1b[m\r\n")
	if p := s.Lines(0, 1, true); p.Lines[0] != "\x1b[0;32mgone\x1b[0m" {
		t.Errorf("in the history: %q", p.Lines[0])
	}
}

func TestGrepsColoursCostNoCharacter(t *testing.T) {
	s := written(Size{10, 3}, "12345\x1b[31m\x1b[K67890\x1b[m\x1b[Kabc")
	if v := s.View(); v.Lines[0] != "1234567890" || v.Lines[1] != "abc" {
		t.Errorf("%q", v.Lines)
	}
}
