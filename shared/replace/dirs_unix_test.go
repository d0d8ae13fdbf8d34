//go:build linux || darwin

package replace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// lies is where paths really lie, in one string.
func lies(all []confine.Path) string {
	var out []string
	for _, p := range all {
		out = append(out, p.Rel())
	}
	return strings.Join(out, " ")
}

func TestDirectoriesAreMadeAsFarAsTheyAreMissing(t *testing.T) {
	within := confine.Options{Symlinks: confine.Within}
	for _, c := range []struct {
		what string
		tree []string
		o    confine.Options
		name string
		want any // a code, or which were made
	}{
		{"one", nil, confine.Options{}, "a", "a"},
		{"three", nil, confine.Options{}, "a/b/c", "a a/b a/b/c"},
		{"the last of three", []string{"allow/a/b/"}, confine.Options{}, "a/b/c", "a/b/c"},
		{"none, for it is there", []string{"allow/a/b/"}, confine.Options{}, "a/b", ""},
		{"none, for it is the allowed directory", nil, confine.Options{}, ".", ""},
		{"none over a file", []string{"allow/a: file"}, confine.Options{}, "a", fault.ParamInvalid},
		{"none in a file", []string{"allow/a: file"}, confine.Options{}, "a/b/c", fault.ParamInvalid},
		{"none through a link out", []string{"allow/l => ../out"}, confine.Options{}, "l/a", fault.Forbidden},
		{"none under a link out", []string{"allow/l => ../out/a"}, confine.Options{}, "l", fault.Forbidden},
		{"nor where links may be followed", []string{"allow/l => ../out"}, within, "l/a/b", fault.OutsideAllowed},
		{"nor to a new one there", []string{"allow/l => ../out/a"}, within, "l/b", fault.OutsideAllowed},
		{"some through a link inside", []string{"allow/a/", "allow/l => a"}, within, "l/b/c", "a/b a/b/c"},
		{"some under a link inside", []string{"allow/l => a"}, within, "l/b", "a a/b"},
		{"none through a link inside unless that is allowed", []string{"allow/a/", "allow/l => a"}, confine.Options{}, "l/b", fault.Forbidden},
		{"none where it is denied", nil, confine.Options{Deny: []string{"x"}}, "a/x/b", fault.OutsideAllowed},
		{"none under a name that is for files", nil, confine.Options{DenySecrets: true}, ".env.example", fault.OutsideAllowed},
	} {
		base := fixture(t, c.tree...)
		before := names(t, base+"/allow")
		p, err := roots(t, base+"/allow", c.o).Parse(c.name)
		var made []confine.Path
		if err == nil {
			var w replace.Writer
			made, err = w.MakeDirs(background, p)
		}
		switch want := c.want.(type) {
		case fault.Code:
			if !errors.Is(err, want) || made != nil || names(t, base+"/allow") != before {
				t.Errorf("%s: %v, made %q; want %s", c.what, err, lies(made), want)
			}
		case string:
			if err != nil || lies(made) != want {
				t.Errorf("%s: %v, made %q, want %q", c.what, err, lies(made), want)
			}
			for _, d := range made {
				if info, err := os.Lstat(d.Abs()); err != nil || !info.IsDir() {
					t.Errorf("%s: %s: %v", c.what, d.Rel(), err)
				}
			}
		}
	}
}

