package main

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

func TestCountsAreFoundInAnswers(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"result":{"structuredContent":{"matches":[],"matchedLines":156352,"matchedFiles":3}}}`, "156352"},
		{`{"result":{"content":[{"type":"text","text":"[matching lines: 14, in 2 of 3 files searched]"}]}}`, "14"},
		{`{"result":{}}`, ""},
	} {
		if got := countIn([]byte(c.answer)); got != c.want {
			t.Errorf("%s: %q, want %q", c.answer, got, c.want)
		}
	}
	if got := sumOf([]byte("3\n\n40\r\n")); got != 43 {
		t.Errorf("sum %d", got)
	}
}

func TestPathsAreCountedInAnswers(t *testing.T) {
	for _, c := range []struct {
		answer, cursor string
		n              int
	}{
		{`{"result":{"structuredContent":{"paths":["a","b"],"nextCursor":"x"}}}`, "x", 2},
		{`{"result":{"content":[{"type":"text","text":"a\nb\nc\n[the first 3; go on with cursor=zz]\n"}]}}`, "zz", 3},
		{`{"result":{"content":[{"type":"text","text":"a\n"}]}}`, "", 1},
	} {
		if n, cursor := pathsIn([]byte(c.answer)); n != c.n || cursor != c.cursor {
			t.Errorf("%s: %d, %q", c.answer, n, cursor)
		}
	}
}

func TestIDsAreFoundInAnswers(t *testing.T) {
	for line, want := range map[string]int{
		`{"jsonrpc":"2.0","id":17,"result":{"id":3}}`:                                       17,
		`{"result":{"a":"a long text that is before the id of it"},"jsonrpc":"2.0","id":8}`: 8,
		`{"jsonrpc":"2.0","method":"x"}`:                                                    0,
	} {
		if got := idOf([]byte(line)); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
	r := toolCall("t", map[string]any{"a": 1})
	r.number(123)
	if want := `{"jsonrpc":"2.0","id":       123,"method":"tools/call","params":{"arguments":{"a":1},"name":"t"}}` + "\n"; string(r) != want {
		t.Errorf("request %s", r)
	}
}

func TestRipgrepIsToldThatClassesAreOfASCII(t *testing.T) {
	for expr, want := range map[string]string{`\bfunc\s`: `(?-u)\bfunc\s`, `return`: `return`, `\p{Cyrillic}`: `\p{Cyrillic}`} {
		if got := (pattern{"", expr}).forRipgrep(); got != want {
			t.Errorf("%s: %s", expr, got)
		}
	}
}

func TestTheLogIsAlwaysTheSameAndHasWhatIsSearchedFor(t *testing.T) {
	var a, b bytes.Buffer
	for _, to := range []*bytes.Buffer{&a, &b} {
		if err := writeLog(to, 600<<10); err != nil {
			t.Fatal(err)
		}
	}
	if sha256.Sum256(a.Bytes()) != sha256.Sum256(b.Bytes()) || a.Len() < 600<<10 {
		t.Errorf("%d and %d bytes, or others", a.Len(), b.Len())
	}
	for _, expr := range []string{`\[ERROR\]`, `status`, `dur=\d+ms`, `\p{Cyrillic}{3,}`, `\w{12}\s\w{12}`} {
		if !regexp.MustCompile(expr).Match(a.Bytes()) {
			t.Errorf("nothing matches %s", expr)
		}
	}
	for n, want := range map[int]string{2: "marker ZZQ_RARE\n", 3: "order 093-KXQZ-051\n", 30: "\n"} {
		if got := tail(n); got != want {
			t.Errorf("tail of %d: %q", n, got)
		}
	}
}

func TestACopyEndsWhenThereAreEnoughFiles(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"a/1", "a/2", "b/3", "cache/archive", "c/cache/4"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		left int
		want []string
	}{{2, []string{"a/1", "a/2"}}, {9, []string{"a/1", "a/2", "b/3", "c/cache/4"}}} {
		left, dir := c.left, filepath.Join(to, string(rune('0'+c.left)))
		if err := copyTree(dir, from, &left); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*/*"))
		deep, _ := filepath.Glob(filepath.Join(dir, "*/*/*"))
		var got []string
		for _, f := range append(files, deep...) {
			if info, err := os.Stat(f); err == nil && !info.IsDir() {
				rel, _ := filepath.Rel(dir, f)
				got = append(got, filepath.ToSlash(rel))
			}
		}
		if !slices.Equal(got, c.want) || left != c.left-len(c.want) {
			t.Errorf("%d: %q, left %d", c.left, got, left)
		}
	}
}

func TestLinesFarInAFileAreLocated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("1\n22\n333\n4444\n5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := locate(file, 2, 2)
	if err != nil || string(s.text) != "22\n333\n" || s.end != 9 {
		t.Errorf("%q up to %d, %v", s.text, s.end, err)
	}
	if err := s.readUpTo(file); err != nil {
		t.Error(err)
	}
	if _, err := locate(file, 5, 2); err == nil {
		t.Error("lines behind the end were located")
	}
}
