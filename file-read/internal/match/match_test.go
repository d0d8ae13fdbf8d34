package match_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/fault"
)

func compile(t testing.TB, expr string, o match.Options) *match.Pattern {
	t.Helper()
	p, err := match.Compile(expr, o)
	if err != nil {
		t.Fatalf("Compile(%q): %v", expr, err)
	}
	return p
}

func search(t testing.TB, p *match.Pattern, data string, w match.Want) match.Result {
	t.Helper()
	res, err := p.Search(t.Context(), struct{ io.Reader }{strings.NewReader(data)}, w)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	return res
}

// told is a result as grep would write it: line:column:text.
func told(res match.Result) []string {
	lines := []string{}
	for _, h := range res.Hits {
		lines = append(lines, fmt.Sprintf("%d:%d:%s", h.Line, h.Column, h.Text))
	}
	return lines
}

func TestLinesAreFound(t *testing.T) {
	fold, fixed, multi := match.Options{FoldCase: true}, match.Options{Fixed: true}, match.Options{Multiline: true}
	for _, c := range []struct {
		what string
		expr string
		o    match.Options
		data string
		want []string
	}{
		{"a word in one of three lines", "two", match.Options{}, "one\ntwo\nthree\n", []string{"2:1:two"}},
		{"a line is told once, at its first match", "o", match.Options{}, "foo bor\n", []string{"1:2:foo bor"}},
		{"the last line needs no line feed", "b$", match.Options{}, "a\nb", []string{"2:1:b"}},
		{"a final line feed begins no line", "^$", match.Options{}, "a\n", []string{}},
		{"empty lines match what matches nothing", "^$", match.Options{}, "a\n\nb\n\n", []string{"2:1:", "4:1:"}},
		{"an empty file has no line", "", match.Options{}, "", []string{}},
		{"a file of one line feed has one line", "", match.Options{}, "\n", []string{"1:1:"}},
		{"the empty pattern matches every line", "", match.Options{}, "a\nb\n", []string{"1:1:a", "2:1:b"}},
		{"anchors are those of the line", "^b$", match.Options{}, "ab\nb\nba\n", []string{"2:1:b"}},
		{"so are the anchors of the text", `\Ab\z`, match.Options{}, "ab\nb\nba\n", []string{"2:1:b"}},
		{"a negated class does not run into the next line", "a[^x]b", match.Options{}, "a\nb\na.b\n", []string{"3:1:a.b"}},
		{"white space does not run into the next line", `a\s*b`, match.Options{}, "a\nb\na b\n", []string{"3:1:a b"}},
		{"a dot that matches everything does not either", "(?s)a.*b", match.Options{}, "a\nb\naxb\n", []string{"3:1:axb"}},
		{"word borders see the end of the line", `\bb\b`, match.Options{}, "a\nb\ncb\n", []string{"2:1:b"}},
		{"columns are bytes of the line", "ö", match.Options{}, "äö\n", []string{"1:3:äö"}},
		{"letters match their other case", "hello k", fold, "say HELLO K\nHELLO \u212a\nhell\n", []string{"1:5:say HELLO K", "2:1:HELLO \u212a"}},
		{"case matters unless it is told otherwise", "hello", match.Options{}, "HELLO\nhello\n", []string{"2:1:hello"}},
		{"fixed text has no special characters", "a.b(", fixed, "axb(\na.b(\n", []string{"2:1:a.b("}},
		{"fixed text may match other cases", "A.b", match.Options{Fixed: true, FoldCase: true}, "axb\na.B\n", []string{"2:1:a.B"}},
		{"a carriage return belongs to the line end", "b$", match.Options{}, "ab\r\nb\r\n", []string{"1:2:ab", "2:1:b"}},
		{"a carriage return within a line stays", "a.b", match.Options{}, "a\rb\r\n", []string{"1:1:a\rb"}},
		{"of two carriage returns one belongs to the line", `a.$`, match.Options{}, "a\r\r\n", []string{"1:1:a\r"}},
		{"a carriage return at the end of the file stays", `a.$`, match.Options{}, "a\r", []string{"1:1:a\r"}},
		{"a pattern that names it sees it", `b\r$`, match.Options{}, "b\r\nb\n", []string{"1:1:b"}},
		{"the mark at the start of the file is no part of it", "^a", match.Options{}, "\xEF\xBB\xBFa\n", []string{"1:1:a"}},
		{"invalid bytes are shown replaced", "a", match.Options{}, strings.Repeat("テキスト", 20) + "\na\xffb\n", []string{"2:1:a\uFFFDb"}},
		{"they match the replacement as well", `\x{FFFD}b$`, match.Options{}, strings.Repeat("テキスト", 20) + "\na\xffb\n", []string{"2:2:a\uFFFDb"}},
		{"a match spans lines where that is asked for", `a\nb`, multi, "x\na\nb\n", []string{"2:1:a\nb"}},
		{"and over CRLF too", `a\nb`, multi, "a\r\nb\r\n", []string{"1:1:a\nb"}},
		{"unless the pattern names the carriage return", `a\r\nb`, multi, "a\r\nb\na\nb", []string{"1:1:a\r\nb"}},
		{"a dot still stays in its line", `a.b`, multi, "a\nb\na.b\n", []string{"3:1:a.b"}},
		{"matches that share a line are one hit", `\{\n[^}]*\}`, multi, "if {\n x\n} else {\n y\n}\nz\n", []string{"1:4:if {\n x\n} else {\n y\n}"}},
		{"matches on neighbouring lines are two", `[ab]\n`, multi, "a\nb\nc\n", []string{"1:1:a", "2:1:b"}},
		{"anchors of the text are those of the file there", `\Aa|b\z`, multi, "a\na\nb\nb", []string{"1:1:a", "4:1:b"}},
		{"and what matches nothing there is not found behind the end", `(?:\n)*$`, multi, "a\n", []string{"1:2:a"}},
	} {
		got := told(search(t, compile(t, c.expr, c.o), c.data, match.Want{}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %q (-want +got)\n%s", c.what, c.expr, diff)
		}
	}
}

func TestEncodings(t *testing.T) {
	utf16of := func(s string, big bool) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return string(b)
	}
	for _, c := range []struct {
		what, data, encoding string
		binary               bool
		want                 []string
	}{
		{"UTF-16 with a mark, little end first", "\xff\xfe" + utf16of("ä\r\nxneedle\r\n", false), "utf-16le", false, []string{"2:2:xneedle"}},
		{"UTF-16 with a mark, big end first", "\xfe\xff" + utf16of("ä\nxneedle\n", true), "utf-16be", false, []string{"2:2:xneedle"}},
		{"Shift_JIS", strings.Repeat("\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\x81\x42\n", 8) + "needle\n", "shift_jis", false, []string{"9:1:needle"}},
		{"a NUL makes a file binary", "needle\nneedle\x00\n", "", true, []string{}},
		{"control bytes alone do not", "8=FIX\x019=needle\x0135=A\x01\n", "utf-8", false, []string{"1:9:8=FIX\x019=needle\x0135=A\x01"}},
		{"a NUL after the first 64 KiB ends the search at its line", "needle\n" + strings.Repeat("a line\n", 10000) + "needle\nneedle \x00 needle\nneedle\n", "utf-8", true, []string{"1:1:needle", "10002:1:needle"}},
		{"and so it does in the line that the first 64 KiB are", strings.Repeat("needle ", 10000) + "\x00\nneedle\n", "utf-8", true, []string{}},
		{"a character cut by the first 64 KiB changes nothing", strings.Repeat("x", 64<<10-1) + "é\nneedle\n", "utf-8", false, []string{"2:1:needle"}},
	} {
		res := search(t, compile(t, "needle", match.Options{}), c.data, match.Want{})
		if res.Encoding != c.encoding || res.Binary != c.binary {
			t.Errorf("%s: encoding %q, binary %v", c.what, res.Encoding, res.Binary)
		}
		if diff := cmp.Diff(c.want, told(res)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.what, diff)
		}
	}
}

