package walk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

// fixture makes a tree: "a/b" is a file, "a/" a directory, "a => b" a link and
// "a: text" a file with that text.
func fixture(t testing.TB, entries ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, e := range entries {
		name, target, link := strings.Cut(e, " => ")
		name, content, _ := strings.Cut(name, ": ")
		full := filepath.Join(dir, name)
		switch {
		case link:
			must(t, os.MkdirAll(filepath.Dir(full), 0o755))
			must(t, os.Symlink(target, full))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(full, 0o755))
		default:
			write(t, full, content)
		}
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// visited is what a walk sees: paths, those of directories with a slash, those
// of links with an @.
func visited(t *testing.T, root confine.Path, o walk.Options) ([]string, walk.Skipped) {
	t.Helper()
	seen := []string{}
	skipped, err := walk.All(t.Context(), root, o, nothing, func(f walk.File, _ bool) bool {
		mark := map[confine.Type]string{confine.Directory: "/", confine.Symlink: "@"}[f.Type]
		seen = append(seen, f.Rel()+mark)
		if f.Depth != 1+strings.Count(f.Rel(), "/") || f.Name != filepath.Base(f.Rel()) || f.Path().Base() != f.Name {
			t.Errorf("%+v", f)
		}
		return true
	})
	must(t, err)
	return seen, skipped
}

// nothing is the work of those who only want to see the entries.
func nothing(context.Context, walk.File) bool { return true }

func globs(t *testing.T, patterns ...string) []glob.Pattern {
	t.Helper()
	var out []glob.Pattern
	for _, s := range patterns {
		p, err := glob.Compile(s)
		must(t, err)
		out = append(out, p)
	}
	return out
}

func TestWhatIsVisited(t *testing.T) {
	all := walk.Options{Recursive: true, Gitignore: true, Hidden: true}
	for _, c := range []struct {
		what    string
		fixture []string
		o       walk.Options
		want    []string
		skipped walk.Skipped
	}{
		{"names in order, component by component", []string{"a/b", "a.txt", "a-b", "a/a", "B", "é"}, all,
			[]string{"B", "a/", "a/a", "a/b", "a-b", "a.txt", "é"}, walk.Skipped{}},
		{"only the directory itself unless more is asked for", []string{"a/b", "c"}, walk.Options{},
			[]string{"a/", "c"}, walk.Skipped{}},
		{"as many levels as are asked for", []string{"a/b/c/d"}, walk.Options{Recursive: true, MaxDepth: 2},
			[]string{"a/", "a/b/"}, walk.Skipped{}},
		{"no more than one level is asked for", []string{"a/b"}, walk.Options{Recursive: true, MaxDepth: 1},
			[]string{"a/"}, walk.Skipped{}},
		{"names with a dot only where that is asked for", []string{".a/b", ".c", "d"}, walk.Options{Recursive: true},
			[]string{"d"}, walk.Skipped{Hidden: 2}},
		{"links are seen and never followed", []string{"a/b", "l => a", "broken => nothing"}, all,
			[]string{"a/", "a/b", "broken@", "l@"}, walk.Skipped{}},
		{"what a glob excludes, with all in it", []string{"node_modules/x/y", "a/node_modules/z", "a/b.min.js", "c"}, walk.Options{Recursive: true, Exclude: globs(t, "**/node_modules", "a/*.min.js")},
			[]string{"a/", "c"}, walk.Skipped{Excluded: 3}},
		{"what git ignores, and .git", []string{".git/config", ".gitignore: *.o", "a.o", "a.c", "sub/b.o"}, all,
			[]string{".gitignore", "a.c", "sub/"}, walk.Skipped{Ignored: 2}},
		{"not where all is asked for", []string{".git/config", ".gitignore: *.o", "a.o"}, walk.Options{Recursive: true, Hidden: true},
			[]string{".git/", ".git/config", ".gitignore", "a.o"}, walk.Skipped{}},
		{"rules hold without any .git", []string{".gitignore: a", "a/b", "sub/a", "sub/c"}, all,
			[]string{".gitignore", "sub/", "sub/c"}, walk.Skipped{Ignored: 2}},
		{"rules of a hidden file hold too", []string{".gitignore: a", "a", "b"}, walk.Options{Gitignore: true},
			[]string{"b"}, walk.Skipped{Ignored: 1, Hidden: 1}},
		{"nearer rules win", []string{".gitignore: *.o", "sub/.gitignore: !keep.o", "sub/keep.o", "sub/x.o"}, all,
			[]string{".gitignore", "sub/", "sub/.gitignore", "sub/keep.o"}, walk.Skipped{Ignored: 1}},
		{"nothing comes back from an ignored directory", []string{".gitignore: out/\n!out/keep", "out/.gitignore: !keep", "out/keep"}, all,
			[]string{".gitignore"}, walk.Skipped{Ignored: 1}},
		{"a rule for directories spares a link to one", []string{".gitignore: l/", "d/", "l => d"}, all,
			[]string{".gitignore", "d/", "l@"}, walk.Skipped{}},
		{"the exclude file of the repository is weaker than .gitignore", []string{".git/info/exclude: *.o\n*.a", ".gitignore: !x.o", "x.o", "y.o", "z.a"}, all,
			[]string{".gitignore", "x.o"}, walk.Skipped{Ignored: 2}},
		{"a repository within another has rules of its own", []string{".git/", ".gitignore: *.o", "sub/.git/info/exclude: *.c", "sub/a.o", "sub/a.c", "work/.git: gitdir: x", "work/b.o"}, all,
			[]string{".gitignore", "sub/", "sub/a.o", "work/", "work/b.o"}, walk.Skipped{Ignored: 1}},
		{"a .gitignore that is a link is not read", []string{"rules: *", ".gitignore => rules", "a"}, all,
			[]string{".gitignore@", "a", "rules"}, walk.Skipped{}},
		{"a .gitignore that is a directory is one", []string{".gitignore/a", "b"}, all,
			[]string{".gitignore/", ".gitignore/a", "b"}, walk.Skipped{}},
		{"an empty directory", nil, all, []string{}, walk.Skipped{}},
	} {
		dir := fixture(t, c.fixture...)
		got, skipped := visited(t, parse(t, dir, "."), c.o)
		if diff := cmp.Diff(c.want, got); diff != "" || skipped != c.skipped {
			t.Errorf("%s: skipped %+v, want %+v (-want +got)\n%s", c.what, skipped, c.skipped, diff)
		}
	}
}

func TestRulesAboveTheDirectoryHoldInAWorkTree(t *testing.T) {
	for _, c := range []struct {
		what    string
		fixture []string
		want    []string
	}{
		{"all that are in it", []string{".git/info/exclude: *.x", ".gitignore: *.o\n/a/b/no", "a/.gitignore: /b/c\n!keep.o", "a/b/1.o", "a/b/1.x", "a/b/c", "a/b/no", "a/b/keep.o", "a/b/f"}, []string{"f", "keep.o"}},
		{"a .git that is a file will do", []string{".git: gitdir: x", ".gitignore: *.o", "a/b/1.o", "a/b/f"}, []string{"f"}},
		{"but none above it", []string{".gitignore: f", "a/.git/", "a/b/f"}, []string{"f"}},
		{"nor if it is the directory itself", []string{".git/", ".gitignore: f", "a/b/.git/", "a/b/f"}, []string{"f"}},
		{"and none without it", []string{".gitignore: f", "a/.gitignore: f", "a/b/f"}, []string{"f"}},
		{"an ignored directory that is named is walked", []string{".git/", ".gitignore: b/\n*.o", "a/b/f", "a/b/1.o"}, []string{"f"}},
	} {
		dir := fixture(t, c.fixture...)
		roots, err := confine.Open([]string{dir}, confine.Options{})
		must(t, err)
		p, err := roots.Parse("a/b")
		must(t, err)
		got, _ := visited(t, p, walk.Options{Recursive: true, Gitignore: true})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.what, diff)
		}
		must(t, roots.Close())
	}
}

