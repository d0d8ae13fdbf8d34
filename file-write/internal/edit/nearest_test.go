package edit_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/edit"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		what        string
		file, given string
		line        int
		differs     string // the beginning of the first difference; all of them are one
	}{
		{"spaces for a tab", "a\n\tb()\n", "    b()", 2, "indentation, tabs against spaces (the file has 1 tab, the text given 4 spaces)"},
		{"a tab for spaces, in a later line", "if a {\n    b()\n}\n", "if a {\n\tb()\n}", 1, "indentation, tabs against spaces (the file has 4 spaces, the text given 1 tab)"},
		{"too little indentation", "if a {\n    b()\n}\n", "if a {\n  b()\n}", 1, "indentation (the file has 4 spaces, the text given 2 spaces)"},
		{"trailing spaces in the file", "a  \nb\n", "a\nb", 1, "trailing spaces (the file has 2 spaces, the text given none)"},
		{"trailing spaces in the text", "x\na\nb\n", "a \nb", 2, "trailing spaces (the file has none, the text given 1 space)"},
		{"trailing spaces at the end of the text", "x\nab\n", "ab ", 2, "trailing spaces (the file has none, the text given 1 space)"},
		{"spaces within a line", "a  = b\n", "a = b", 1, "spaces within the line (the file has 2 spaces, the text given 1 space)"},
		{"a tab within a line", "a\t= b\n", "a = b", 1, "tabs against spaces (the file has 1 tab, the text given 1 space)"},
		{"typographic quotes", "say “hi”\n", `say "hi"`, 1, `quotes (the file has “ (U+201C), the text given ")`},
		{"a typographic apostrophe", "x\nit's\n", "it’s", 2, "quotes (the file has ', the text given ’ (U+2019))"},
		{"a Cyrillic letter", "раth\n", "path", 1, "look-alike characters (the file has р (U+0440), the text given p)"},
		{"full-width letters", "ＡＢＣ\n", "ABC", 1, "look-alike characters (the file has Ａ (U+FF21), the text given A)"},
		{"a dash", "a – b\n", "a - b", 1, "look-alike characters (the file has – (U+2013), the text given -)"},
		{"an ellipsis", "wait...\n", "wait…", 1, "look-alike characters (the file has ., the text given … (U+2026))"},
		{"a zero-width space", "ab\u200bc\n", "abc", 1, "invisible or unusual blank characters (the file has U+200B, the text given none)"},
		{"a no-break space", "a\u00a0b\n", "a b", 1, "invisible or unusual blank characters (the file has U+00A0, the text given 1 space)"},
		{"capitals", "Hello World\n", "hello World", 1, "upper and lower case (the file has H, the text given h)"},
		{"accents in another normal form", "cafe\u0301\n", "caf\u00e9", 1, "Unicode normal form"},
		{"a lone CR", "a\rb\nc\n", "a\nb", 1, "line ends (one of them has a CR"},
		{"no line end at the end of the file", "x\na", "a\n", 2, "line ends (the file has no line end, the text given 1 line end)"},
		{"a blank line too many", "a\nb\n", "a\n\nb", 1, "line ends (the file has 1 line end, the text given 2 line ends)"},
		{"a word wrong in one of several lines", "p\nfunc f() {\n\treturn one\n}\nfunc g() {}\n", "func f() {\n\treturn two\n}", 2, `line 3 of the file is "\treturn one" where the text given has "\treturn two"`},
		{"a line missing in the text", "first line\nsecond line\nthird line\n", "first line\nthird line", 1, `line 2 of the file is "second line" where the text given has "third line"`},
		{"the text goes beyond the end", "x\nfirst line\nsecond", "first line\nmore", 2, `line 3 of the file is "second" where the text given has "more"`},
		{"the text begins before the file", "second line\nthird line\n", "zero\nfirst\nsecond line\nthird line", 1, `the file has no line there for "zero"`},
		{"a word wrong in the only line", "alpha\nthe quick brown fox\nomega\n", "the quick brown dog", 2, `the text given has "the quick brown dog"`},
		{"a word wrong in one very long line", strings.Repeat("lorem ipsum ", 1000) + "the quick brown fox jumps", "the quick brown dog jumps", 1, `the text given has "the quick brown dog jumps"`},
		{"control characters are shown escaped", "a\x1b[31m  b\n", "a\x1b[31m b", 1, "spaces within the line"},
	} {
		_, err := edit.Apply([]byte(c.file), named(t, "utf-8"), one(c.given, "x"), 1<<20)
		if err == nil {
			t.Errorf("%s: it was edited", c.what)
			continue
		}
		e := fault.From(err)
		differences, _ := e.Details["differences"].([]string)
		if e.Code != fault.ParamInvalid || e.Details["line"] != c.line || len(differences) == 0 || !strings.HasPrefix(differences[0], c.differs) {
			t.Errorf("%s:\n got line %v, %q\nwant line %d, %q", c.what, e.Details["line"], differences, c.line, c.differs)
		}
		if text, _ := e.Details["text"].(string); !strings.Contains(c.file, text) || text == "" {
			t.Errorf("%s: the text there is %q", c.what, text)
		}
		if strings.ContainsAny(e.Error(), "\n\x1b\u200b") {
			t.Errorf("%s: the sentence is not fit to be shown: %q", c.what, e.Error())
		}
	}
}

