package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-write/internal/diff"
)

const header = "--- a\n+++ b\n"

func TestUnified(t *testing.T) {
	for _, c := range []struct {
		what     string
		old, new string
		context  int
		want     string
	}{
		{"the same text has no difference", "a\nb\n", "a\nb\n", 3, ""},
		{"two empty texts have no difference", "", "", 3, ""},
		{"a line in the middle, with context", "1\n2\n3\n4\n5\n", "1\n2\nx\n4\n5\n", 1, header + "@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n"},
		{"no context at all", "1\n2\n3\n", "1\nx\n3\n", 0, header + "@@ -2 +2 @@\n-2\n+x\n"},
		{"a negative context is none", "1\n2\n3\n", "1\nx\n3\n", -1, header + "@@ -2 +2 @@\n-2\n+x\n"},
		{"a line inserted without context is behind the one before", "1\n2\n", "1\nx\n2\n", 0, header + "@@ -1,0 +2 @@\n+x\n"},
		{"a line removed without context", "1\n2\n3\n", "1\n3\n", 0, header + "@@ -2 +1,0 @@\n-2\n"},
		{"everything is new", "", "a\nb\n", 3, header + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"everything is gone", "a\n", "", 3, header + "@@ -1 +0,0 @@\n-a\n"},
		{"the last line lost its line end", "a\nb\n", "a\nb", 3, header + "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"},
		{"the last line got a line end", "b", "b\n", 3, header + "@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+b\n"},
		{"neither has a last line end", "a\nb", "x\nb", 3, header + "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"},
		{"a line behind a last one without a line end", "a", "a\nb", 3, header + "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n"},
		{"a CR is part of its line", "a\r\nb\r\n", "a\r\nc\r\n", 3, header + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"},
		{"a changed line end is a changed line", "a\n", "a\r\n", 3, header + "@@ -1 +1 @@\n-a\n+a\r\n"},
		{"changes that share context are one hunk", "1\n2\n3\n4\n5\n6\n", "x\n2\n3\n4\n5\ny\n", 2, header + "@@ -1,6 +1,6 @@\n-1\n+x\n 2\n 3\n 4\n 5\n-6\n+y\n"},
		{"changes further apart are two", "1\n2\n3\n4\n5\n6\n7\n", "x\n2\n3\n4\n5\n6\ny\n", 2,
			header + "@@ -1,3 +1,3 @@\n-1\n+x\n 2\n 3\n@@ -5,3 +5,3 @@\n 5\n 6\n-7\n+y\n"},
		{"a repeated line is not taken for its neighbour", "a\na\na\n", "a\na\n", 3, header + "@@ -1,3 +1,2 @@\n a\n a\n-a\n"},
		{"a tail in common that begins within a line is no context", "xab\n", "yab\n", 3, header + "@@ -1 +1 @@\n-xab\n+yab\n"},
	} {
		got, truncated := diff.Unified("a", "b", []byte(c.old), []byte(c.new), c.context, 1000)
		if d := cmp.Diff(c.want, got); d != "" || truncated {
			t.Errorf("%s: truncated %v\n%s", c.what, truncated, d)
		}
	}
}

func TestTheFewestLinesAreChanged(t *testing.T) {
	got, _ := diff.Unified("a", "b", []byte("A\nB\nC\nA\nB\nB\nA\n"), []byte("C\nB\nA\nB\nA\nC\n"), 9, 1000)
	if n := strings.Count(got, "\n-") + strings.Count(got, "\n+") - 1; n != 5 {
		t.Errorf("%d lines differ, the example of Myers' paper has 5\n%s", n, got)
	}
}

func TestANameCannotForgeALine(t *testing.T) {
	got, _ := diff.Unified("a\n@@ -1 +1 @@", "b", []byte("1"), []byte("2"), 3, 1000)
	if !strings.HasPrefix(got, `--- a\n@@ -1 +1 @@`+"\n+++ b\n@@ -1 +1 @@\n-1\n") {
		t.Errorf("%q", got)
	}
}

func TestWhatIsTooLongIsCutAtALineEnd(t *testing.T) {
	old, new := []byte("1\n2\n3\n"), []byte("4\n5\nlonger\n")
	whole, _ := diff.Unified("a", "b", old, new, 3, 1000)
	for limit := range len(whole) + 2 {
		got, truncated := diff.Unified("a", "b", old, new, 3, limit)
		if truncated != (limit < len(whole)) || len(got) > limit || !strings.HasPrefix(whole, got) || got != "" && !strings.HasSuffix(got, "\n") {
			t.Errorf("at %d: truncated %v, %q", limit, truncated, got)
		}
	}
	if got, truncated := diff.Unified("a", "b", old, new, 3, -1); got != "" || !truncated {
		t.Errorf("a negative limit gave %q, truncated %v", got, truncated)
	}
}

// numbered is lines of their own, some of them changed.
func numbered(n, every int, as string) string {
	var b strings.Builder
	for i := range n {
		if every > 0 && i%every == 0 {
			fmt.Fprintf(&b, "%s %d\n", as, i)
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestLargeTexts(t *testing.T) {
	for _, c := range []struct {
		what     string
		old, new string
		most     int // bytes of the difference
	}{
		{"a change every tenth line, far more than the shortest way is looked for", numbered(100_000, 0, ""), numbered(100_000, 10, "changed"), 3_000_000},
		{"nothing in common", numbered(50_000, 1, "old"), numbered(50_000, 1, "new"), 2_000_000},
		{"two kinds of line, without order", repeated(60_000, 7), repeated(60_000, 11), 1_000_000},
		{"more lines than are compared one by one", "first\n" + strings.Repeat("\n", diff.MostLines) + "a", "first\n" + strings.Repeat("b\n", diff.MostLines) + "a", 8_000_000},
	} {
		got, truncated := diff.Unified("a", "b", []byte(c.old), []byte(c.new), 3, c.most)
		if truncated {
			t.Errorf("%s: more than %d bytes", c.what, c.most)
			continue
		}
		if after, err := apply(c.old, got); err != nil || after != c.new {
			t.Errorf("%s: applying it does not give the new text: %v", c.what, err)
		}
	}
}

// repeated is lines of two kinds in an order that seed makes.
func repeated(n, seed int) string {
	var b strings.Builder
	state := uint32(seed)
	for range n {
		state = state*1664525 + 1013904223
		b.WriteString([]string{"{\n", "}\n"}[state>>31])
	}
	return b.String()
}

func TestTheWorkIsBounded(t *testing.T) {
	for what, c := range map[string][2]string{
		"nothing in common":             {numbered(200_000, 1, "old"), numbered(200_000, 1, "new")},
		"two kinds of line":             {repeated(200_000, 7), repeated(200_000, 11)},
		"long runs in common, shifted":  {strings.Repeat(strings.Repeat("a\n", 999)+"b\n", 300), strings.Repeat(strings.Repeat("a\n", 998)+"c\n", 300)},
		"the same lines, back to front": {numbered(100_000, 0, ""), reversed(numbered(100_000, 0, ""))},
	} {
		run := strings.Count(c[0], "\n") + 1
		if left := diff.WorkLeft(c[0], c[1]); left < -run {
			t.Errorf("%s: %d steps beyond the limit", what, -left)
		}
	}
}

func reversed(s string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(s, "\n"), "\n")
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(strings.TrimSuffix(lines[i], "\n") + "\n")
	}
	return b.String()
}
