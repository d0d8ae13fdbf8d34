package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestFinding(t *testing.T) {
	r, dir := readerOf(t, ".git/config=x", ".gitignore=*.o\n", "a.py=", "a.o=", "src/b.py=", "src/deep/c.ts=", "src/deep/d.tsx=", "src/deep/.e.py=", "link.py => a.py", "docs/")
	for _, c := range []struct {
		what string
		in   findIn
		want []string
		code fault.Code
	}{
		{"only directly", findIn{Base: ".", Glob: "*.py", Gitignore: true}, []string{"a.py", "link.py"}, ""},
		{"at any depth, hidden ones too", findIn{Base: ".", Glob: "*.py", Recursive: true, Gitignore: true}, []string{"a.py", "link.py", "src/b.py", "src/deep/.e.py"}, ""},
		{"a path pattern looks deeper by itself", findIn{Base: ".", Glob: "src/**/*.{ts,tsx}", Gitignore: true}, []string{"src/deep/c.ts", "src/deep/d.tsx"}, ""},
		{"from a directory, in the caller's words", findIn{Base: "src", Glob: "*.py"}, []string{"src/b.py"}, ""},
		{"from an absolute path", findIn{Base: dir + "/src", Glob: "*.py"}, []string{dir + "/src/b.py"}, ""},
		{"only directories", findIn{Base: ".", Glob: "d*", Type: "directory", Recursive: true, Gitignore: true}, []string{"docs", "src/deep"}, ""},
		{"only files", findIn{Base: ".", Glob: "*", Type: "file", Gitignore: true}, []string{".gitignore", "a.py"}, ""},
		{"what is ignored, when asked for", findIn{Base: ".", Glob: "*.o"}, []string{"a.o"}, ""},
		{"what is ignored, when not", findIn{Base: ".", Glob: "*.o", Gitignore: true}, []string{}, ""},
		{"a pattern that is none", findIn{Base: ".", Glob: "[a"}, nil, fault.ParamInvalid},
		{"outside", findIn{Base: "..", Glob: "*"}, nil, fault.OutsideAllowed},
		{"in a file", findIn{Base: "a.py", Glob: "*"}, nil, fault.ParamInvalid},
	} {
		c.in.MaxResults = 100
		out, err := r.find(context.Background(), c.in)
		is(t, c.what, err, c.code)
		if d := cmp.Diff(c.want, out.Paths); c.code == "" && d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

func TestFoundPathsComeInPartsThatLoseNothing(t *testing.T) {
	var fixture []string
	for i := range 30 {
		fixture = append(fixture, fmt.Sprintf("d%d/f%02d.txt=", i%3, i), fmt.Sprintf("d%d.x/g%02d.txt=", i%3, i))
	}
	r, _ := readerOf(t, fixture...)
	in := findIn{Base: ".", Glob: "*.txt", Recursive: true, MaxResults: 1000}
	all, err := r.find(context.Background(), in)
	if err != nil || len(all.Paths) != 60 {
		t.Fatal(err, len(all.Paths))
	}
	var got []string
	looked := 0
	for in.MaxResults = 7; ; {
		out, err := r.find(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		looked = out.Looked
		got = append(got, out.Paths...)
		if in.Cursor = out.NextCursor; in.Cursor == "" {
			break
		}
	}
	if d := cmp.Diff(all.Paths, got); d != "" {
		t.Error(d)
	}
	if looked > all.Looked/2 {
		t.Errorf("the last part looked at %d of %d entries", looked, all.Looked)
	}
}

func TestNothingFoundSaysWhatWasSearched(t *testing.T) {
	r, _ := readerOf(t, ".git/x=", ".gitignore=foo.log\n", "foo.log=", "foobar.txt=")
	out, err := r.find(context.Background(), findIn{Base: ".", Glob: "foo", Gitignore: true, MaxResults: 10})
	is(t, "finding", err, "")
	for _, part := range []string{`nothing matches "foo" among 2 entries`, "*foo*", "1 excluded by .gitignore"} {
		if !strings.Contains(out.Text(), part) {
			t.Errorf("%q is not in %q", part, out.Text())
		}
	}
}

func TestSearching(t *testing.T) {
	r, dir := readerOf(t, ".git/config=needle\n", ".gitignore=*.log\n",
		"a.txt=hay\nneedle one\nhay\n", "b.log=needle\n", "sub/c.txt=Needle two\r\nneedle three\r\n", "bin=needle\x00\x01\n",
		"utf16.txt=\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00", "link => a.txt")
	for _, c := range []struct {
		what string
		in   searchIn
		want []string
		code fault.Code
	}{
		{"in a directory", searchIn{Path: ".", Regex: "needle", Gitignore: true}, []string{"a.txt:2:needle one", "utf16.txt:1:needle"}, ""},
		{"and below", searchIn{Path: ".", Regex: "needle", Recursive: true, Gitignore: true}, []string{"a.txt:2:needle one", "sub/c.txt:2:needle three", "utf16.txt:1:needle"}, ""},
		{"in any case", searchIn{Path: "sub", Regex: "needle", FoldCase: true}, []string{"sub/c.txt:1:Needle two", "sub/c.txt:2:needle three"}, ""},
		{"in a file, though it is ignored", searchIn{Path: "b.log", Regex: "needle", Gitignore: true}, []string{"b.log:1:needle"}, ""},
		{"by an absolute path", searchIn{Path: dir + "/a.txt", Regex: "^needle"}, []string{dir + "/a.txt:2:needle one"}, ""},
		{"in some files", searchIn{Path: ".", Regex: "needle", Recursive: true, Glob: "sub/*", Gitignore: true}, []string{"sub/c.txt:2:needle three"}, ""},
		{"ignored ones, when asked for", searchIn{Path: ".", Regex: "needle", Glob: "*.log"}, []string{"b.log:1:needle"}, ""},
		{"plain text", searchIn{Path: "a.txt", Regex: "n.edle", Fixed: true}, []string{}, ""},
		{"the end of a line that ends in CRLF", searchIn{Path: "sub", Regex: "three$"}, []string{"sub/c.txt:2:needle three"}, ""},
		{"names of files only", searchIn{Path: ".", Regex: "needle", Recursive: true, Gitignore: true, Output: "files"}, []string{"a.txt", "sub/c.txt", "utf16.txt"}, ""},
		{"counts only", searchIn{Path: ".", Regex: "needle", Recursive: true, Gitignore: true, Output: "count"}, []string{}, ""},
		{"a pattern that is none", searchIn{Path: ".", Regex: "(", Gitignore: true}, nil, fault.ParamInvalid},
		{"a lookahead, which RE2 has not", searchIn{Path: ".", Regex: "(?=x)"}, nil, fault.ParamInvalid},
		{"outside", searchIn{Path: "/", Regex: "root"}, nil, fault.OutsideAllowed},
		{"what is not there", searchIn{Path: "nothing", Regex: "x"}, nil, fault.NotFound},
		{"through a link", searchIn{Path: "link", Regex: "x"}, nil, fault.Forbidden},
	} {
		c.in.MaxResults = 100
		if c.in.Output == "" {
			c.in.Output = "lines"
		}
		out, err := r.search(context.Background(), c.in)
		is(t, c.what, err, c.code)
		if d := cmp.Diff(c.want, out.Matches); c.code == "" && d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

func TestASearchCountsWhatItLeftOut(t *testing.T) {
	r, _ := readerOf(t, ".git/x=", ".gitignore=*.log\n", "a.txt=needle\nneedle\n", "b.log=needle", "bin=\x00needle", "link => a.txt", "c.txt=hay")
	out, err := r.search(context.Background(), searchIn{Path: ".", Regex: "needle", Recursive: true, Gitignore: true, Output: "count", MaxResults: 1})
	is(t, "searching", err, "")
	if out.Lines != 2 || out.Files != 1 || out.Searched != 3 || out.Cut {
		t.Errorf("%d lines in %d of %d files, cut %t", out.Lines, out.Files, out.Searched, out.Cut)
	}
	if d := cmp.Diff(counts{"binary": 1, "ignored": 1, "links": 1}, out.Skipped); d != "" {
		t.Error(d)
	}
}

func TestTheHintToLookDeeperIsOnlyForADirectoryThatWasNotWalked(t *testing.T) {
	r, _ := readerOf(t, "a.txt=hay", "b.txt=hay", "c.txt=hay", "sub/d.txt=needle")
	for _, c := range []struct {
		what string
		in   searchIn
		hint bool
	}{
		{"a directory without what is beneath", searchIn{Path: "."}, true},
		{"the same with a match", searchIn{Path: ".", Regex: "hay"}, false},
		{"a directory and what is beneath", searchIn{Path: ".", Recursive: true, Glob: "a*"}, false},
		{"a file", searchIn{Path: "a.txt"}, false},
	} {
		if c.in.Regex == "" {
			c.in.Regex = "needle"
		}
		c.in.MaxResults, c.in.Output = 10, "lines"
		out, err := r.search(context.Background(), c.in)
		is(t, c.what, err, "")
		if got := strings.Contains(out.Text(), "give recursive"); got != c.hint {
			t.Errorf("%s: hint is %t: %s", c.what, got, out.Text())
		}
	}
}

func TestContextLinesAndColumns(t *testing.T) {
	r, _ := readerOf(t, "a.txt=one\ntwo\n  three\nfour\nfive\n")
	out, err := r.search(context.Background(), searchIn{Path: "a.txt", Regex: "three", Context: 1, MaxResults: 10, Output: "lines"})
	is(t, "searching", err, "")
	want := []hit{{Path: "a.txt", Line: 3, Column: 3, Text: "  three", Before: []string{"two"}, After: []string{"four"}}}
	if d := cmp.Diff(want, out.Hits); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(out.Text(), "a.txt-2-two\na.txt:3:  three\na.txt-4-four\n--\n") {
		t.Errorf("the text is %q", out.Text())
	}
}

func TestMaxResultsCutsLinesAndSaysSo(t *testing.T) {
	r, _ := readerOf(t, "a.txt="+strings.Repeat("needle\n", 10), "b.txt="+strings.Repeat("needle\n", 10))
	for _, c := range []struct {
		max, want int
		cut       bool
	}{{5, 5, true}, {10, 10, true}, {15, 15, true}, {20, 20, false}, {100, 20, false}} {
		out, err := r.search(context.Background(), searchIn{Path: ".", Regex: "needle", MaxResults: c.max, Output: "lines"})
		is(t, "searching", err, "")
		if len(out.Matches) != c.want || out.Cut != c.cut {
			t.Errorf("max_results %d: %d lines, truncated %t", c.max, len(out.Matches), out.Cut)
		}
	}
}

func TestALongLineIsAWindowAroundItsMatch(t *testing.T) {
	r, _ := readerOf(t, "min.js="+strings.Repeat("x", 300_000)+"needle"+strings.Repeat("y", 300_000)+"\n")
	out, err := r.search(context.Background(), searchIn{Path: ".", Regex: "needle", MaxResults: 10, Output: "lines"})
	is(t, "searching", err, "")
	if len(out.Hits) != 1 || len(out.Hits[0].Text) > 2000 || !strings.Contains(out.Hits[0].Text, "needle") || out.Hits[0].Column != 300_001 {
		t.Errorf("hits: %.300v", out.Hits)
	}
}

func TestACancelledSearchStops(t *testing.T) {
	var fixture []string
	for i := range 50 {
		fixture = append(fixture, fmt.Sprintf("f%d.txt=hay", i))
	}
	r, _ := readerOf(t, fixture...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := r.search(ctx, searchIn{Path: ".", Regex: "x", Recursive: true, MaxResults: 1, Output: "lines"})
	is(t, "a search", err, fault.TimedOut)
	_, err = r.find(ctx, findIn{Base: ".", Glob: "x", Recursive: true, MaxResults: 1})
	is(t, "a walk", err, fault.TimedOut)
	_, err = r.list(ctx, listIn{Dir: ".", Sort: "name", Limit: 1})
	is(t, "a listing", err, fault.TimedOut)
}
