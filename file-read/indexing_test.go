package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/index"
	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/confine"
)

// indexed is a second server of the same directories, with an index.
func indexed(t *testing.T, r *reader, now func() time.Time) *reader {
	t.Helper()
	x, err := newIndexing(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if now != nil {
		x.now = now
	}
	if err := x.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.close() })
	with := *r
	with.indexing = x
	return &with
}

// later is a clock by which all files were written long ago.
func later() time.Time { return time.Now().Add(time.Hour) }

var indexedSearches = []searchIn{
	{Regex: "needle"},
	{Regex: "NEEDLE", FoldCase: true},
	{Regex: "needle|absent|zebra"},
	{Regex: "absent"},
	{Regex: "straße"},
	{Regex: `n\w+le`},
	{Regex: "ne"},
	{Regex: ""},
	{Regex: "first\nsecond", Multiline: true},
	{Regex: "absent(?s:.)*x", Multiline: true},
	{Regex: "needle", Glob: "*.txt"},
	{Regex: "maſk", FoldCase: true},
	{Regex: "ab\uFFFDcd"},
}

// sameAnswers wants the same of one search with and without an index.
func sameAnswers(t *testing.T, what string, with, without *reader, in searchIn) {
	t.Helper()
	want, err := without.search(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := with.search(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(searchOut{})); diff != "" {
		t.Errorf("%s, %q (-without an index +with one):\n%s", what, in.Regex, diff)
	}
}

// compare searches with and without an index and wants the same answers.
func compare(t *testing.T, what string, with, without *reader) {
	t.Helper()
	for i, in := range indexedSearches {
		in.Path, in.Recursive, in.MaxResults = ".", true, 10_000
		in.Output, in.Gitignore = []string{"lines", "files", "count"}[i%3], i%2 == 0
		sameAnswers(t, what, with, without, in)
	}
}

// spared counts the files under dir that a search for text would not open.
func spared(t *testing.T, x *indexing, dir, text string) (n int) {
	t.Helper()
	x.running.Wait()
	v := x.index.View(index.NewQuery([]byte(text)))
	defer v.End()
	roots, err := confine.Open([]string{dir}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		p, err := roots.Parse(name)
		if err != nil {
			return err
		}
		info, err := p.Stat()
		if err != nil {
			return err
		}
		if got := v.File(info.Stamp); got == index.Never || got == index.NeverABinary {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// local ends the test where nothing is known of the file system.
func local(t *testing.T, dir string) {
	t.Helper()
	roots, err := confine.Open([]string{dir}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	p, err := roots.Parse(".")
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.OpenDir()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !d.Local() {
		t.Skip("nothing in this file system is indexed")
	}
}

func TestASecondSearchAnswersTheSameFromMemory(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	files := 0
	filler := strings.Repeat("some line of text\n", 8000)
	for name, content := range map[string]string{
		"a/text.txt":    "one needle\nfirst\r\nsecond\nstraße\n",
		"a/other.txt":   "nothing here\n",
		"a/masks":       "MASK mas\u212A\n",
		"a/broken":      "ab\xffcd ab\uFFFDcd\n",
		"a/empty":       "",
		"a/binary":      "needle\x00needle",
		"a/late-nul":    filler + "needle\n\x00 needle",
		"a/late-nul-2":  filler + "\x00 needle",
		"a/utf16":       "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00",
		"a/latin1":      "stra\xdfe needle gr\xfc\xdfe\n",
		"a/bom":         "\xEF\xBB\xBFneedle\n",
		"b/.gitignore":  "*.log\n",
		"b/ignored.log": "needle\n",
		"b/.hidden":     "needle\n",
		"c/d/e/f/g":     "deep needle",
		"c/crlf":        "absent\r\n\r\nx\r\n",
	} {
		write(t, filepath.Join(base, name), content)
		files++
	}
	with := indexed(t, r, later)
	compare(t, "before", with, r)
	// A search that is quick to follow another finds that one's indexing still running and starts none of its own.
	with.indexing.running.Wait()
	if _, err := with.search(t.Context(), searchIn{Path: ".", Recursive: true, Regex: "absent", MaxResults: 1}); err != nil {
		t.Fatal(err)
	}
	if got := spared(t, with.indexing, base, "zebra"); got != files {
		t.Fatalf("%d of %d files are spared", got, files)
	}
	compare(t, "after", with, r)
	in := searchIn{Path: ".", Recursive: true, Regex: "zebra", Output: "count"}
	s, err := (&reader{maxBytes: 1000}).newSearch(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := with.scope.Parse(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if err := with.searchDirectory(t.Context(), s, p, in); err != nil || s.unknown > 0 || s.looked < 15 {
		t.Errorf("of %d files, %d are unknown: %v", s.looked, s.unknown, err)
	}
}

func TestAFileTooLargeToBeSearchedIsToldSoFromMemoryToo(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	write(t, filepath.Join(base, "large"), strings.Repeat(strings.Repeat("a", 1023)+"\n", match.MaxSpan>>10+1))
	with := indexed(t, r, later)
	p, err := r.scope.Parse(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	info, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var nothing index.Sketch
	nothing.Begin(0)
	if got := with.indexing.index.AddFile(info.Stamp, later(), index.Text, &nothing); got != index.Taken {
		t.Fatal(got)
	}
	in := searchIn{Path: ".", Recursive: true, Regex: "zebra(?s:.)zebra", Multiline: true, Output: "count"}
	for _, when := range []string{"before", "after"} {
		got, err := with.search(t.Context(), in)
		if err != nil || got.Skipped["tooLarge"] != 1 || got.Searched != 0 {
			t.Errorf("%s: %+v, %v", when, got, err)
		}
		if n := spared(t, with.indexing, base, "zebra"); n != 1 {
			t.Errorf("%s: %d files are spared for others", when, n)
		}
	}
}

// TestAnIndexChangesNoAnswer changes a tree in all ways that leave as little trace as
// can be, by the real clock.
func TestAnIndexChangesNoAnswer(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	with := indexed(t, r, nil)
	rnd := rand.New(rand.NewPCG(7, 7))
	name := func() string {
		return filepath.Join(base, fmt.Sprintf("d%d/e%d/f%d.txt", rnd.IntN(3), rnd.IntN(3), rnd.IntN(6)))
	}
	words := []string{"needle", "absent", "zebra ", "plain ", "nedlee"} // of one length
	content := func() string { return "the " + words[rnd.IntN(len(words))] + " line\n" }
	for range 60 {
		write(t, name(), content())
	}
	past := time.Now().Add(-time.Hour)
	changes := map[string]func(){
		"written anew, as long as before": func() { write(t, name(), content()) },
		"written in place, times set back": func() {
			n := name()
			if f, err := os.OpenFile(n, os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString(content())
				_ = f.Close()
				_ = os.Chtimes(n, past, past)
			}
		},
		"renamed over":      func() { _ = os.Rename(name(), name()) },
		"removed":           func() { _ = os.Remove(name()) },
		"removed, and anew": func() { n := name(); _ = os.Remove(n); write(t, n, content()) },
		"a directory moved": func() { _ = os.Rename(filepath.Dir(name()), filepath.Join(base, fmt.Sprint("moved", rnd.IntN(100)))) },
		"a directory gone":  func() { _ = os.RemoveAll(filepath.Dir(name())) },
		"ignored from now": func() {
			write(t, filepath.Join(filepath.Dir(name()), ".gitignore"), fmt.Sprintf("f%d.txt\n", rnd.IntN(6)))
		},
		"no longer a file":   func() { n := name(); _ = os.Remove(n); _ = os.Symlink("elsewhere", n) },
		"longer by a line":   func() { write(t, name(), content()+content()) },
		"made a binary":      func() { write(t, name(), "needle\x00") },
		"a link to the same": func() { _ = os.Link(name(), name()) },
	}
	sparing := 0
	for range 2 {
		compare(t, "new", with, r)
		time.Sleep(2100 * time.Millisecond) // until the files count as settled
		compare(t, "settled", with, r)
		sparing += spared(t, with.indexing, base, "xyzzy")
		for range 3 {
			for what, change := range changes {
				change()
				change()
				in := searchIn{Path: ".", Recursive: true, Regex: "needle", Output: "lines", MaxResults: 1000, Gitignore: true}
				sameAnswers(t, what, with, r, in)
			}
		}
	}
	if sparing < 20 {
		t.Errorf("the index spared %d files only", sparing)
	}
}

func TestFillingWaitsForSearchesAndEndsWithTheServer(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	for i := range 20 {
		write(t, filepath.Join(base, fmt.Sprint(i)), "text")
	}
	with := indexed(t, r, later)
	x := with.indexing
	pattern, err := match.Compile("zebra", match.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := searchIn{Path: ".", Recursive: true, Regex: "text", Output: "count"}
	_, done := x.view(pattern) // a search that takes long
	if _, err := with.search(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * pause)
	if n := x.index.Size(); n > 0 {
		t.Errorf("%d bytes were taken in during a search", n)
	}
	if !x.filling {
		t.Error("nothing waits for its end")
	}
	done()
	if got := spared(t, x, base, "zebra"); got < 20 {
		t.Errorf("%d files are spared", got)
	}
	_, done = x.view(pattern)
	write(t, filepath.Join(base, "more"), "text")
	if _, err := with.search(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := x.close(); err != nil { // it comes back, though the search does not end
		t.Fatal(err)
	}
	done()
	if _, err := with.search(t.Context(), in); err != nil || x.filling {
		t.Errorf("a search after the end fills the index, or fails: %v", err)
	}
}

func TestSearchesFillingAndChangesGoTogether(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	const files = 40
	for i := range files {
		write(t, filepath.Join(base, fmt.Sprintf("d%d/f%d", i%4, i)), fmt.Sprintf("always number-%d\n", i))
	}
	with := indexed(t, r, later)
	ctx, cancel := context.WithCancel(t.Context())
	var changing, searching sync.WaitGroup
	changing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			write(t, filepath.Join(base, fmt.Sprintf("d%d/more%d", i%4, i%9)), "sometimes\n")
			time.Sleep(time.Millisecond)
		}
	})
	for range 3 {
		searching.Go(func() {
			for i := range 25 {
				got, err := with.search(ctx, searchIn{Path: ".", Recursive: true, Regex: fmt.Sprintf("number-%d$", i), Output: "files"})
				if err != nil || len(got.Matches) != 1 {
					t.Errorf("number-%d is in %q: %v", i, got.Matches, err)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	searching.Wait()
	cancel()
	changing.Wait()
	if got := spared(t, with.indexing, base, "zebra"); got == 0 {
		t.Error("nothing was filled")
	}
}

func TestATreeThatDoesNotFitIsSearchedAllTheSame(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	noise := make([]byte, 30_000)
	rnd := rand.New(rand.NewPCG(3, 3))
	for i := range noise {
		noise[i] = byte('!' + rnd.IntN(90))
	}
	for i := range 40 {
		write(t, filepath.Join(base, fmt.Sprint(i)), string(noise)+"needle")
	}
	with := indexed(t, r, later)
	with.indexing.index = index.New(400 << 10)
	in := searchIn{Path: ".", Recursive: true, Regex: "needle", Output: "count"}
	for range 3 {
		got, err := with.search(t.Context(), in)
		if err != nil || got.Files != 40 || got.Searched != 40 {
			t.Fatalf("%+v, %v", got, err)
		}
		with.indexing.running.Wait()
	}
	if with.indexing.full == "" || with.indexing.asked == 0 {
		t.Error("it fits after all, or is tried every time")
	}
	if n := spared(t, with.indexing, base, "zebra"); n == 0 || n == 40 || with.indexing.index.Size() > 700<<10 {
		t.Errorf("%d files are spared, for %d bytes", n, with.indexing.index.Size())
	}
}

func TestOnlyWhatASearchReadIsReadForTheIndex(t *testing.T) {
	r, base := readerOf(t)
	local(t, base)
	write(t, filepath.Join(base, "a.txt"), "text")
	write(t, filepath.Join(base, "b.log"), "text")
	with := indexed(t, r, later)
	for _, c := range []struct {
		glob string
		want int
	}{{"*.txt", 1}, {"", 2}} {
		in := searchIn{Path: ".", Recursive: true, Regex: "text", Glob: c.glob, Output: "count"}
		if _, err := with.search(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n := spared(t, with.indexing, base, "zebra"); n != c.want {
			t.Errorf("after a search of %q, %d files are known", c.glob, n)
		}
	}
}
