//go:build linux || darwin

package replace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

type act func(*replace.Writer, confine.Path) (replace.Result, error)

func creating(text string) act {
	return func(w *replace.Writer, p confine.Path) (replace.Result, error) {
		return w.Create(background, p, []byte(text), replace.Options{})
	}
}

func replacing(text string, o replace.Options) act {
	return func(w *replace.Writer, p confine.Path) (replace.Result, error) {
		return w.Replace(background, p, []byte(text), o)
	}
}

func updating(text string) act {
	return func(w *replace.Writer, p confine.Path) (replace.Result, error) {
		return w.Update(background, p, becoming(text))
	}
}

func TestAChangeDoesWhatItSaysOrNothing(t *testing.T) {
	any := replace.Options{}
	within := confine.Options{Symlinks: confine.Within}
	for _, c := range []struct {
		what string
		tree []string
		o    confine.Options
		name string
		do   act
		want fault.Code // "" for success
		file string     // what is looked at, below the fixture
		text string     // and what it holds then
	}{
		{"a new file is created", nil, confine.Options{}, "f", creating("new"), "", "allow/f", "new"},
		{"an empty file is created", nil, confine.Options{}, "f", creating(""), "", "allow/f", ""},
		{"a file is not created over another", []string{"allow/f: old"}, confine.Options{}, "f", creating("new"), fault.Exists, "allow/f", "old"},
		{"a file is not created over a directory", []string{"allow/f/g: old"}, confine.Options{}, "f", creating("new"), fault.Exists, "allow/f/g", "old"},
		{"a file is not created in a directory that is missing", nil, confine.Options{}, "none/f", creating("new"), fault.NotFound, "out/secret", "SECRET"},
		{"a file is not created in a file", []string{"allow/f: old"}, confine.Options{}, "f/g", creating("new"), fault.ParamInvalid, "allow/f", "old"},
		{"the allowed directory is not a file", nil, confine.Options{}, ".", creating("new"), fault.ParamInvalid, "out/secret", "SECRET"},
		{"a file is replaced", []string{"allow/f: old"}, confine.Options{}, "f", replacing("new", any), "", "allow/f", "new"},
		{"replacing creates what is missing", nil, confine.Options{}, "f", replacing("new", any), "", "allow/f", "new"},
		{"a directory is not replaced", []string{"allow/f/g: old"}, confine.Options{}, "f", replacing("new", any), fault.ParamInvalid, "allow/f/g", "old"},
		{"the version that was expected is replaced", []string{"allow/f: old"}, confine.Options{}, "f", replacing("new", expecting("old")), "", "allow/f", "new"},
		{"another version is not", []string{"allow/f: older"}, confine.Options{}, "f", replacing("new", expecting("old")), fault.Exists, "allow/f", "older"},
		{"a version is expected where nothing is", nil, confine.Options{}, "f", replacing("new", expecting("old")), fault.NotFound, "out/secret", "SECRET"},
		{"what is expected is no hash", []string{"allow/f: old"}, confine.Options{}, "f", replacing("new", replace.Options{ExpectedSHA256: "abc"}), fault.ParamMalformed, "allow/f", "old"},
		{"a hash in capitals is the same", []string{"allow/f: old"}, confine.Options{}, "f", replacing("new", replace.Options{ExpectedSHA256: strings.ToUpper(hash("old"))}), "", "allow/f", "new"},
		{"a file is updated", []string{"allow/f: old"}, confine.Options{}, "f", updating("new"), "", "allow/f", "new"},
		{"what is missing is not updated", nil, confine.Options{}, "f", updating("new"), fault.NotFound, "out/secret", "SECRET"},
		{"a link out is not created through", []string{"allow/l => ../out/none"}, confine.Options{}, "l", creating("new"), fault.Forbidden, "out/secret", "SECRET"},
		{"a link out is not replaced through", []string{"allow/l => ../out/secret"}, confine.Options{}, "l", replacing("new", any), fault.Forbidden, "out/secret", "SECRET"},
		{"nor where links may be followed", []string{"allow/l => ../out/secret"}, within, "l", replacing("new", any), fault.OutsideAllowed, "out/secret", "SECRET"},
		{"nor where its target is missing", []string{"allow/l => ../out/none"}, within, "l", creating("new"), fault.OutsideAllowed, "out/secret", "SECRET"},
		{"a link to a directory outside is not gone through", []string{"allow/l => ../out"}, confine.Options{}, "l/none", creating("new"), fault.Forbidden, "out/secret", "SECRET"},
		{"a link inside is followed where that is allowed", []string{"allow/f: old", "allow/l => f"}, within, "l", replacing("new", any), "", "allow/f", "new"},
		{"so is one to a directory", []string{"allow/a/", "allow/l => a"}, within, "l/f", creating("new"), "", "allow/a/f", "new"},
		{"a link to what is denied is not", []string{"allow/x/y: old", "allow/l => x"}, confine.Options{Symlinks: confine.Within, Deny: []string{"x/y"}}, "l/y", replacing("new", any), fault.OutsideAllowed, "allow/x/y", "old"},
		{"a name in its other normal form is the same file", []string{"allow/e\u0301: old"}, confine.Options{}, "\u00e9", replacing("new", any), "", "allow/e\u0301", "new"},
		{"a new file lands in a directory in its other normal form", []string{"allow/e\u0301/"}, confine.Options{}, "\u00e9/f", creating("new"), "", "allow/e\u0301/f", "new"},
	} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			base := fixture(t, c.tree...)
			p := path(t, roots(t, base+"/allow", c.o), c.name)
			res, err := c.do(w, p)
			if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %q", c.what, err, c.want)
			}
			if got := content(base + "/" + c.file); got != c.text {
				t.Errorf("%s: %s holds %q, want %q", c.what, c.file, got, c.text)
			}
			if err == nil && (res.SHA256 != hash(c.text) || res.Bytes != int64(len(c.text))) {
				t.Errorf("%s: %+v", c.what, res)
			}
			noDrafts(t, base)
		})
	}
}

