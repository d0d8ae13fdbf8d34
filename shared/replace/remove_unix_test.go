//go:build linux || darwin

package replace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

var within = confine.Options{Symlinks: confine.Within}

// shows is a look that writes down what it was shown.
func shows(seen *[]string) func(*os.File, confine.Info) error {
	return func(f *os.File, info confine.Info) error {
		b, err := io.ReadAll(f)
		if err == nil && int64(len(b)) != info.Size {
			err = fmt.Errorf("%d bytes of %d", len(b), info.Size)
		}
		*seen = append(*seen, string(b))
		return err
	}
}

// snapshot is every name below dir with what it is, what it holds and which file it is.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type().IsRegular():
			text = content(name)
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(name)
		}
		fmt.Fprintln(&all, strings.TrimPrefix(name, dir), st.Ino, d.Type(), text)
		return err
	}))
	return all.String()
}

func TestAFileIsRemovedAfterItWasShown(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		for what, c := range map[string]struct {
			o    confine.Options
			name string
			tree []string
		}{
			"a file":                         {confine.Options{}, "a/f", []string{"allow/a/f: text"}},
			"a file, through a link to a":    {within, "l/f", []string{"allow/a/f: text", "allow/l => a"}},
			"a file with another name":       {confine.Options{}, "a/f", []string{"allow/a/f: text"}},
			"an exception of what is secret": {confine.Options{DenySecrets: true}, ".env.example", []string{"allow/.env.example: text"}},
		} {
			base := fixture(t, c.tree...)
			if what == "a file with another name" {
				must(t, os.Link(base+"/allow/a/f", base+"/allow/g"))
			}
			var seen []string
			err := w.Remove(background, path(t, roots(t, base+"/allow", c.o), c.name), shows(&seen))
			if left := strings.Count(snapshot(t, base+"/allow"), "text"); err != nil || fmt.Sprint(seen) != "[text]" || left > 0 && what != "a file with another name" {
				t.Errorf("%s: %v, shown %q, left:\n%s", what, err, seen, snapshot(t, base+"/allow"))
			}
			noDrafts(t, base)
		}
	})
}

