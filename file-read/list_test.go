package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/fault"
)

func names(entries []entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

func TestListing(t *testing.T) {
	r, dir := readerOf(t, "b.txt=22", "a.txt=1", ".hidden=", "sub/", "sub/inner=x", "broken => nowhere")
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "b.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		in   listIn
		want []string
		code fault.Code
	}{
		{"by name", listIn{Dir: ".", Hidden: true, Sort: "name"}, []string{".hidden", "a.txt", "b.txt", "broken", "sub"}, ""},
		{"without hidden ones", listIn{Dir: ".", Sort: "name"}, []string{"a.txt", "b.txt", "broken", "sub"}, ""},
		{"by a pattern", listIn{Dir: ".", Pattern: "*.txt", Sort: "name"}, []string{"a.txt", "b.txt"}, ""},
		{"largest file first", listIn{Dir: ".", Pattern: "*.txt", Sort: "size"}, []string{"b.txt", "a.txt"}, ""},
		{"newest first", listIn{Dir: ".", Pattern: "*.txt", Sort: "modified"}, []string{"a.txt", "b.txt"}, ""},
		{"a pattern that is none", listIn{Dir: ".", Pattern: "[", Sort: "name"}, nil, fault.ParamInvalid},
		{"a file", listIn{Dir: "a.txt", Sort: "name"}, nil, fault.ParamInvalid},
		{"what is not there", listIn{Dir: "nothing", Sort: "name"}, nil, fault.NotFound},
		{"a link to a directory", listIn{Dir: "broken", Sort: "name"}, nil, fault.Forbidden},
		{"a cursor that is none", listIn{Dir: ".", Sort: "name", Cursor: "!"}, nil, fault.ParamInvalid},
		{"a cursor of another order", listIn{Dir: ".", Sort: "name", Cursor: "c2l6ZS8wL2E"}, nil, fault.ParamInvalid},
	} {
		c.in.Limit = 100
		out, err := r.list(context.Background(), c.in)
		is(t, c.what, err, c.code)
		if d := cmp.Diff(c.want, names(out.Entries)); c.code == "" && d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

func TestEveryEntryIsListedAsWhatItIs(t *testing.T) {
	r, _ := readerOf(t, "a.txt=12345", "sub/", "broken => nowhere")
	out, err := r.list(context.Background(), listIn{Dir: ".", Hidden: true, Sort: "name", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range out.Entries {
		if _, err := time.Parse(time.RFC3339, e.Modified); err != nil {
			t.Errorf("%s was modified %q", e.Name, e.Modified)
		}
		got = append(got, fmt.Sprintf("%s %s %d", e.Name, e.Type, e.Size))
	}
	if d := cmp.Diff([]string{"a.txt file 5", "broken symlink 0", "sub directory 0"}, got); d != "" {
		t.Error(d)
	}
}

func TestPagesAreTheWholeInEveryOrderEvenIfTheDirectoryChanges(t *testing.T) {
	for _, by := range []string{"name", "size", "modified"} {
		var fixture, want []string
		for i := range 25 {
			fixture = append(fixture, fmt.Sprintf("f%02d=%s", i, strings.Repeat("x", i%4)))
		}
		r, dir := readerOf(t, fixture...)
		all, err := r.list(context.Background(), listIn{Dir: ".", Sort: by, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		want = names(all.Entries)
		var got []string
		in := listIn{Dir: ".", Sort: by, Limit: 10}
		for page := 0; ; page++ {
			out, err := r.list(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, names(out.Entries)...)
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
			// the last entry of this page vanishes; the next page starts behind it all the same
			if err := os.Remove(filepath.Join(dir, got[len(got)-1])); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by %s: %s", by, d)
		}
	}
}

func TestANameCannotForgeALine(t *testing.T) {
	r, _ := readerOf(t, "a\nfake.txt  5=", "\x1b[2Jx=", "\u202egnp.exe=")
	out, err := r.list(context.Background(), listIn{Dir: ".", Sort: "name", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	text := out.Text()
	if strings.Count(text, "\n") != 3 || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("the text is %q", text)
	}
	if out.Entries[1].Name != "a\nfake.txt  5" && out.Entries[0].Name != "a\nfake.txt  5" {
		t.Errorf("the structured name is not the file system's: %q", names(out.Entries))
	}
}

func TestTree(t *testing.T) {
	r, _ := readerOf(t, ".git/HEAD=x", ".gitignore=out/\n", "out/o=", "src/a/deep.go=", "src/b.go=", "node_modules/m/index.js=", "link => src")
	for _, c := range []struct {
		what string
		in   treeIn
		want string
	}{
		{"all that is not ignored", treeIn{Path: ".", MaxDepth: 9, Limit: 99, Gitignore: true}, "./\n  .gitignore\n  link [symlink]\n  node_modules/\n    m/\n      index.js\n  src/\n    a/\n      deep.go\n    b.go\n"},
		{"some levels", treeIn{Path: ".", MaxDepth: 1, Limit: 99, Gitignore: true}, "./\n  .gitignore\n  link [symlink]\n  node_modules/\n  src/\n"},
		{"without what is excluded", treeIn{Path: ".", MaxDepth: 9, Limit: 99, Gitignore: true, Exclude: []string{"node_modules", "*.go"}}, "./\n  .gitignore\n  link [symlink]\n  src/\n    a/\n"},
		{"so many entries", treeIn{Path: ".", MaxDepth: 9, Limit: 2, Gitignore: true}, "./\n  .gitignore\n  link [symlink]\n"},
	} {
		out, err := r.tree(context.Background(), c.in)
		is(t, c.what, err, "")
		if d := cmp.Diff(c.want, out.Tree); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
		if out.Truncated != (c.in.Limit == 2) {
			t.Errorf("%s: truncated is %t", c.what, out.Truncated)
		}
	}
}

func TestInfo(t *testing.T) {
	r, dir := readerOf(t, "a.txt=one\r\ntwo", "b.bin=\x00\x01\x02", "sub/")
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	out, err := r.info(context.Background(), infoIn{"a.txt"})
	is(t, "a text", err, "")
	lines := int64(2)
	want := infoOut{Path: "a.txt", Type: "file", Size: 8, Mode: "0640", Links: 1, MIMEType: "text/plain", Encoding: "utf-8", LineEnding: "crlf", Lines: &lines}
	out.Modified, out.Accessed, out.Changed, out.Created = "", "", "", ""
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	out, err = r.info(context.Background(), infoIn{"b.bin"})
	is(t, "a binary", err, "")
	if out.Encoding != "" || out.MIMEType == "" || out.Lines != nil {
		t.Errorf("a binary is described as %+v", out)
	}
	out, err = r.info(context.Background(), infoIn{"sub"})
	is(t, "a directory", err, "")
	if out.Type != "directory" {
		t.Errorf("a directory is described as %+v", out)
	}
}