func TestEveryKindOfDifferenceIsTold(t *testing.T) {
	_, err := edit.Apply([]byte("if a {\n\tSay(“x”)  \n}\n"), named(t, "utf-8"), one("if a {\n  say(\"x\")\n}", "x"), 1000)
	want := "PARAM_002: the text to replace is not in the file; the nearest place is line 1, \"if a {\", which differs: " +
		"indentation, tabs against spaces (the file has 1 tab, the text given 2 spaces); " +
		"upper and lower case (the file has S, the text given s); " +
		"quotes (the file has “ (U+201C), the text given \"); " +
		"trailing spaces (the file has 2 spaces, the text given none). " +
		"Copy the text from the file exactly as it stands there, if that is the place meant."
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

func TestNothingAlikeIsSaidToBeNothing(t *testing.T) {
	for what, c := range map[string][2]string{
		"another text":    {"alpha\nbeta\n", "completely different words"},
		"blanks alone":    {"alpha\n", "\n\n\n"},
		"one letter":      {"alpha\n", "z"},
		"an empty file":   {"", "alpha"},
		"invisible alone": {"alpha\n", "\u200b"},
	} {
		_, err := edit.Apply([]byte(c[0]), named(t, "utf-8"), one(c[1], "x"), 1000)
		if err == nil || !strings.Contains(err.Error(), "nor is anything like it") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTheNearestPlaceIsFoundInLinearTime counts steps and bytes on inputs of up
// to ten megabytes made to be expensive; a clock would prove nothing.
func TestTheNearestPlaceIsFoundInLinearTime(t *testing.T) {
	const size, part = 10 << 20, 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	some := func(s string) string { return strings.Repeat(s, part/len(s)) }
	for _, c := range []struct{ what, file, given string }{
		{"one letter, nearly found everywhere", fill("a"), strings.Repeat("a", size/2) + "b"},
		{"periods", some("ab"), strings.Repeat("ab", part/4) + "c"},
		{"the same short line, in both", some("a\n"), strings.Repeat("a\n", part/4) + "b"},
		{"empty lines", fill("\n"), strings.Repeat("\n", size/4) + "b"},
		{"lines that agree but for every second", fill("abcdef\nghijkl\n"), strings.Repeat("abcdef\nother\n", size/26)},
		{"lines with one line of the text each", some("one line\nno line\n"), "one line\nanother line\nno such line"},
		{"one line, similar everywhere", some("abcd"), strings.Repeat("abce", part/8)},
		{"blanks around everything", some(" \t\n\u00a0a"), strings.Repeat("a\n\n", part/8) + "b"},
		{"characters that decompose into many", some("\ufdfa"), strings.Repeat("\ufdfa", part/64) + "b"},
		{"characters that decompose into four", some("\u33c2"), strings.Repeat("\u33c2", part/8) + "b"},
		{"accents alone", some("\u0301"), strings.Repeat("\u0301", part/8) + "b"},
		{"blanks before the only match", some(" ") + "A", " a"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		nearest, find := edit.Work(c.file, c.given)
		runtime.ReadMemStats(&after)
		all := len(c.file) + len(c.given)
		if nearest == 0 {
			t.Errorf("%s: no step was counted", c.what)
		}
		if most := 8 * all; nearest > most || find > 3*all {
			t.Errorf("%s: %d steps for the nearest and %d for finding, in %d bytes", c.what, nearest, find, all)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 64*uint64(all) {
			t.Errorf("%s: %d bytes were allocated for %d", c.what, got, all)
		}
	}
}