func TestWhatIsNotAFileThatMayGoStays(t *testing.T) {
	gone, cancel := context.WithCancel(background)
	cancel()
	deny := confine.Options{Symlinks: confine.Within, Deny: []string{"a/denied"}}
	for _, c := range []struct {
		what string
		tree []string
		o    confine.Options
		name string
		want fault.Code
	}{
		{"a missing file", nil, confine.Options{}, "f", fault.NotFound},
		{"a missing directory", nil, confine.Options{}, "a/f", fault.NotFound},
		{"the allowed directory", nil, confine.Options{}, ".", fault.ParamInvalid},
		{"a directory", []string{"allow/a/"}, confine.Options{}, "a", fault.ParamInvalid},
		{"a link", []string{"allow/f: x", "allow/l => f"}, confine.Options{}, "l", fault.Forbidden},
		{"a link, followed elsewhere", []string{"allow/f: x", "allow/l => f"}, within, "l", fault.Forbidden},
		{"a link out", []string{"allow/l => ../out/secret"}, within, "l", fault.Forbidden},
		{"a link to nothing", []string{"allow/l => nothing"}, within, "l", fault.Forbidden},
		{"a link on the way", []string{"allow/a/f: x", "allow/l => a"}, confine.Options{}, "l/f", fault.Forbidden},
		{"a link out on the way", []string{"allow/l => ../out"}, within, "l/secret", fault.OutsideAllowed},
		{"a denied file, by a link on the way", []string{"allow/a/denied: x", "allow/l => a"}, deny, "l/denied", fault.OutsideAllowed},
		{"a pipe", []string{"allow/a/"}, confine.Options{}, "pipe", fault.ParamInvalid},
		{"a read-only file", []string{"allow/read-only: x"}, confine.Options{}, "read-only", fault.PermissionDenied},
		{"what a rule refuses", []string{"allow/ruled: x"}, confine.Options{}, "ruled", fault.Forbidden},
		{"what its reader refuses", []string{"allow/wanted: x"}, confine.Options{}, "wanted", fault.DiskFull},
		{"after the call has ended", []string{"allow/f: x"}, confine.Options{}, "f", fault.TimedOut},
	} {
		base := fixture(t, c.tree...)
		switch c.name {
		case "pipe":
			must(t, unix.Mkfifo(base+"/allow/pipe", 0o644))
		case "read-only":
			must(t, os.Chmod(base+"/allow/read-only", 0o444))
		}
		before := snapshot(t, base)
		ctx := background
		if c.want == fault.TimedOut {
			ctx = gone
		}
		w := replace.New(replace.Rules{Entry: func(p confine.Path) error {
			if p.Base() == "ruled" {
				return refusal
			}
			return nil
		}})
		err := w.Remove(ctx, path(t, roots(t, base+"/allow", c.o), c.name), func(*os.File, confine.Info) error {
			if c.name == "wanted" {
				return fault.New(fault.DiskFull, "no room to keep it", "")
			}
			return nil
		})
		if !errors.Is(err, c.want) || detail(err, "path") == nil {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
		if after := snapshot(t, base); after != before {
			t.Errorf("%s: before\n%safter\n%s", c.what, before, after)
		}
	}
}

// What another program does to the file while it is being removed.
func TestRemoveSeesWhatAnotherProgramDidMeanwhile(t *testing.T) {
	for _, c := range []struct {
		what  string
		at    replace.Step
		do    func(dir string) error
		want  any // what was shown, or a code
		after string
	}{
		{"it was replaced", replace.BeforeSwap, func(dir string) error { return replaced(dir, "theirs") }, "[old theirs]", ""},
		{"it was written in place", replace.BeforeSwap, func(dir string) error { return os.WriteFile(dir+"/f", []byte("theirs"), 0) }, "[old theirs]", ""},
		{"it was written in place, with the same length", replace.BeforeSwap, func(dir string) error { return os.WriteFile(dir+"/f", []byte("OLD"), 0) }, "[old OLD]", ""},
		{"it was removed", replace.BeforeSwap, func(dir string) error { return os.Remove(dir + "/f") }, fault.NotFound, ""},
		{"it became a directory", replace.BeforeSwap, func(dir string) error {
			return errors.Join(os.Remove(dir+"/f"), os.Mkdir(dir+"/f", 0o755))
		}, fault.ParamInvalid, "f"},
		{"it became a link out", replace.BeforeSwap, func(dir string) error {
			return errors.Join(os.Remove(dir+"/f"), os.Symlink("../out/secret", dir+"/f"))
		}, fault.Forbidden, "f"},
		{"there was a new one at once", replace.AfterSwap, func(dir string) error { return replaced(dir, "theirs") }, "[old]", "f"},
	} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			for _, o := range []confine.Options{{}, within} {
				base := fixture(t, "allow/f: old")
				times := 0
				w.When(c.at, func() {
					if times++; times == 1 {
						must(t, c.do(base+"/allow"))
					}
				})
				var seen []string
				err := w.Remove(background, path(t, roots(t, base+"/allow", o), "f"), shows(&seen))
				if code, refused := c.want.(fault.Code); refused && !errors.Is(err, code) || !refused && (err != nil || fmt.Sprint(seen) != c.want) {
					t.Errorf("%s: %v, shown %q, want %v", c.what, err, seen, c.want)
				}
				if names(t, base+"/allow") != c.after || times == 0 {
					t.Errorf("%s: left %q after %d steps", c.what, names(t, base+"/allow"), times)
				}
			}
		})
	}
}

// Another's version was taken out, and by then there is a third under the name.
func TestWhatCannotBePutBackStaysBesideTheFile(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base, p := only(t, "f", "allow/f: old")
		step := 0
		w.When(replace.BeforeSwap, func() { must(t, replaced(base+"/allow", "second")) })
		w.When(replace.AfterSwap, func() {
			step++
			must(t, os.WriteFile(base+"/allow/f", []byte("third"), 0o644))
		})
		var seen []string
		err := w.Remove(background, p, shows(&seen))
		kept, _ := detail(err, "kept_as").(string)
		if !errors.Is(err, fault.Unavailable) || content(base+"/allow/"+kept) != "second" || content(base+"/allow/f") != "third" || step != 1 {
			t.Errorf("%v, shown %q, kept %q, after %d steps: %s", err, seen, kept, step, snapshot(t, base+"/allow"))
		}
		noDrafts(t, base)
	})
}

func TestAFileThatIsAnotherEveryTimeIsNotRemoved(t *testing.T) {
	base, p := only(t, "f", "allow/f: 0")
	var w replace.Writer
	n := 0
	w.When(replace.BeforeSwap, func() {
		n++
		must(t, replaced(base+"/allow", fmt.Sprint(n)))
	})
	var seen []string
	err := w.Remove(background, p, shows(&seen))
	if !errors.Is(err, fault.Unavailable) || content(base+"/allow/f") != fmt.Sprint(n) || len(seen) != n || n < 2 {
		t.Errorf("%v after %d tries, shown %q; the file holds %q", err, n, seen, content(base+"/allow/f"))
	}
	noDrafts(t, base)
}

