package confine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// inode is what a grant holds.
func inode(t *testing.T, g *confine.Grant) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := g.Lend(func(fd uintptr) error { return unix.Fstat(int(fd), &st) }); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAGrantIsWhatItWasWhenItWasOpened swaps every part of a grant's name for
// something else: the grant still holds what it held, and says that its name does not.
func TestAGrantIsWhatItWasWhenItWasOpened(t *testing.T) {
	for _, swap := range []struct {
		what string
		do   func(ws string) error
	}{
		{"the directory becomes a link", func(ws string) error {
			return firstError(os.Rename(ws+"/a/sub", ws+"/a/old"), os.Symlink(ws+"/secret", ws+"/a/sub"))
		}},
		{"its parent becomes a link", func(ws string) error {
			return firstError(os.Rename(ws+"/a", ws+"/old"), os.Symlink(ws+"/other", ws+"/a"))
		}},
		{"its parent becomes a link to itself", func(ws string) error {
			return firstError(os.Rename(ws+"/a", ws+"/old"), os.Symlink("old", ws+"/a"))
		}},
		{"another directory takes its name", func(ws string) error {
			return firstError(os.Rename(ws+"/a/sub", ws+"/a/old"), os.Rename(ws+"/secret", ws+"/a/sub"))
		}},
		{"it is removed", func(ws string) error { return os.Remove(ws + "/a/sub") }},
		{"a file takes its name", func(ws string) error {
			return firstError(os.Remove(ws+"/a/sub"), os.WriteFile(ws+"/a/sub", nil, 0o600))
		}},
	} {
		ws, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err, os.MkdirAll(ws+"/a/sub", 0o755), os.MkdirAll(ws+"/secret", 0o755), os.MkdirAll(ws+"/other/sub", 0o755))
		g, err := confine.OpenGrant(ws+"/a/sub", []string{ws})
		must(t, err, g.Check())
		text, err := json.Marshal(g)
		must(t, err)
		before := inode(t, g)
		must(t, swap.do(ws))
		if after := inode(t, g); after != before {
			t.Errorf("%s: the grant holds %d instead of %d", swap.what, after, before)
		}
		if err := g.Check(); fault.From(err) == nil || fault.From(err).Code != fault.OutsideAllowed {
			t.Errorf("%s: %v", swap.what, err)
		}
		var again confine.Grant
		if err := json.Unmarshal(text, &again); err == nil {
			t.Errorf("%s: another process opens it", swap.what)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestLinksThatACommandCanMakeAreNotFollowed opens names through links inside and
// outside of a directory that commands may change.
func TestLinksThatACommandCanMakeAreNotFollowed(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	ws, out := top+"/ws", top+"/out"
	must(t, err, os.MkdirAll(ws+"/dir", 0o755), os.MkdirAll(out+"/dir", 0o755),
		os.Symlink(out, ws+"/out"), os.Symlink("dir", ws+"/near"), os.Symlink("../out/dir", ws+"/far"), os.Symlink("loop", ws+"/loop"),
		os.Symlink(ws, top+"/in"), os.Symlink(ws+"/out", top+"/through"), os.Symlink(out+"/dir", out+"/own"), os.Symlink(ws+"/dir", out+"/back"))
	for _, w := range []struct {
		name string
		real string // "" where it is refused
	}{
		{ws, ws}, {ws + "/dir", ws + "/dir"}, {top + "/in", ws}, {top + "/in/dir", ws + "/dir"}, {out + "/own", out + "/dir"}, {out + "/back", ws + "/dir"},
		{ws + "/../out/dir", out + "/dir"}, {ws + "/dir/..", ws},
		{ws + "/out", ""}, {ws + "/out/dir", ""}, {ws + "/near", ""}, {ws + "/far", ""}, {ws + "/loop", ""},
		{top + "/in/out", ""}, {top + "/in/near", ""}, {top + "/through", ""}, {top + "/through/dir", ""},
	} {
		g, err := confine.OpenGrant(w.name, []string{ws})
		switch {
		case err != nil && w.real != "":
			t.Errorf("%s: %v", w.name, err)
		case err == nil && w.real == "":
			t.Errorf("%s was opened as %s", w.name, g.Path())
		case err == nil && (g.Path() != w.real || inode(t, g) != inodeOf(t, w.real)):
			t.Errorf("%s is %s instead of %s", w.name, g.Path(), w.real)
		}
	}
	if _, err := confine.Open([]string{ws, ws + "/out"}, confine.Options{}); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("an allowed directory through a link in another one: %v", err)
	}
}

// TestGrantsOfNarrowedDirectoriesStayWithinTheAllowedOnes narrows to a name that is
// swapped for a link afterwards, and before.
func TestGrantsOfNarrowedDirectoriesStayWithinTheAllowedOnes(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	ws := top + "/ws"
	must(t, err, os.MkdirAll(ws+"/sub", 0o755), os.MkdirAll(top+"/secret", 0o755))
	roots, err := confine.Open([]string{ws}, confine.Options{})
	must(t, err)
	defer roots.Close()
	narrow, err := roots.Narrow([]string{ws + "/sub"})
	must(t, err)
	held, err := narrow.Grants()
	must(t, err)
	before := inodeOf(t, ws+"/sub")
	later, err := roots.Narrow([]string{ws + "/sub"})
	must(t, err)
	must(t, os.Rename(ws+"/sub", ws+"/sub2"), os.Symlink(top+"/secret", ws+"/sub"))
	if got := inode(t, held[0]); got != before {
		t.Errorf("the grant became %d", got)
	}
	if err := held[0].Check(); err == nil {
		t.Error("nobody notices")
	}
	if got, err := later.Grants(); err == nil {
		t.Errorf("a link was granted: %s", got[0].Path())
	}
}
