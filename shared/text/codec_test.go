package text_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

func lookup(t *testing.T, name string) text.Encoding {
	t.Helper()
	e, err := text.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEncodingsAreFoundByTheNamesPeopleUse(t *testing.T) {
	for asked, name := range map[string]string{
		"UTF-8": "utf-8", " utf8 ": "utf-8", "UTF-16": "utf-16le", "Shift_JIS": "shift_jis", "sjis": "shift_jis",
		"CP932": "shift_jis", "EUC-JP": "euc-jp", "gbk": "gb18030", "GB2312": "gb18030", "latin1": "windows-1252",
		"ISO-8859-1": "windows-1252", "cp1251": "windows-1251", "KOI8-R": "koi8-r",
	} {
		if e, err := text.Lookup(asked); err != nil || e.Name() != name {
			t.Errorf("%q is %q, %v", asked, e.Name(), err)
		}
	}
	_, err := text.Lookup("ebcdic\n\x1b[2J")
	if !errors.Is(err, fault.ParamInvalid) || !strings.Contains(err.Error(), "utf-8, utf-16le") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestNamesAreUniqueAndFindThemselves(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range text.Names() {
		if seen[name] || lookup(t, name).Name() != name {
			t.Errorf("%s is not itself", name)
		}
		seen[name] = true
	}
}

func TestTheZeroEncodingRefuses(t *testing.T) {
	var none text.Encoding
	_, decode := none.Decode([]byte("a"))
	_, encode := none.Encode("a", false)
	_, read := io.ReadAll(none.NewReader(strings.NewReader("a")))
	for _, err := range []error{decode, encode, read} {
		if !errors.Is(err, fault.ParamInvalid) {
			t.Errorf("%v", err)
		}
	}
	if none.Exact([]byte("a")) || none.IsUTF8() || none.Name() != "" || none.BOM() != nil {
		t.Error("the zero Encoding claims something")
	}
}

func TestRealTextComesBackByteByByte(t *testing.T) {
	for _, w := range writings {
		for _, name := range append([]string{"utf-8", "utf-16le", "utf-16be", "gb18030"}, w.encodings...) {
			for _, bom := range []bool{false, true} {
				comesBack(t, lookup(t, name), strings.Join(w.lines, "\r\n"), bom)
			}
		}
	}
}

func comesBack(t *testing.T, e text.Encoding, s string, bom bool) {
	t.Helper()
	b, err := e.Encode(s, bom)
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	again, err := e.Decode(b)
	if err != nil || again != s {
		t.Errorf("%s, mark %v: %v, %.40q became %.40q", e, bom, err, s, again)
	}
	if !e.Exact(b) {
		t.Errorf("%s, mark %v: not exact: % x", e, bom, b)
	}
	streamed, err := io.ReadAll(e.NewReader(iotest.OneByteReader(bytes.NewReader(b))))
	if err != nil || string(streamed) != s {
		t.Errorf("%s, mark %v: streamed %.40q, %v", e, bom, streamed, err)
	}
}

func TestDecodingIsExactOrFails(t *testing.T) {
	for _, c := range []struct {
		what, name, bytes string
		line              int // 0: decodes
	}{
		{"a broken byte in UTF-8", "utf-8", "a\nb\n\xff", 3},
		{"a surrogate in UTF-8 (CESU-8)", "utf-8", "\xed\xa0\xbd", 1},
		{"an overlong slash in UTF-8", "utf-8", "\xc0\xaf", 1},
		{"a true replacement character in UTF-8", "utf-8", "\xef\xbf\xbd", 0},
		{"an odd number of bytes in UTF-16", "utf-16le", "a\x00b", 1},
		{"half a surrogate pair in UTF-16", "utf-16le", "\n\x00\x3d\xd8a\x00", 2},
		{"a surrogate pair in UTF-16", "utf-16le", "\x3d\xd8\x4d\xdc", 0},
		{"a true replacement character in UTF-16", "utf-16be", "\xff\xfd", 0},
		{"a lead byte at the end in Shift_JIS", "shift_jis", "a\x82", 1},
		{"a trail byte that is none in Shift_JIS", "shift_jis", "\x82\x01", 1},
		{"a byte outside EUC-JP", "euc-jp", "\xff", 1},
		{"an escape sequence unknown in ISO-2022-JP", "iso-2022-jp", "\x1b$Z", 1},
		{"a byte beyond ASCII in ISO-2022-JP", "iso-2022-jp", "\xe9", 1},
		{"a lead byte at the end in GB18030", "gb18030", "\xd6", 1},
		{"a true replacement character in GB18030", "gb18030", "\x84\x31\xa4\x37", 0},
		{"a lead byte at the end in EUC-KR", "euc-kr", "\xb0", 1},
		{"a byte without a character in windows-1253", "windows-1253", "\xd2", 1},
	} {
		_, err := lookup(t, c.name).Decode([]byte(c.bytes))
		fe := fault.From(err)
		switch {
		case c.line == 0 && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.line > 0 && (!errors.Is(err, fault.ParamInvalid) || fe.Details["line"] != c.line):
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestEncodingNamesTheFirstCharacterThatDoesNotFit(t *testing.T) {
	for _, c := range []struct{ what, name, text, says string }{
		{"Japanese in a Western encoding", "windows-1252", "a\nnaïve 日本", `windows-1252 cannot hold the character "日" (U+65E5) in line 2`},
		{"an emoji in Shift_JIS", "shift_jis", "👍", `"👍" (U+1F44D)`},
		{"a euro sign in KOI8-R", "koi8-r", "10 €", `"€" (U+20AC)`},
		{"a character that acts is shown escaped", "windows-1251", "x\u202ey", `"\u202e" (U+202E)`},
		{"bytes that are not UTF-8", "utf-8", "a\xffb", `byte \xff that is not UTF-8`},
		{"bytes that are not UTF-8, in UTF-16", "utf-16le", "a\xffb", `byte \xff that is not UTF-8`},
		{"the replacement character is a character like others", "windows-1252", "\uFFFD", `(U+FFFD)`},
	} {
		b, err := lookup(t, c.name).Encode(c.text, false)
		if !errors.Is(err, fault.ParamInvalid) || !strings.Contains(err.Error(), c.says) || b != nil {
			t.Errorf("%s: %q, %v", c.what, b, err)
		}
	}
}

func TestNoCharacterIsChangedSilently(t *testing.T) {
	for _, name := range text.Names() {
		e := lookup(t, name)
		for r := rune(0); r <= 0xFFFF; r++ {
			if r >= 0x3400 && r < 0xE000 && r%11 != 0 {
				continue // of ideographs and Hangul a part is enough
			}
			if !utf8.ValidRune(r) || r == 0xFEFF {
				continue
			}
			s := "a" + string(r) + "b"
			b, err := e.Encode(s, false)
			if err != nil {
				continue
			}
			if again, err := e.Decode(b); err != nil || again != s {
				t.Fatalf("%s: U+%04X became %q, %v", name, r, again, err)
			}
		}
	}
}

func TestBytesThatAreNotTheUsualOnesAreNotExact(t *testing.T) {
	for _, c := range []struct{ what, name, bytes, means string }{
		{"a needless escape in ISO-2022-JP", "iso-2022-jp", "\x1b(Bplain", "plain"},
		{"the old escape for JIS C 6226 in ISO-2022-JP", "iso-2022-jp", "\x1b$@\x24\x22\x1b(B", "あ"},
		{"a vendor row of Shift_JIS", "shift_jis", "\xfa\x5c", "纊"},
		{"a letter with a combining mark in Big5, which cannot be written back", "big5", "\x88\x62", "Ê\u0304"},
	} {
		e := lookup(t, c.name)
		s, err := e.Decode([]byte(c.bytes))
		if err != nil || s != c.means {
			t.Errorf("%s: %q, %v", c.what, s, err)
		}
		if e.Exact([]byte(c.bytes)) {
			t.Errorf("%s: said to be exact", c.what)
		}
	}
}

func TestAStreamShowsWhatMeansNothing(t *testing.T) {
	for _, c := range []struct{ name, bytes, want string }{
		{"utf-8", "a\xffb", "a\uFFFDb"},
		{"utf-8", "\xEF\xBB\xBFa", "a"},
		{"utf-8", "\xEF\xBB", "\uFFFD\uFFFD"},
		{"utf-16le", "\xFF\xFEa\x00b", "a\uFFFD"},
		{"shift_jis", "a\x82", "a\uFFFD"},
		{"utf-16be", "", ""},
	} {
		got, err := io.ReadAll(lookup(t, c.name).NewReader(iotest.OneByteReader(strings.NewReader(c.bytes))))
		if err != nil || string(got) != c.want {
			t.Errorf("%s %q: %q, %v", c.name, c.bytes, got, err)
		}
	}
}

func TestAStreamTellsTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("broken")
	for _, name := range text.Names() {
		_, err := io.ReadAll(lookup(t, name).NewReader(iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABOMBelongsToItsCaller(t *testing.T) {
	e := lookup(t, "utf-8")
	e.BOM()[0] = 'x'
	if !e.HasBOM([]byte("\xEF\xBB\xBF")) {
		t.Error("the mark of the table was changed")
	}
}