func counts(seen *replace.Tree) func(*confine.Dir, replace.Tree) error {
	return func(_ *confine.Dir, s replace.Tree) error {
		*seen = s
		return nil
	}
}

func TestADirectoryIsRemovedWithAllThatIsInIt(t *testing.T) {
	for _, c := range []struct {
		what string
		tree []string
		want replace.Tree
	}{
		{"an empty directory", []string{"allow/d/"}, replace.Tree{}},
		{"files, directories, links out and in", []string{"allow/d/f: text", "allow/d/a/b/g: more", "allow/d/a/h: x", "allow/d/z/", "allow/d/out => ../../out", "allow/d/a/in => b", "allow/d/secret => ../../out/secret", "allow/d/none => none"},
			replace.Tree{Files: 3, Dirs: 3, Links: 4, Bytes: 9}},
		{"names that no path may have", []string{"allow/d/new\nline: x", "allow/d/\x1b[31m/f: x", "allow/d/a\\b: x"}, replace.Tree{Files: 3, Dirs: 1, Bytes: 3}},
		{"files under several names", []string{"allow/d/1: x", "allow/d/a/"}, replace.Tree{Files: 3, Dirs: 1, Bytes: 3}},
	} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			for _, o := range []confine.Options{{}, within} {
				base := fixture(t, append(c.tree, "allow/f: x")...)
				if strings.Contains(c.what, "several names") {
					must(t, errors.Join(os.Link(base+"/allow/d/1", base+"/allow/d/2"), os.Link(base+"/allow/d/1", base+"/allow/d/a/3"), os.Chmod(base+"/allow/d/1", 0o444)))
				}
				var seen replace.Tree
				err := w.RemoveTree(background, path(t, roots(t, base+"/allow", o), "d"), counts(&seen))
				if err != nil || seen != c.want || names(t, base+"/allow") != "f" {
					t.Errorf("%s: %v, seen %+v, left %q", c.what, err, seen, names(t, base+"/allow"))
				}
			}
		})
	}
}

// Each fixture has one thing that keeps the whole of allow/d where it is. names is the
// path that the refusal tells, which for what is denied is the directory around it.
func TestADirectoryIsRefusedAsAWhole(t *testing.T) {
	for _, c := range []struct {
		what  string
		tree  []string
		do    func(t *testing.T, d string)
		o     confine.Options
		want  fault.Code
		names string
	}{
		{"a pipe in it", nil, func(t *testing.T, d string) { must(t, unix.Mkfifo(d+"/a/pipe", 0o644)) }, confine.Options{}, fault.ParamInvalid, "d/a/pipe"},
		{"a denied file in it", []string{"allow/d/a/b/x.key: x"}, nil, confine.Options{Deny: []string{"*.key"}}, fault.OutsideAllowed, "d/a/b"},
		{"a denied place in it", []string{"allow/d/a/b/x: x"}, nil, confine.Options{Deny: []string{"d/a/b"}}, fault.OutsideAllowed, "d/a"},
		{"a directory called as a file may be", []string{"allow/d/.env.example/f: x"}, nil, confine.Options{DenySecrets: true}, fault.OutsideAllowed, "d"},
		{"what a rule refuses in it", []string{"allow/d/a/ruled: x"}, nil, confine.Options{}, fault.Forbidden, "d/a/ruled"},
		{"a rule for it", []string{"allow/ruled/f: x"}, nil, confine.Options{}, fault.Forbidden, "ruled"},
		{"a read-only directory in it", []string{"allow/d/r/f: x"}, func(t *testing.T, d string) { must(t, os.Chmod(d+"/r", 0o555)) }, confine.Options{}, fault.PermissionDenied, "d/r"},
		{"it is read-only", nil, func(t *testing.T, d string) { must(t, os.Chmod(d, 0o555)) }, confine.Options{}, fault.PermissionDenied, "d"},
		{"too deep", []string{"allow/d/" + strings.Repeat("a/", 140)}, nil, confine.Options{}, fault.LimitReached, "d"},
		{"a link", []string{"allow/link => d"}, nil, confine.Options{}, fault.Forbidden, "link"},
		{"a link, followed elsewhere", []string{"allow/link => d"}, nil, within, fault.Forbidden, "link"},
		{"a file", []string{"allow/file: x"}, nil, confine.Options{}, fault.ParamInvalid, "file"},
		{"nothing", nil, nil, confine.Options{}, fault.NotFound, "none"},
		{"the allowed directory", nil, nil, confine.Options{}, fault.ParamInvalid, "."},
	} {
		base := fixture(t, append(c.tree, "allow/d/a/f: text", "allow/d/z: text")...)
		if c.do != nil {
			c.do(t, base+"/allow/d")
		}
		t.Cleanup(func() { _ = os.Chmod(base+"/allow/d", 0o755); _ = os.Chmod(base+"/allow/d/r", 0o755) })
		name := c.names
		if strings.HasPrefix(name, "d/") {
			name = "d"
		}
		refusedAsAWhole(t, c.what, base, roots(t, base+"/allow", c.o), name, c.want, c.names)
	}
}