func TestWants(t *testing.T) {
	const data = "1\n2 x\n3\n4\n5 x\n6 x\n7\n8\n9\n"
	for _, c := range []struct {
		what string
		want match.Want
		res  match.Result
	}{
		{"lines of context, the same line more than once if it is near two hits", match.Want{Context: 2}, match.Result{Lines: 3, Hits: []match.Hit{
			{Line: 2, Column: 3, Text: "2 x", Before: []string{"1"}, After: []string{"3", "4"}},
			{Line: 5, Column: 3, Text: "5 x", Before: []string{"3", "4"}, After: []string{"6 x", "7"}},
			{Line: 6, Column: 3, Text: "6 x", Before: []string{"4", "5 x"}, After: []string{"7", "8"}},
		}}},
		{"as many hits as there are is all", match.Want{MaxHits: 3}, match.Result{Lines: 3, Hits: []match.Hit{
			{Line: 2, Column: 3, Text: "2 x"}, {Line: 5, Column: 3, Text: "5 x"}, {Line: 6, Column: 3, Text: "6 x"},
		}}},
		{"fewer hits than there are is told", match.Want{MaxHits: 1, Context: 1}, match.Result{Lines: 1, More: true, Hits: []match.Hit{
			{Line: 2, Column: 3, Text: "2 x", Before: []string{"1"}, After: []string{"3"}},
		}}},
		{"counting tells no hits and knows no maximum", match.Want{CountOnly: true, MaxHits: 1}, match.Result{Lines: 3}},
		{"the first hit only", match.Want{FirstOnly: true}, match.Result{Lines: 1, Hits: []match.Hit{{Line: 2, Column: 3, Text: "2 x"}}}},
		{"whether there is any", match.Want{FirstOnly: true, CountOnly: true}, match.Result{Lines: 1}},
	} {
		c.res.Encoding = "utf-8"
		for _, expr := range []string{"x", "[xz]", `\bx|x\b`} {
			got := search(t, compile(t, expr, match.Options{}), data, c.want)
			if diff := cmp.Diff(c.res, got); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", c.what, expr, diff)
			}
		}
	}
}

