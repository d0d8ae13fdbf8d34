package edit_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/file-write/internal/edit"
	"github.com/multiollama/mcp-server/shared/text"
)

// FuzzApply holds the properties of one edit, in every encoding:
//
//   - what is not edited is the same, byte by byte;
//   - the outcome read as text is what replacing in the text gives;
//   - an edit of a text that is there once can be taken back by the edit the
//     other way round, where that is there once and the file's line ends do not
//     depend on the place;
//   - a refusal gives nothing, and the content given is never changed.
func FuzzApply(f *testing.F) {
	for i, s := range [][3]string{
		{"a b c", "b", "x"}, {"a\r\nb\r\n", "a\nb", "x\ny"}, {"\ufeffa", "a", "\ufeff"}, {"a\rb\nc\r\n", "\n", "\r"},
		{"日本語", "本", "x"}, {"\x1b$BF|K\\8l\x1b(B", "本", "y"}, {"\xfa\x5c\xed\x40a", "a", "表"}, {"aaaa", "aa", ""},
		{"\x88\x62\x88\x64", "Ê", "E"}, {"\xff\xfea\x00\n\x00", "a", "é"}, {"a", "A", ""}, {"\xff", "\xff", ""},
	} {
		f.Add([]byte(s[0]), s[1], s[2], uint8(i), false)
		f.Add([]byte(s[0]), s[1], s[2], uint8(i), true)
	}
	names := text.Names()
	f.Fuzz(func(t *testing.T, content []byte, old, new string, encoding uint8, all bool) {
		if len(content) > 200 {
			return // the search of size below is slow
		}
		enc := named(t, names[int(encoding)%len(names)])
		kept := slices.Clone(content)
		edits := []edit.Edit{{Old: old, New: new, All: all}}
		out, err := edit.Apply(content, enc, edits, 1<<20)
		if !bytes.Equal(kept, content) {
			t.Fatalf("%q was changed to %q", kept, content)
		}
		if err != nil {
			if out.Content != nil || out.Counts != nil || out.Replacements != 0 {
				t.Fatalf("%v, and yet %+v", err, out)
			}
			return
		}
		if enc.HasBOM(content) && !enc.HasBOM(out.Content) || !all && out.Replacements != 1 || out.Replacements == 0 {
			t.Fatalf("%q became %q, %d replacements", content, out.Content, out.Replacements)
		}
		outsideIsTheSame(t, enc, content, out)
		asText(t, enc, content, edits[0], out)
		if !all {
			takenBack(t, enc, content, edits[0], out.Content)
		}
	})
}

// outsideIsTheSame holds the bytes before the first match and behind the last
// against those of the content, by where the characters of the text are.
func outsideIsTheSame(t *testing.T, enc text.Encoding, content []byte, out edit.Out) {
	if enc.Name() == "iso-2022-jp" {
		return // its escapes beside an edit belong to the edit; asText holds the rest
	}
	before, after := decoded(t, enc, content), decoded(t, enc, out.Content)
	head := commonRunes(before, after)
	rest, restAfter := before[head:], after[head:]
	tail := commonTail(rest, restAfter)
	if n := size(t, enc, content, before[:head]); n >= 0 && !bytes.HasPrefix(out.Content, content[:n]) {
		t.Fatalf("%s: %q became %q, not the same before the edit", enc, content, out.Content)
	}
	if n := size(t, enc, content, before[:len(before)-tail]); n >= 0 && !bytes.HasSuffix(out.Content, content[n:]) {
		t.Fatalf("%s: %q became %q, not the same behind the edit", enc, content, out.Content)
	}
}