// noDrafts fails if anything but what was planted and asked for is in a directory.
func noDrafts(t *testing.T, base string) {
	t.Helper()
	for _, dir := range []string{base, base + "/allow"} {
		if strings.Contains(names(t, dir), ".mcp-") {
			t.Errorf("left behind: %s", names(t, dir))
		}
	}
}

func TestWhatIsNoFileIsLeftAlone(t *testing.T) {
	base, p := only(t, "pipe")
	must(t, unix.Mkfifo(base+"/allow/pipe", 0o666))
	var w replace.Writer
	for what, do := range map[string]act{"create": creating("x"), "replace": replacing("x", replace.Options{}), "update": updating("x")} {
		if _, err := do(&w, p); !errors.Is(err, fault.ParamInvalid) && !errors.Is(err, fault.Exists) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if names(t, base+"/allow") != "pipe" {
		t.Error(names(t, base+"/allow"))
	}
}

func TestTheVersionThatIsThereIsTold(t *testing.T) {
	_, p := only(t, "f", "allow/f: present")
	var w replace.Writer
	_, err := w.Replace(background, p, []byte("new"), expecting("old"))
	if detail(err, "present_sha256") != hash("present") {
		t.Errorf("%v: %v", err, detail(err, "present_sha256"))
	}
}

func TestAReadOnlyFileIsRefusedAlsoToRoot(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	must(t, os.Chmod(base+"/allow/f", 0o444))
	var w replace.Writer
	for what, do := range map[string]act{"replace": replacing("new", replace.Options{}), "with a hash": replacing("new", expecting("old")), "update": updating("new")} {
		if _, err := do(&w, p); !errors.Is(err, fault.PermissionDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if content(base+"/allow/f") != "old" {
		t.Error("the file changed")
	}
	noDrafts(t, base)
}

func TestABrokenHardLinkIsToldAndTheOtherNameKeepsTheOldContent(t *testing.T) {
	for what, do := range map[string]act{"replace": replacing("new", replace.Options{}), "update": updating("new")} {
		base, p := only(t, "f")
		must(t, os.WriteFile(base+"/other", []byte("old"), 0o644))
		must(t, os.Link(base+"/other", base+"/allow/f"))
		var w replace.Writer
		res, err := do(&w, p)
		if err != nil || !res.BrokeLinks || content(base+"/other") != "old" || content(base+"/allow/f") != "new" {
			t.Errorf("%s: %+v, %v; %q and %q", what, res, err, content(base+"/other"), content(base+"/allow/f"))
		}
		if res, err = replacing("newer", replace.Options{})(&w, p); err != nil || res.BrokeLinks {
			t.Errorf("%s: a file with one name: %+v, %v", what, res, err)
		}
	}
}

func TestNoNewFileIsExecutable(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		for _, c := range []struct{ umask, want os.FileMode }{{0, 0o666}, {0o022, 0o644}, {0o077, 0o600}} {
			base, p := only(t, "f")
			unix.Umask(int(c.umask))
			_, err := w.Create(background, p, []byte("#!/bin/sh\n"), replace.Options{})
			unix.Umask(0)
			must(t, err)
			info, err := os.Stat(base + "/allow/f")
			must(t, err)
			if info.Mode() != c.want {
				t.Errorf("under umask %o: %v, want %v", c.umask, info.Mode(), c.want)
			}
		}
	})
}

func TestContentThatIsTheSameIsNotWritten(t *testing.T) {
	base, p := only(t, "f", "allow/f: same")
	before, err := os.Stat(base + "/allow/f")
	must(t, err)
	var w replace.Writer
	res, err := w.Update(background, p, becoming("same"))
	must(t, err)
	after, err := os.Stat(base + "/allow/f")
	must(t, err)
	if !os.SameFile(before, after) || res.SHA256 != hash("same") {
		t.Errorf("%+v; the same file: %t", res, os.SameFile(before, after))
	}
}

func TestAnErrorOfTheChangeEndsItAndIsPassedOn(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	var w replace.Writer
	_, err := w.Update(background, p, func([]byte, confine.Info) ([]byte, error) {
		return nil, fault.New(fault.ParamInvalid, "no match", "")
	})
	if !errors.Is(err, fault.ParamInvalid) || content(base+"/allow/f") != "old" {
		t.Errorf("%v, %q", err, content(base+"/allow/f"))
	}
}

func TestMoreThanTheLimitIsRefused(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	var w replace.Writer
	large := make([]byte, replace.MaxBytes+1)
	for what, do := range map[string]act{
		"replace": replacing(string(large), replace.Options{}),
		"update":  updating(string(large)),
	} {
		if _, err := do(&w, p); !errors.Is(err, fault.LimitReached) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, os.Truncate(base+"/allow/f", replace.MaxBytes+1))
	if _, err := w.Update(background, p, becoming("x")); !errors.Is(err, fault.LimitReached) {
		t.Errorf("a larger file: %v", err)
	}
}

func TestACancelledCallChangesNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base, p := only(t, "f", "allow/f: old")
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, first := w.Replace(ctx, p, []byte("new"), replace.Options{})
		_, second := w.Replace(ctx, p, []byte("new"), expecting("old"))
		_, third := w.Update(ctx, p, becoming("new"))
		for _, err := range []error{first, second, third} {
			if !errors.Is(err, fault.TimedOut) {
				t.Error(err)
			}
		}
		if content(base+"/allow/f") != "old" {
			t.Error("the file changed")
		}
		noDrafts(t, base)
	})
}