func TestContextGoesAcrossBlocks(t *testing.T) {
	var b strings.Builder
	const lines = 30_000
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	res := search(t, compile(t, `^line \d`, match.Options{}), b.String(), match.Want{Context: 2})
	if len(res.Hits) != lines {
		t.Fatalf("%d hits", len(res.Hits))
	}
	for i, h := range res.Hits {
		n := i + 1
		want := match.Hit{Line: int64(n), Column: 1, Text: fmt.Sprintf("line %d", n)}
		for k := max(1, n-2); k < n; k++ {
			want.Before = append(want.Before, fmt.Sprintf("line %d", k))
		}
		for k := n + 1; k <= min(lines, n+2); k++ {
			want.After = append(want.After, fmt.Sprintf("line %d", k))
		}
		if !reflect.DeepEqual(want, h) {
			t.Fatalf("hit %d (-want +got)\n%s", n, cmp.Diff(want, h))
		}
	}
}

func TestLongLinesAreShownAroundTheMatch(t *testing.T) {
	line := strings.Repeat("ä", 5000) + "needle" + strings.Repeat("ö", 5000)
	res := search(t, compile(t, "needle", match.Options{}), "x\n"+line+"\ny\n", match.Want{MaxText: 101, Context: 1})
	if len(res.Hits) != 1 {
		t.Fatalf("%d hits", len(res.Hits))
	}
	h := res.Hits[0]
	if !h.Cut || h.Column != 10001 || len(h.Text) > 101 || len(h.Text) < 95 || !strings.Contains(h.Text, "äneedleö") || strings.Contains(h.Text, "\uFFFD") {
		t.Errorf("%+v", h)
	}
	res = search(t, compile(t, "y", match.Options{}), line+"\ny\n", match.Want{MaxText: 101, Context: 1})
	if b := res.Hits[0].Before; len(b) != 1 || b[0] != strings.Repeat("ä", 50)+"…" {
		t.Errorf("context is %q", b)
	}
}

