package edit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-write/internal/edit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

func named(t testing.TB, name string) text.Encoding {
	t.Helper()
	e, err := text.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func one(old, new string) []edit.Edit { return []edit.Edit{{Old: old, New: new}} }
func all(old, new string) []edit.Edit { return []edit.Edit{{Old: old, New: new, All: true}} }

func TestApply(t *testing.T) {
	for _, c := range []struct {
		what   string
		before string
		edits  []edit.Edit
		after  string
		counts []int
	}{
		{"one match", "a b c", one("b", "x"), "a x c", []int{1}},
		{"a dollar and a backslash mean themselves", "price", one("price", `$1 $& ${x} \1 \n`), `$1 $& ${x} \1 \n`, []int{1}},
		{"characters of regular expressions mean themselves", "a.b axb", one("a.b", "c"), "c axb", []int{1}},
		{"the text can be removed", "a b c", one(" b", ""), "a c", []int{1}},
		{"the whole file can be removed", "abc", one("abc", ""), "", []int{1}},
		{"all matches", "a-a-a", all("a", "bb"), "bb-bb-bb", []int{3}},
		{"all of one", "a", all("a", "b"), "b", []int{1}},
		{"all matches do not overlap", "aaaaa", all("aa", "b"), "bba", []int{2}},
		{"what is put in is not looked at again", "ab", all("a", "aa"), "aab", []int{1}},
		{"as many as expected", "a a", []edit.Edit{{Old: "a", New: "b", Count: 2}}, "b b", []int{2}},
		{"all, and as many as expected", "a a", []edit.Edit{{Old: "a", New: "b", Count: 2, All: true}}, "b b", []int{2}},
		{"several edits, each on what the one before left", "one", []edit.Edit{{Old: "one", New: "two two"}, {Old: "two", New: "3", All: true}}, "3 3", []int{1, 2}},
		{"a missing last line end stays missing", "a\nb", one("a", "x"), "x\nb", []int{1}},
		{"a byte-order mark stays", "\ufeffa\n", one("a", "b"), "\ufeffb\n", []int{1}},
		{"bytes that are no UTF-8 stay", "\xff a \xc3\n", one("a", "b"), "\xff b \xc3\n", []int{1}},
		{"NUL stays", "a\x00b", one("b", "c"), "a\x00c", []int{1}},

		{"LF finds CR LF, and CR LF is put in", "a\r\nb\r\nc\r\n", one("a\nb", "x\ny\nz"), "x\r\ny\r\nz\r\nc\r\n", []int{1}},
		{"CR LF given is the same as LF", "a\r\nb\r\n", one("a\r\nb", "x\r\ny"), "x\r\ny\r\n", []int{1}},
		{"CR LF given finds LF, and LF is put in", "a\nb\n", one("a\r\nb", "x\r\ny"), "x\ny\n", []int{1}},
		{"a line put into a line of a CR LF file", "a b\r\n", one(" ", "\n"), "a\r\nb\r\n", []int{1}},
		{"a line end alone is a whole CR LF", "a\r\nb\r\n", one("\nb", "b"), "ab\r\n", []int{1}},
		{"a text before a line end leaves it", "a\r\n", one("a", ""), "\r\n", []int{1}},
		{"a CR before a CR LF stays", "a\r\r\nb\r\n", one("b", "c"), "a\r\r\nc\r\n", []int{1}},
		{"a lone CR in an LF file means itself", "a\rb\nc\n", one("a\rb", "x\ry"), "x\ry\nc\n", []int{1}},
		{"a file of CR alone", "a\rb\rc", one("a\nb", "x\ny\nz"), "x\ry\rz\rc", []int{1}},
		{"mixed line ends stay where they are", "a\r\nb\nc\r\n", one("a\nb\nc", "x\ny\nz"), "x\r\ny\nz\r\n", []int{1}},
		{"further lines take the last line end replaced", "a\r\nb\nc\n", one("a\nb", "x\ny\nz"), "x\r\ny\r\nz\nc\n", []int{1}},
		{"mixed: in a CR LF line", "a b\r\nc d\n", one("a b", "a\nb"), "a\r\nb\r\nc d\n", []int{1}},
		{"mixed: in an LF line", "a b\r\nc d\n", one("c d", "c\nd"), "a b\r\nc\nd\n", []int{1}},
		{"mixed: in a last line without an end, as the line before", "a\nb\r\nc d", one("c d", "c\nd"), "a\nb\r\nc\r\nd", []int{1}},
		{"mixed: every match by its own place", "a b\r\na b\na b", all("a b", "a\nb"), "a\r\nb\r\na\nb\na\nb", []int{3}},
		{"without a line end in the file those given are put in", "a", one("a", "x\r\ny\nz"), "x\r\ny\nz", []int{1}},
	} {
		utf8 := named(t, "utf-8")
		out, err := edit.Apply([]byte(c.before), utf8, c.edits, 1000)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if d := cmp.Diff(c.after, string(out.Content)); d != "" || !slices.Equal(out.Counts, c.counts) || out.Replacements != sum(c.counts) {
			t.Errorf("%s: counts %v, %d in all\n%s", c.what, out.Counts, out.Replacements, d)
		}
	}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func TestOtherEncodings(t *testing.T) {
	for _, c := range []struct {
		what, encoding string
		before         string
		edits          []edit.Edit
		after          string
	}{
		{"UTF-16 with its mark and CR LF", "utf-16le", "\xff\xfea\x00\r\x00\n\x00b\x00", one("a\nb", "日\nc"), "\xff\xfe\xe5\x65\r\x00\n\x00c\x00"},
		{"UTF-16 the other way round, with a surrogate pair", "utf-16be", "\xd8\x3d\xde\x00\x00a", one("a", "b"), "\xd8\x3d\xde\x00\x00b"},
		{"a surrogate pair replaced", "utf-16be", "\x00x\xd8\x3d\xde\x00\x00a", one("😀", "é"), "\x00x\x00\xe9\x00a"},
		{"a mark that is no mark of the file stays, too", "utf-16le", "\xff\xfe\xff\xfea\x00", one("a", "b"), "\xff\xfe\xff\xfeb\x00"},
		{"windows-1252", "windows-1252", "caf\xe9 au lait", one("au", "où"), "caf\xe9 o\xf9 lait"},
		{"Shift_JIS, a second byte that is a backslash", "shift_jis", "\x95\x5c \\ a", one("\\", "/"), "\x95\x5c / a"},
		{"Shift_JIS, bytes written in two ways stay as they are", "shift_jis", "\xfa\x5c \xed\x40 a \x87\x90", one("a", "表"), "\xfa\x5c \xed\x40 \x95\x5c \x87\x90"},
		{"Shift_JIS, a byte that can only be read stays", "shift_jis", "\x80 a", one("a", "b"), "\x80 b"},
		{"EUC-JP, three bytes", "euc-jp", "\x8f\xb0\xa1 a \x8e\xb1", one("a", "あ"), "\x8f\xb0\xa1 \xa4\xa2 \x8e\xb1"},
		{"GB18030, four bytes and two", "gb18030", "\x81\x30\x81\x30a\xc4\xe3\x80", one("a", "好"), "\x81\x30\x81\x30\xba\xc3\xc4\xe3\x80"},
		{"Big5, four characters that are two in Unicode", "big5", "\x88\x62a\x88\xa5", one("a", "b"), "\x88\x62b\x88\xa5"},
		{"EUC-KR", "euc-kr", "\xb0\xa1a\xb0\xa2", one("a", "나"), "\xb0\xa1\xb3\xaa\xb0\xa2"},
		{"ISO-2022-JP, beside Japanese", "iso-2022-jp", "a \x1b$BF|K\\\x1b(B b", one("a", "c"), "c \x1b$BF|K\\\x1b(B b"},
		{"ISO-2022-JP, all of the Japanese, with its escapes", "iso-2022-jp", "a \x1b$BF|K\\\x1b(B b", one("日本", "c"), "a c b"},
		{"ISO-2022-JP, within Japanese", "iso-2022-jp", "\x1b$BF|K\\8l\x1b(B", one("本", "x"), "\x1b$BF|\x1b(Bx\x1b$B8l\x1b(B"},
		{"ISO-2022-JP, Japanese within Japanese", "iso-2022-jp", "\x1b$BF|K\\8l\x1b(B", one("本", "語"), "\x1b$BF|8l8l\x1b(B"},
		{"ISO-2022-JP, removed within Japanese", "iso-2022-jp", "\x1b$BF|K\\8l\x1b(B", one("本", ""), "\x1b$BF|8l\x1b(B"},
		{"ISO-2022-JP, Japanese put into ASCII", "iso-2022-jp", "abc", one("b", "日"), "a\x1b$BF|\x1b(Bc"},
		{"ISO-2022-JP, needless escapes elsewhere stay", "iso-2022-jp", "\x1b(B\x1b(Jx a \x1b$@F|\x1b(J", one("a", "b"), "\x1b(B\x1b(Jx b \x1b$@F|\x1b(J"},
		{"ISO-2022-JP, an older set behind the place stays in force", "iso-2022-jp", "\x1b$@F|K\\\x1b(J", one("日", "x"), "x\x1b$@K\\\x1b(J"},
	} {
		out, err := edit.Apply([]byte(c.before), named(t, c.encoding), c.edits, 1000)
		if err != nil || string(out.Content) != c.after {
			t.Errorf("%s:\n got %q, %v\nwant %q", c.what, out.Content, err, c.after)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		what, encoding string
		before         string
		edits          []edit.Edit
		code           fault.Code
		says           string
	}{
		{"no edit", "utf-8", "a", nil, fault.ParamInvalid, "there is no edit"},
		{"an empty text to replace", "utf-8", "a", one("", "b"), fault.ParamInvalid, "the text to replace is empty"},
		{"an empty text in a later edit, before anything is done", "utf-8", "a", []edit.Edit{{Old: "zzz"}, {Old: ""}}, fault.ParamInvalid, "edit 2 of 2: the text to replace is empty"},
		{"a text to replace that is no text", "utf-8", "\xff", one("\xff", "b"), fault.ParamInvalid, "not valid UTF-8"},
		{"a text to put in that is no text", "utf-8", "a", one("a", "\xff"), fault.ParamInvalid, "not valid UTF-8"},
		{"a negative number", "utf-8", "a", []edit.Edit{{Old: "a", Count: -1}}, fault.ParamInvalid, "expected is -1"},
		{"two matches", "utf-8", "a\nb\na\n", one("a", "b"), fault.ParamInvalid, "2 times, in lines 1 and 3,"},
		{"two matches that overlap", "utf-8", "aaa", one("aa", "b"), fault.ParamInvalid, "2 times, in lines 1 and 1,"},
		{"more lines than are told", "utf-8", strings.Repeat("a\n", 30), one("a", "b"), fault.ParamInvalid, "19, 20 and more"},
		{"fewer than expected", "utf-8", "a", []edit.Edit{{Old: "a", Count: 2}}, fault.ParamInvalid, "once, in line 1, not 2 times"},
		{"more than expected", "utf-8", "a\na", []edit.Edit{{Old: "a", All: true, Count: 1}}, fault.ParamInvalid, "2 times, in lines 1 and 2, not once"},
		{"none, with all", "utf-8", "a", all("zzz", "b"), fault.ParamInvalid, "is not in the file"},
		{"none in an empty file", "utf-8", "", one("a", "b"), fault.ParamInvalid, "nor is anything like it"},
		{"the mark is not part of the text", "utf-8", "\ufeffa", one("\ufeffa", "b"), fault.ParamInvalid, "is not in the file"},
		{"a mark must not be put in", "utf-8", "a", one("a", "\ufeffb"), fault.ParamInvalid, "byte-order mark"},
		{"a mark must not come up", "utf-8", "a\ufeffb", one("a", ""), fault.ParamInvalid, "byte-order mark"},
		{"a character the encoding cannot hold", "shift_jis", "a", one("a", "b😀"), fault.ParamInvalid, "shift_jis cannot hold the character \"😀\" (U+1F600)"},
		{"content that is not in the encoding", "shift_jis", "a\n\x81", one("a", "b"), fault.ParamInvalid, "not valid shift_jis"},
		{"half of a character of Big5", "big5", "\x88\x62", one("Ê", "E"), fault.ParamInvalid, "within a character of the file's encoding"},
		{"halves of characters of Big5 are not counted", "big5", "\x88\x62\n\x88\x66", []edit.Edit{{Old: "Ê", Count: 2}}, fault.ParamInvalid, "the text to replace is there once, in lines 1, 2, not 2 times"},
		{"a file of escape sequences only", "iso-2022-jp", "\x1b$B\x1b(B", one("本", "x"), fault.ParamInvalid, "nor is anything like it"},
		{"too large", "utf-8", "aaa", all("a", strings.Repeat("x", 400)), fault.LimitReached, "more than 1000 bytes"},
		{"too large by what follows", "utf-8", "a" + strings.Repeat("b", 999), one("a", "xx"), fault.LimitReached, "more than 1000 bytes"},
		{"a CR LF is not matched by half", "utf-8", "a\r\nb\r\n", one("a\r", "x"), fault.ParamInvalid, "is not in the file"},
		{"a later edit finds what the first left", "utf-8", "a", []edit.Edit{{Old: "a", New: "b"}, {Old: "a", New: "c"}}, fault.ParamInvalid, "edit 2 of 2:"},
	} {
		before := []byte(c.before)
		out, err := edit.Apply(before, named(t, c.encoding), c.edits, 1000)
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s … %s", c.what, err, c.code, c.says)
		}
		if out.Content != nil || out.Replacements != 0 || string(before) != c.before {
			t.Errorf("%s: refused and yet something was done: %+v", c.what, out)
		}
	}
	if _, err := edit.Apply([]byte("a"), text.Encoding{}, one("a", "b"), 10); !errors.Is(err, fault.ParamInvalid) {
		t.Errorf("no encoding: %v", err)
	}
}

func TestDetailsOfRefusals(t *testing.T) {
	_, err := edit.Apply([]byte("x\na\na\n"), named(t, "utf-8"), []edit.Edit{{Old: "x", New: "y"}, {Old: "a", New: "b"}}, 1000)
	want := map[string]any{"lines": []int{2, 3}, "matches": 2, "edit": 2}
	if d := cmp.Diff(want, fault.From(err).Details); d != "" {
		t.Error(d)
	}
}

func TestEveryCharacterOfEveryEncodingIsToldFromTheNext(t *testing.T) {
	for _, name := range text.Names() {
		if strings.HasPrefix(name, "utf-") {
			continue
		}
		enc, tried := named(t, name), 0
		for a := range 256 {
			for b := range 256 {
				for _, s := range sequences(name, byte(a), byte(b)) {
					if _, err := enc.Decode([]byte(s)); err != nil {
						continue
					}
					tried++
					if !edit.WholeUnits(s, enc) {
						t.Errorf("%s: % x", name, s)
					}
				}
			}
		}
		if tried < 128 {
			t.Errorf("%s: only %d sequences were tried", name, tried)
		}
	}
}

// sequences is what two bytes can be part of in an encoding.
func sequences(encoding string, a, b byte) []string {
	two := string([]byte{a, b})
	switch encoding {
	case "euc-jp":
		return []string{two + "A", "\x8f" + two + "A"}
	case "gb18030":
		return []string{two + "A", "\x81\x30" + two + "A", two + "\x81\x30" + "A", "\x81" + two + "\x30"}
	case "iso-2022-jp":
		return []string{two, "\x1b$B" + two + "\x1b(BA", "\x1b$(D" + two + "\x1b(BA", "\x1b(I" + two + "\x1b(JA"}
	}
	if b != 'A' && (strings.HasPrefix(encoding, "windows-") || encoding == "koi8-r") {
		return nil // single bytes: one neighbour is enough
	}
	return []string{two + "A"}
}