func TestDeniedEntriesAreCounted(t *testing.T) {
	dir := fixture(t, "a/.env", "a/x.secret", "a/f", "private/a/b")
	got, skipped := visited(t, parseWith(t, dir, ".", confine.Options{DenySecrets: true, Deny: []string{"*.secret", "private"}}), walk.Options{Recursive: true, Hidden: true})
	if diff := cmp.Diff([]string{"a/", "a/f"}, got); diff != "" || skipped != (walk.Skipped{Denied: 3}) {
		t.Errorf("%+v\n%s", skipped, diff)
	}
}

// TestNoLinkIsFollowed allows links within, as an operator may.
func TestNoLinkIsFollowed(t *testing.T) {
	dir := fixture(t, "rules: *", ".gitignore => rules", "d/e", "l => d", "self => .")
	got, skipped := visited(t, parseWith(t, dir, ".", confine.Options{Symlinks: confine.Within}), walk.Options{Recursive: true, Hidden: true, Gitignore: true})
	if diff := cmp.Diff([]string{".gitignore@", "d/", "d/e", "l@", "rules", "self@"}, got); diff != "" || skipped != (walk.Skipped{}) {
		t.Errorf("%+v\n%s", skipped, diff)
	}
}

func TestAWalkStopsWhereItIsTold(t *testing.T) {
	dir := fixture(t, "a/1", "a/2", "b/1", "b/2", "c")
	var seen []string
	_, err := walk.All(t.Context(), parse(t, dir, "."), walk.Options{Recursive: true}, nothing, func(f walk.File, _ bool) bool {
		seen = append(seen, f.Rel())
		return f.Rel() != "a/1"
	})
	if got := strings.Join(seen, " "); got != "a a/1" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWhatCannotBeListedIsCounted(t *testing.T) {
	dir := fixture(t, "a", "b/1", "c/1", "d/1", "e")
	var seen []string
	skipped, err := walk.All(t.Context(), parse(t, dir, "."), walk.Options{Recursive: true, Workers: 1}, func(_ context.Context, f walk.File) bool {
		seen = append(seen, f.Rel())
		if f.Rel() == "a" { // what was listed as directories changes
			must(t, os.RemoveAll(filepath.Join(dir, "b")))
			must(t, os.RemoveAll(filepath.Join(dir, "c")))
			must(t, os.Symlink("/", filepath.Join(dir, "c")))
		}
		return true
	}, func(walk.File, bool) bool { return true })
	if err != nil || skipped != (walk.Skipped{Unreadable: 2}) {
		t.Errorf("%v, %+v", err, skipped)
	}
	if got := strings.Join(seen, " "); got != "a b c d d/1 e" {
		t.Error(got)
	}
}

func TestARootThatCannotBeListedIsAnError(t *testing.T) {
	dir := fixture(t, "file")
	for name, want := range map[string]fault.Code{"file": fault.ParamInvalid, "nothing": fault.NotFound} {
		_, err := walk.All[bool](t.Context(), parse(t, dir, name), walk.Options{}, nil, nil)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAWalkEndsWithItsContext(t *testing.T) {
	dir := fixture(t, "a", "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := walk.All(ctx, parse(t, dir, "."), walk.Options{}, nothing, func(walk.File, bool) bool {
		n++
		cancel()
		return true
	})
	if n != 1 || !errors.Is(err, context.Canceled) || !errors.Is(err, fault.TimedOut) {
		t.Errorf("%d visits, %v", n, err)
	}
}

// TestDeepTrees goes far below the number of directories that are held open,
// and comes back to entries of each.
func TestDeepTrees(t *testing.T) {
	const depth = 150
	dir := t.TempDir()
	var want []string
	deep, rel := dir, ""
	for range depth {
		must(t, os.WriteFile(filepath.Join(deep, "a"), nil, 0o644))
		must(t, os.WriteFile(filepath.Join(deep, "z"), nil, 0o644))
		deep = filepath.Join(deep, "d")
		must(t, os.Mkdir(deep, 0o755))
		want = append(want, rel+"a", rel+"d/", rel+"z")
		rel += "d/"
	}
	inOrder(want)
	before, most := openFiles(), 0
	got := []string{}
	_, err := walk.All(t.Context(), parse(t, dir, "."), walk.Options{Recursive: true, Workers: 1}, func(_ context.Context, f walk.File) bool {
		most = max(most, openFiles()-before)
		if f.Type == confine.Directory {
			got = append(got, f.Rel()+"/")
			return true
		}
		got = append(got, f.Rel())
		file, _, err := f.Open()
		if err == nil {
			err = file.Close()
		}
		must(t, err)
		return true
	}, func(walk.File, bool) bool { return true })
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if most > 40 {
		t.Errorf("%d directories were open at a time", most)
	}
	if left := openFiles() - before; left > 1 { // the allowed directory
		t.Errorf("%d were left open", left)
	}
}

// inOrder sorts paths component by component.
func inOrder(paths []string) {
	slices.SortFunc(paths, func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
}

// openFiles counts the descriptors of this process; 0 where that is not known.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