func TestLinesLargerThanTheBuffer(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		what, expr, data string
		windowed         bool
		want             []string // line:column
	}{
		{"a line of 1 MiB is matched whole", `^a+b$`, strings.Repeat("a", mib-1) + "b\nab\n", false, []string{"1:1", "2:1"}},
		{"a match deep in a longer one", `needle`, "x\n" + strings.Repeat("a", 5*mib) + "needle\nneedle\n", true, []string{"2:5242881", "3:1"}},
		{"one that lies on the border of two windows", `ne+dle`, strings.Repeat("a", mib+64<<10-3) + "needle" + strings.Repeat("b", mib) + "\nneedle", true, []string{"1:1114110", "2:1"}},
		{"the start of a window is not the start of the line", `^b|^needle`, "a" + strings.Repeat("b", 2*mib) + "\nneedle\n", true, []string{"2:1"}},
		{"the end of a window is not the end of the line", `b$`, strings.Repeat("b", 2*mib) + "c\nb\n", true, []string{"2:1"}},
		{"nor is it the end of the file", `b$`, strings.Repeat("b", mib+200<<10) + "c", true, nil},
		{"but the end of the line is", `bc$`, strings.Repeat("b", 2*mib) + "c\nbc\n", true, []string{"1:2097152", "2:1"}},
		{"no word is cut by a window", `\b(?:a|aa|aaa|b|ab|aab)\b`, strings.Repeat("aaab ", mib/3) + "\nb\n", true, []string{"2:1"}},
		{"not even by a match that began long before", `^a[ab ]*a\b`, strings.Repeat("aaab ", mib/3) + "\naa\n", true, []string{"2:1"}},
		{"a line that has matched is told once", `b`, strings.Repeat("b", 4*mib) + "\na\nb", true, []string{"1:1", "3:1"}},
	} {
		res := search(t, compile(t, c.expr, match.Options{}), c.data, match.Want{Context: 1})
		var got []string
		for _, h := range res.Hits {
			got = append(got, fmt.Sprintf("%d:%d", h.Line, h.Column))
			if len(h.Text) > match.DefaultCut {
				t.Errorf("%s: %d bytes of text", c.what, len(h.Text))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || res.Windowed != c.windowed {
			t.Errorf("%s: windowed %v (-want +got)\n%s", c.what, res.Windowed, diff)
		}
	}
}

func TestContextOfALineLargerThanTheBuffer(t *testing.T) {
	long := strings.Repeat("l", 3<<20)
	res := search(t, compile(t, "[xy]", match.Options{}), "1\nx\n"+long+"\ny\n2\n", match.Want{Context: 2, MaxText: 3})
	want := []match.Hit{
		{Line: 2, Column: 1, Text: "x", Before: []string{"1"}, After: []string{"lll…", "y"}},
		{Line: 4, Column: 1, Text: "y", Before: []string{"x", "lll…"}, After: []string{"2"}},
	}
	if diff := cmp.Diff(want, res.Hits); diff != "" {
		t.Error(diff)
	}
}

func TestAFileTooLargeForMatchesThatSpanLinesIsTold(t *testing.T) {
	data := strings.Repeat("0123456789abcde\n", match.MaxSpan/16-1) + "0123456789 the\nend"[:16]
	spans := compile(t, "the\ne", match.Options{Multiline: true})
	if res := search(t, spans, data, match.Want{CountOnly: true}); res.TooLarge || res.Lines != 2 {
		t.Errorf("16 MiB: %+v", res)
	}
	if res := search(t, spans, data+"x", match.Want{CountOnly: true}); !res.TooLarge || res.Lines != 0 {
		t.Errorf("more: %+v", res)
	}
	stays := compile(t, `x$`, match.Options{Multiline: true})
	if res := search(t, stays, data+"x", match.Want{CountOnly: true}); res.TooLarge || res.Lines != 1 {
		t.Errorf("more, with a pattern that stays in its line: %+v", res)
	}
}

func TestMistakesAreExplained(t *testing.T) {
	for _, c := range []struct {
		expr string
		o    match.Options
		want string
	}{
		{"a(b", match.Options{}, `the pattern is not a regular expression: a ( is never closed, at character 2: "(b". Write a backslash before characters that stand for themselves, or search for fixed text.`},
		{`[(]ä)b`, match.Options{}, `the pattern is not a regular expression: a ) closes nothing, at character 5: ")b"`},
		{"a[b", match.Options{}, `a [ is never closed, at character 2: "[b"`},
		{"*.go", match.Options{}, `there is nothing to repeat, at character 1: "*"`},
		{"a{1001}", match.Options{}, `the repeat count is not valid (it is at most 1000), at character 2`},
		{`C:\`, match.Options{}, `the pattern ends in a single backslash, at character 3`},
		{"a\xff", match.Options{}, `the pattern is not valid UTF-8, at character 2: "\xff"`},
		{`foo(?=bar)`, match.Options{}, `the pattern uses lookahead (at character 4), which RE2 does not have. Match the text itself`},
		{`(?<!a)b`, match.Options{}, `the pattern uses negative lookbehind (at character 1)`},
		{`(a)\1`, match.Options{}, `the pattern uses a backreference (at character 4)`},
		{`a++`, match.Options{}, `a possessive repetition`},
		{"a\nb", match.Options{}, `the pattern names a line break, but every line is matched by itself. Ask for multiline`},
		{"a\nb", match.Options{Fixed: true}, `the pattern names a line break`},
		{strings.Repeat("a", match.MaxExpr+1), match.Options{}, `the pattern is too large`},
		{strings.Repeat(`\pL{900}`, 20), match.Options{}, `the pattern is too large`},
		{strings.Repeat("(", 2000) + strings.Repeat(")", 2000), match.Options{}, `the pattern is nested too deeply`},
	} {
		_, err := match.Compile(c.expr, c.o)
		if !errors.Is(err, fault.ParamInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v", c.expr, err)
		}
	}
}

// slowly is a pattern without a literal whose matching takes many steps a byte.
const slowly = `(?:[a-z]+[0-9]?){20}\pL{200}!`

// TestCancellationIsNoticed makes the context end by the reads of the search
// itself; a search that does not look at it would continue to the end.
func TestCancellationIsNoticed(t *testing.T) {
	for _, c := range []struct {
		what, expr string
		o          match.Options
		line       string
	}{
		{"short lines", "needle", match.Options{}, "a line of text\n"},
		{"short lines and a slow pattern", slowly, match.Options{}, "a line of text\n"},
		{"one endless line", slowly, match.Options{}, "a line of text"},
		{"lines together", slowly + `\n`, match.Options{Multiline: true}, "a line of text\n"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r := &cancelling{line: c.line, cancel: cancel, after: 5}
		_, err := compile(t, c.expr, c.o).Search(ctx, r, match.Want{})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, fault.TimedOut) {
			t.Errorf("%s: %v", c.what, err)
		}
		if r.reads > 7 {
			t.Errorf("%s: went on for %d reads", c.what, r.reads)
		}
	}
}

type cancelling struct {
	line         string
	cancel       func()
	reads, after int
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.reads++; c.reads == c.after {
		c.cancel()
	}
	if c.reads > 10_000 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		n += copy(p[n:], c.line)
	}
	return n, nil
}

func TestALineEndMayComeInTwoReads(t *testing.T) {
	data := strings.Repeat("x\n", 64<<10) + "b\r\nb\r\r\n\r\nb\r"
	res, err := compile(t, `b$|^$|b\s$`, match.Options{}).Search(t.Context(), iotest.OneByteReader(strings.NewReader(data)), match.Want{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"65537:1:b", "65538:1:b\r", "65539:1:", "65540:1:b\r"}, told(res)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestErrorsOfTheReaderAreTold(t *testing.T) {
	broken := errors.New("the disk is on fire")
	r := io.MultiReader(strings.NewReader("needle\n"+strings.Repeat("x\n", 100_000)), iotest.ErrReader(broken))
	res, err := compile(t, "needle", match.Options{}).Search(t.Context(), r, match.Want{})
	if !errors.Is(err, broken) || !errors.Is(err, fault.Internal) {
		t.Errorf("error is %v", err)
	}
	if len(res.Hits) != 1 {
		t.Errorf("%d hits before it", len(res.Hits))
	}
}

func TestAPatternMayBeUsedByManyAtOnce(t *testing.T) {
	p := compile(t, "needle", match.Options{})
	data := []byte(strings.Repeat("hay\n", 50_000) + "needle\n")
	done := make(chan int64)
	for range 8 {
		go func() {
			var n int64
			for range 5 {
				res, _ := p.Search(context.Background(), bytes.NewReader(data), match.Want{CountOnly: true})
				n += res.Lines
			}
			done <- n
		}()
	}
	for range 8 {
		if n := <-done; n != 5 {
			t.Errorf("%d lines", n)
		}
	}
}

func TestPatternsThatShareBuffersFindWhatTheyFindAlone(t *testing.T) {
	var shared match.Buffers
	long := strings.Repeat("a long line ", 20_000) + "\n" // the buffer grows
	for _, data := range []string{"needle\nb\n", long + "needle\nthread", "", "thread\r\n\xff needle", long, "needle"} {
		for _, expr := range []string{"needle", "th.*d", `\w{3}d\w`, "e$"} {
			alone := search(t, compile(t, expr, match.Options{}), data, match.Want{Context: 1})
			if diff := cmp.Diff(alone, search(t, compile(t, expr, match.Options{Buffers: &shared}), data, match.Want{Context: 1})); diff != "" {
				t.Errorf("%q in %d bytes (-alone +shared):\n%s", expr, len(data), diff)
			}
		}
	}
}