func TestANewDirectoryHasThePermissionsThatTheUmaskLeaves(t *testing.T) {
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	base, p := only(t, "a/b")
	var w replace.Writer
	_, err := w.MakeDirs(background, p)
	must(t, err)
	for _, name := range []string{"/allow/a", "/allow/a/b"} {
		if info, err := os.Stat(base + name); err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestManyWhoMakeTheSameTreeAllSucceedAndEachDirectoryIsMadeOnce(t *testing.T) {
	base := fixture(t)
	r := roots(t, base+"/allow", confine.Options{})
	raced := false
	for round := 0; round < 100 || !raced && round < 10_000; round++ {
		p := path(t, r, fmt.Sprintf("%d/a/b/c/d", round))
		var made, makers atomic.Int32
		together(writers(20, false, &replace.Writer{}), func(_ int, w *replace.Writer) {
			mine, err := w.MakeDirs(background, p)
			if err != nil {
				t.Error(err)
			}
			made.Add(int32(len(mine)))
			if len(mine) > 0 {
				makers.Add(1)
			}
		})
		if made.Load() != 5 {
			t.Errorf("round %d: %d were made, want 5", round, made.Load())
		}
		raced = raced || makers.Load() > 1
	}
	if !raced {
		t.Error("no two ever made parts of one tree: there was no race")
	}
}

// Others remove the directories, as soon as they are empty, all the time.
func TestDirectoriesThatVanishOnTheWayAreMadeAgain(t *testing.T) {
	base, p := only(t, "a/b/c")
	var w replace.Writer
	removed := 0
	entry := func(real confine.Path) error {
		if real.Rel() == "a/b/c" && removed < 3 {
			if os.Remove(base+"/allow/a/b") == nil && os.Remove(base+"/allow/a") == nil {
				removed++
			}
		}
		return nil
	}
	made, err := replace.New(replace.Rules{Entry: entry}).MakeDirs(background, p)
	if err != nil || removed != 3 || len(made) != 9 {
		t.Errorf("%v; removed %d times, made %q", err, removed, lies(made))
	}
	if _, err := w.MakeDirs(background, p); err != nil {
		t.Error(err)
	}
}

func TestWhatWasMadeIsRemovedWhenTheRestIsRefused(t *testing.T) {
	base, p := only(t, "a/b/c", "allow/x/")
	rules := replace.Rules{Entry: func(real confine.Path) error {
		if real.Rel() == "a/b/c" {
			return refusal
		}
		return nil
	}}
	made, err := replace.New(rules).MakeDirs(background, p)
	if !errors.Is(err, refusal.Code) || made != nil || names(t, base+"/allow") != "x" {
		t.Errorf("%v, made %q; left are %s", err, lies(made), names(t, base+"/allow"))
	}
}

func TestWhatOthersUseAlreadyStaysWhenTheRestIsRefused(t *testing.T) {
	base, p := only(t, "a/b/c")
	rules := replace.Rules{Entry: func(real confine.Path) error {
		if real.Rel() == "a/b/c" {
			return errors.Join(refusal, os.WriteFile(base+"/allow/a/theirs", nil, 0o644))
		}
		return nil
	}}
	_, err := replace.New(rules).MakeDirs(background, p)
	if !errors.Is(err, refusal.Code) || names(t, base+"/allow/a") != "theirs" {
		t.Errorf("%v; left are %s", err, names(t, base+"/allow/a"))
	}
}

func TestOnlyAnEmptyDirectoryIsRemoved(t *testing.T) {
	for _, c := range []struct {
		what string
		tree []string
		o    confine.Options
		name string
		want fault.Code
		left string // of allow/
	}{
		{"an empty one", []string{"allow/d/"}, confine.Options{}, "d", "", ""},
		{"one that is not", []string{"allow/d/f: x"}, confine.Options{}, "d", fault.ParamInvalid, "d"},
		{"a file", []string{"allow/d: x"}, confine.Options{}, "d", fault.ParamInvalid, "d"},
		{"nothing", nil, confine.Options{}, "d", fault.NotFound, ""},
		{"the allowed directory", nil, confine.Options{}, ".", fault.ParamInvalid, ""},
		{"a link to an empty one", []string{"allow/d/", "allow/l => d"}, confine.Options{}, "l", fault.Forbidden, "d l"},
		{"a link out", []string{"out/d/", "allow/l => ../out/d"}, confine.Options{Symlinks: confine.Within}, "l", fault.OutsideAllowed, "l"},
	} {
		base := fixture(t, c.tree...)
		var w replace.Writer
		err := w.RemoveDir(background, path(t, roots(t, base+"/allow", c.o), c.name))
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if got := names(t, base+"/allow"); got != c.left {
			t.Errorf("%s: left are %q", c.what, got)
		}
		_ = os.Remove(base + "/out/d") // the fixture looks for what does not belong there
	}
}

func TestARuleAlsoJudgesDirectories(t *testing.T) {
	base := fixture(t, "allow/d/")
	r := roots(t, base+"/allow", confine.Options{})
	w := replace.New(replace.Rules{Entry: func(confine.Path) error { return refusal }})
	_, err := w.MakeDirs(background, path(t, r, "new"))
	err2 := w.RemoveDir(background, path(t, r, "d"))
	if !errors.Is(err, refusal.Code) || !errors.Is(err2, refusal.Code) || names(t, base+"/allow") != "d" {
		t.Errorf("%v; %v; left are %s", err, err2, names(t, base+"/allow"))
	}
}

func TestACancelledCallMakesAndRemovesNoDirectory(t *testing.T) {
	base := fixture(t, "allow/d/")
	r := roots(t, base+"/allow", confine.Options{})
	ctx, cancel := context.WithCancel(background)
	cancel()
	var w replace.Writer
	_, err := w.MakeDirs(ctx, path(t, r, "new"))
	err2 := w.RemoveDir(ctx, path(t, r, "d"))
	if !errors.Is(err, fault.TimedOut) || !errors.Is(err2, fault.TimedOut) || names(t, base+"/allow") != "d" {
		t.Errorf("%v; %v; left are %s", err, err2, names(t, base+"/allow"))
	}
}