func TestWaitingForAnotherChangeEndsWithTheCall(t *testing.T) {
	_, p := only(t, "f", "allow/f: old")
	var w replace.Writer
	_, err := w.Update(background, p, func([]byte, confine.Info) ([]byte, error) {
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, err := w.Replace(ctx, p, []byte("new"), replace.Options{}) // waits for the outer call
		return []byte("outer"), asTold(err)
	})
	if err != nil {
		t.Error(err)
	}
	if n := w.Waiting(); n != 0 {
		t.Errorf("%d entries are still being changed", n)
	}
}

// asTold is nil for the error that a cancelled call gets.
func asTold(err error) error {
	if errors.Is(err, fault.TimedOut) {
		return nil
	}
	return fmt.Errorf("got %w", err)
}

func TestADirectoryThatRefusesIsToldAsSuch(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	base, p := only(t, "f", "allow/f: old")
	must(t, os.Chmod(base+"/allow", 0o555))
	t.Cleanup(func() { must(t, os.Chmod(base+"/allow", 0o755)) })
	var w replace.Writer
	if _, err := w.Replace(background, p, []byte("new"), replace.Options{}); !errors.Is(err, fault.PermissionDenied) {
		t.Error(err)
	}
}

func TestSweepRemovesDraftsOfThisUserAndNothingElse(t *testing.T) {
	leftover, other := replace.DraftName(), replace.DraftName()
	base := fixture(t, "allow/f: x", "allow/"+leftover+": half", "allow/.mcp-draft-00: x", "allow/.mcp-draft-notes: x", "allow/a/"+other+": half")
	link, dir := replace.DraftName(), replace.DraftName()
	plant(t, base, "allow/"+link+" => ../out/secret")
	plant(t, base, "allow/"+dir+"/a/b/f: x")
	plant(t, base, "allow/"+dir+"/a/out => ../../../out")
	plant(t, base, "allow/"+dir+"/.mcp-f: x")
	if os.Geteuid() == 0 {
		foreign := replace.DraftName()
		plant(t, base, "allow/"+foreign+": another's")
		must(t, os.Chown(base+"/allow/"+foreign, 12345, 12345))
	} else {
		plant(t, base, "allow/g: x")
	}
	// Rules that leave drafts out of listings must not keep them.
	r := roots(t, base+"/allow", confine.Options{Deny: []string{".mcp*"}})
	var w replace.Writer
	n, err := w.Sweep(background, path(t, r, "."))
	if err != nil || n != 2 {
		t.Errorf("removed %d, %v", n, err)
	}
	if got := names(t, base+"/allow"); strings.Contains(got, leftover) || strings.Contains(got, dir) || len(strings.Fields(got)) != 6 {
		t.Errorf("left are %s", got)
	}
	if names(t, base+"/allow/a") != other {
		t.Error("a directory beneath was swept")
	}
}