func refusedAsAWhole(t *testing.T, what, base string, r *confine.Roots, name string, want fault.Code, told string) {
	t.Helper()
	before := snapshot(t, base)
	w := replace.New(replace.Rules{Entry: func(p confine.Path) error {
		if p.Base() == "ruled" {
			return refusal.With("path", p.String())
		}
		return nil
	}})
	looked := false
	err := w.RemoveTree(background, path(t, r, name), func(*confine.Dir, replace.Tree) error { looked = true; return nil })
	if !errors.Is(err, want) || detail(err, "path") != told || looked {
		t.Errorf("%s: %v (%v, looked: %t), want %s for %s", what, err, detail(err, "path"), looked, want, told)
	}
	if after := snapshot(t, base); after != before {
		t.Errorf("%s: before\n%safter\n%s", what, before, after)
	}
}

func TestADirectoryWithAnAllowedOneInItStays(t *testing.T) {
	base := fixture(t, "allow/d/a/inner/f: x", "allow/d/f: x")
	must(t, os.Symlink("allow", base+"/alias"))
	for _, outer := range []string{"/allow", "/alias"} {
		r, err := confine.Open([]string{base + outer, base + "/allow/d/a/inner"}, confine.Options{})
		must(t, err)
		defer r.Close()
		refusedAsAWhole(t, outer, base, r, base+outer+"/d", fault.Forbidden, base+outer+"/d/a/inner")
	}
}

func TestADirectoryWithTooManyEntriesStays(t *testing.T) {
	base, p := only(t, "d", "allow/d/")
	for i := range 11 {
		dir := fmt.Sprintf("%s/allow/d/%d", base, i)
		must(t, os.Mkdir(dir, 0o755))
		for j := range 9200 {
			must(t, os.Symlink("x", fmt.Sprintf("%s/%d", dir, j)))
		}
	}
	var w replace.Writer
	err := w.RemoveTree(background, p, nil)
	if !errors.Is(err, fault.LimitReached) || detail(err, "limit_entries") != 100_000 {
		t.Error(err)
	}
	if names(t, base+"/allow") != "d" || len(strings.Fields(names(t, base+"/allow/d/10"))) != 9200 {
		t.Error("something is missing")
	}
	must(t, os.RemoveAll(base+"/allow/d/10"))
	var seen replace.Tree
	if err := w.RemoveTree(background, p, counts(&seen)); err != nil || seen.Links != 92_000 || names(t, base+"/allow") != "" {
		t.Errorf("%v, %+v", err, seen)
	}
}