// size is how many bytes of the content decode to the text, -1 if none do.
func size(t *testing.T, enc text.Encoding, content []byte, want string) int {
	if enc.IsUTF8() {
		return len(content) - len(decoded(t, enc, content)) + len(want)
	}
	for n := range len(content) + 1 {
		if s, err := enc.Decode(content[:n]); err == nil && s == want && n >= len(enc.BOM())*btoi(enc.HasBOM(content)) {
			return n
		}
	}
	return -1
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func decoded(t *testing.T, enc text.Encoding, content []byte) string {
	if enc.IsUTF8() {
		return strings.TrimPrefix(string(content), string(enc.BOM()))
	}
	s, err := enc.Decode(content)
	if err != nil {
		t.Fatalf("%s: %q: %v", enc, content, err)
	}
	return s
}

func commonRunes(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

func commonTail(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}

// asText holds that line ends apart the outcome is what the standard library
// makes of the text.
func asText(t *testing.T, enc text.Encoding, content []byte, e edit.Edit, out edit.Out) {
	if enc.Name() == "big5" && strings.ContainsAny(e.Old, "ÊêÌì\u0304\u030c") {
		return // matches of half a character are left out
	}
	before := decoded(t, enc, content)
	lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	if text.LineEndingOf([]byte(before)) == text.CR {
		lf = func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n") }
	}
	if strings.HasSuffix(lf(e.New), "\r") || strings.Contains(before+e.Old, "\r\r") || strings.HasPrefix(e.New, "\n") {
		return // a CR and an LF may come together, and what is one line end depends on it
	}
	times := 1
	if e.All {
		times = -1
	}
	want := strings.Replace(lf(before), lf(e.Old), lf(e.New), times)
	after := decoded(t, enc, out.Content)
	if strings.Contains(before, "\r") && text.LineEndingOf([]byte(before)) != text.CRLF && text.LineEndingOf([]byte(before)) != text.CR {
		return // lone CRs: removing what is between one and an LF makes them one
	}
	if lf(after) != lf(want) {
		t.Fatalf("%s: %q became %q, want %q", enc, content, after, want)
	}
}

// takenBack makes the edit the other way round.
func takenBack(t *testing.T, enc text.Encoding, content []byte, e edit.Edit, after []byte) {
	before := decoded(t, enc, content)
	if strings.Contains(before+e.New+e.Old, "\r") && (text.LineEndingOf([]byte(before)) != text.CRLF || text.LineEndingOf([]byte(decoded(t, enc, after))) != text.CRLF) {
		return
	}
	if !utf8.ValidString(before) || e.New == "" {
		return
	}
	back, err := edit.Apply(after, enc, []edit.Edit{{Old: e.New, New: e.Old}}, 1<<20)
	if err != nil {
		return // what was put in is there more than once now
	}
	if decoded(t, enc, back.Content) != before {
		t.Fatalf("%s: %q became %q became %q", enc, content, after, back.Content)
	}
	if enc.Exact(content) && enc.Name() != "iso-2022-jp" && !bytes.Equal(back.Content, content) {
		t.Fatalf("%s: %q became %q became %q", enc, content, after, back.Content)
	}
}

// FuzzSeveral holds that several edits give what they give one by one, or
// nothing at all.
func FuzzSeveral(f *testing.F) {
	f.Add("a b c", "a", "x", "b", "y")
	f.Add("a b c", "a", "x", "a", "y")
	f.Add("a\r\nb", "a\nb", "b\nc", "c", "\n")
	f.Fuzz(func(t *testing.T, content, old1, new1, old2, new2 string) {
		enc := named(t, "utf-8")
		first, second := edit.Edit{Old: old1, New: new1}, edit.Edit{Old: old2, New: new2, All: true}
		both, err := edit.Apply([]byte(content), enc, []edit.Edit{first, second}, 1<<20)
		one, err1 := edit.Apply([]byte(content), enc, []edit.Edit{first}, 1<<20)
		two, err2 := edit.Apply(one.Content, enc, []edit.Edit{second}, 1<<20)
		if (err == nil) != (err1 == nil && err2 == nil) {
			t.Fatalf("together %v, one by one %v, %v", err, err1, err2)
		}
		if err != nil && both.Content != nil {
			t.Fatalf("%v, and yet %q", err, both.Content)
		}
		if err == nil && (!bytes.Equal(both.Content, two.Content) || both.Replacements != one.Replacements+two.Replacements) {
			t.Fatalf("together %q, one by one %q", both.Content, two.Content)
		}
	})
}