func TestSweepLeavesADirectoryInWhichSomebodyIsWriting(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	dir, ok := p.Parent()
	if !ok {
		t.Fatal("no parent")
	}
	var w, sweeper replace.Writer
	w.Without(true, false, false)
	swept := false
	w.When(replace.BeforeSwap, func() {
		if n, err := sweeper.Sweep(background, dir); n != 0 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		swept = true
	})
	if _, err := w.Update(background, p, becoming("new")); err != nil || !swept || content(base+"/allow/f") != "new" {
		t.Errorf("%v, %q, swept: %t", err, content(base+"/allow/f"), swept)
	}
}

func TestAFileThatAnotherProgramKeepsLockedIsRefusedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, p := only(t, "f", "allow/f: old")
		for what, file := range map[string]string{"the file": base + "/allow/f", "the directory": base + "/allow"} {
			f, err := os.Open(file)
			must(t, err)
			must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
			var w replace.Writer
			if _, err := replacing("new", replace.Options{})(&w, p); !errors.Is(err, fault.Unavailable) {
				t.Errorf("%s: %v", what, err)
			}
			must(t, f.Close())
		}
		var w replace.Writer
		if _, err := replacing("new", replace.Options{})(&w, p); err != nil || content(base+"/allow/f") != "new" {
			t.Errorf("free again: %v", err)
		}
	})
}