// What another program does in a directory while it is being removed. Everything is as
// that program left it.
func TestADirectoryInWhichSomethingChangesIsPutBack(t *testing.T) {
	for what, do := range map[string]func(d string) error{
		"a new file":                          func(d string) error { return os.WriteFile(d+"/a/b/new", nil, 0o644) },
		"a new directory":                     func(d string) error { return os.Mkdir(d+"/a/new", 0o755) },
		"a file gone":                         func(d string) error { return os.Remove(d + "/a/b/f") },
		"a file written":                      func(d string) error { return os.WriteFile(d+"/a/b/f", []byte("theirs"), 0) },
		"a file written, same length":         func(d string) error { return os.WriteFile(d+"/a/b/f", []byte("OLD"), 0) },
		"the same, with the old time":         func(d string) error { return sameTime(d + "/a/b") },
		"a file replaced":                     func(d string) error { return replaced(d+"/a/b", "OLD") },
		"a link that leads elsewhere":         func(d string) error { return errors.Join(os.Remove(d+"/l"), os.Symlink("..", d+"/l")) },
		"a directory that is a link out":      func(d string) error { return errors.Join(os.Rename(d+"/a", d+"/b"), os.Symlink("../../out", d+"/a")) },
		"a file that became a directory":      func(d string) error { return errors.Join(os.Remove(d+"/z"), os.Mkdir(d+"/z", 0o755)) },
		"a new file in the directory itself ": func(d string) error { return os.WriteFile(d+"/new", nil, 0o644) },
	} {
		for _, at := range []replace.Step{replace.BeforeSwap, replace.AfterSwap} {
			eachWay(t, func(t *testing.T, w *replace.Writer) {
				base, p := only(t, "d", "allow/d/a/b/f: old", "allow/d/l => .", "allow/d/z: x")
				after := ""
				w.When(at, func() {
					d := base + "/allow/d"
					if at == replace.AfterSwap {
						d = base + "/allow/" + names(t, base+"/allow")
					}
					must(t, do(d))
					after = snapshot(t, d)
				})
				var seen replace.Tree
				err := w.RemoveTree(background, p, counts(&seen))
				if !errors.Is(err, fault.Exists) || seen.Files != 2 || names(t, base+"/allow") != "d" {
					t.Fatalf("%s: %v, seen %+v, left %q", what, err, seen, names(t, base+"/allow"))
				}
				if got := snapshot(t, base+"/allow/d"); got != after || after == "" {
					t.Errorf("%s: left\n%safter\n%s", what, after, got)
				}
			})
		}
	}
}

func TestADirectoryThatIsAnotherByThenStays(t *testing.T) {
	base, p := only(t, "d", "allow/d/f: old", "allow/e/f: another")
	var w replace.Writer
	w.When(replace.BeforeSwap, func() {
		must(t, errors.Join(os.Rename(base+"/allow/d", base+"/allow/g"), os.Rename(base+"/allow/e", base+"/allow/d")))
	})
	if err := w.RemoveTree(background, p, nil); !errors.Is(err, fault.Exists) || content(base+"/allow/d/f") != "another" || content(base+"/allow/g/f") != "old" {
		t.Errorf("%v\n%s", err, snapshot(t, base+"/allow"))
	}
}

func TestADirectoryWhoseNameIsTakenMeanwhileStaysBesideIt(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base, p := only(t, "d", "allow/d/f: old")
		w.When(replace.AfterSwap, func() {
			draft := base + "/allow/" + names(t, base+"/allow")
			must(t, errors.Join(os.WriteFile(draft+"/new", nil, 0o644), os.Mkdir(base+"/allow/d", 0o755)))
		})
		err := w.RemoveTree(background, p, nil)
		kept, _ := detail(err, "kept_as").(string)
		if !errors.Is(err, fault.Unavailable) || names(t, base+"/allow/"+kept) != "f new" || names(t, base+"/allow/d") != "" {
			t.Errorf("%v, kept as %q:\n%s", err, kept, snapshot(t, base+"/allow"))
		}
	})
}

func TestALinkIsMadeAndNothingOverwritten(t *testing.T) {
	base := fixture(t, "allow/f: x", "allow/d/")
	for _, o := range []confine.Options{{}, within} {
		r := roots(t, base+"/allow", o)
		var w replace.Writer
		must(t, w.Link(background, path(t, r, "d/l"), "../f"))
		if got, err := os.Readlink(base + "/allow/d/l"); got != "../f" {
			t.Errorf("%q, %v", got, err)
		}
		for name, want := range map[string]fault.Code{"d/l": fault.Exists, "f": fault.Exists, "d": fault.Exists, "none/l": fault.NotFound, ".": fault.ParamInvalid} {
			if err := w.Link(background, path(t, r, name), "f"); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		for _, target := range []string{"", "a\x00b"} {
			if err := w.Link(background, path(t, r, "new"), target); !errors.Is(err, fault.ParamInvalid) {
				t.Errorf("%q: %v", target, err)
			}
		}
		ruled := replace.New(replace.Rules{Entry: func(confine.Path) error { return refusal }})
		if err := ruled.Link(background, path(t, r, "new"), "f"); !errors.Is(err, fault.Forbidden) || names(t, base+"/allow") != "d f" {
			t.Errorf("%v: %s", err, names(t, base+"/allow"))
		}
		must(t, os.Remove(base+"/allow/d/l"))
	}
}
