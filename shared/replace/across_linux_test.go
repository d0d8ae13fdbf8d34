package replace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// twoFileSystems is a fixture and a directory on another file system, both allowed.
func twoFileSystems(t *testing.T, entries ...string) (base, far string, r *confine.Roots) {
	t.Helper()
	base = fixture(t, entries...)
	far, err := os.MkdirTemp("/dev/shm", "replace")
	if err != nil {
		t.Skipf("SKIPPED: there is no second file system: %v", err)
	}
	t.Cleanup(func() { must(t, os.RemoveAll(far)) })
	var a, b unix.Stat_t
	must(t, errors.Join(unix.Stat(base, &a), unix.Stat(far, &b)))
	if a.Dev == b.Dev {
		t.Skip("SKIPPED: /dev/shm is the same file system")
	}
	r, err = confine.Open([]string{base + "/allow", far}, confine.Options{})
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return base, far, r
}

func TestAFileIsMovedToAnotherFileSystemWithAllThatItHas(t *testing.T) {
	for _, over := range []bool{false, true} {
		eachDraft(t, func(t *testing.T, w *replace.Writer) {
			text := strings.Repeat("x", 3<<20) + "end"
			base, far, r := twoFileSystems(t, "allow/f: "+text)
			attr(t, base+"/allow/f", "user.note", []byte("kept"))
			must(t, os.Chmod(base+"/allow/f", 0o640))
			if over {
				must(t, os.WriteFile(far+"/g", []byte("old"), 0o644))
			}
			before, err := os.Stat(base + "/allow/f")
			must(t, err)
			dress := dressOf(t, base+"/allow/f")
			var seen []string
			res, err := w.Move(background, path(t, r, base+"/allow/f"), path(t, r, far+"/g"), replace.MoveOptions{Overwrite: over, Replaced: shows(&seen)})
			if err != nil || res != (replace.MoveResult{Copied: true, Replaced: over}) || over && fmt.Sprint(seen) != "[old]" {
				t.Fatalf("%+v, %v, shown %q", res, err, seen)
			}
			after, err := os.Stat(far + "/g")
			must(t, err)
			if content(far+"/g") != text || !after.ModTime().Equal(before.ModTime()) || dressOf(t, far+"/g") != dress || names(t, base+"/allow") != "" || names(t, far) != "g" {
				t.Errorf("%v, %+v became %+v; left %q and %q", after.ModTime().Sub(before.ModTime()), dress, dressOf(t, far+"/g"), names(t, base+"/allow"), names(t, far))
			}
		})
	}
}

// eachDraft is eachWay where files can change places.
func eachDraft(t *testing.T, test func(t *testing.T, w *replace.Writer)) {
	for _, named := range []bool{false, true} {
		var w replace.Writer
		w.Without(named, named, false)
		test(t, &w)
	}
}

func TestAFileTakesNoPlaceOnAnotherFileSystemThatCannotExchange(t *testing.T) {
	base, far, r := twoFileSystems(t, "allow/f: new")
	must(t, os.WriteFile(far+"/g", []byte("old"), 0o644))
	var w replace.Writer
	w.Lack(true)
	_, err := w.Move(background, path(t, r, base+"/allow/f"), path(t, r, far+"/g"), replace.MoveOptions{Overwrite: true})
	if !errors.Is(err, fault.Unavailable) || content(far+"/g") != "old" || content(base+"/allow/f") != "new" || names(t, far) != "g" {
		t.Error(err)
	}
}

func TestADirectoryIsNotMovedToAnotherFileSystem(t *testing.T) {
	base, far, r := twoFileSystems(t, "allow/d/f: x")
	var w replace.Writer
	_, err := w.Move(background, path(t, r, base+"/allow/d"), path(t, r, far+"/d"), replace.MoveOptions{})
	if !errors.Is(err, fault.Unavailable) || names(t, far) != "" || names(t, base+"/allow/d") != "f" {
		t.Error(err)
	}
}

// The source is another when its copy is in place already, or the destination is taken.
func TestACopyDoesNotOutliveAMoveThatIsRefused(t *testing.T) {
	for _, over := range []bool{false, true} {
		eachDraft(t, func(t *testing.T, w *replace.Writer) {
			base, far, r := twoFileSystems(t, "allow/f: old")
			if over {
				must(t, os.WriteFile(far+"/g", []byte("there"), 0o644))
			}
			times := 0
			w.When(replace.AfterSwap, func() {
				if times++; times == 1 {
					must(t, replaced(base+"/allow", "theirs"))
				}
			})
			_, err := w.Move(background, path(t, r, base+"/allow/f"), path(t, r, far+"/g"), replace.MoveOptions{Overwrite: over})
			want := map[bool]string{false: "", true: "g"}[over]
			if !errors.Is(err, fault.Unavailable) || content(base+"/allow/f") != "theirs" || names(t, base+"/allow") != "f" || names(t, far) != want || over && content(far+"/g") != "there" {
				t.Errorf("%v: left %q and %q", err, names(t, base+"/allow"), names(t, far))
			}
		})
	}
	base, far, r := twoFileSystems(t, "allow/f: old")
	var w replace.Writer
	w.When(replace.BeforeSwap, func() { must(t, os.WriteFile(far+"/g", []byte("theirs"), 0o644)) })
	_, err := w.Move(background, path(t, r, base+"/allow/f"), path(t, r, far+"/g"), replace.MoveOptions{})
	if !errors.Is(err, fault.Exists) || content(far+"/g") != "theirs" || content(base+"/allow/f") != "old" {
		t.Error(err)
	}
}

// A mount in a directory, of another file system or of a part of the same, keeps it
// where it is.
func TestADirectoryWithAMountInItStays(t *testing.T) {
	for what, mount := range map[string]func(base string) error{
		"another file system": func(base string) error { return unix.Mount("none", base+"/allow/d/m", "tmpfs", 0, "size=1m") },
		"a part of the same": func(base string) error {
			return unix.Mount(base+"/out", base+"/allow/d/m", "", unix.MS_BIND, "")
		},
	} {
		base := fixture(t, "allow/d/m/", "allow/d/f: x")
		if err := mount(base); err != nil {
			t.Skipf("SKIPPED: mounting: %v", err)
		}
		refusedAsAWhole(t, what, base, roots(t, base+"/allow", confine.Options{}), "d", fault.Forbidden, "d/m")
		refusedAsAWhole(t, what, base, roots(t, base+"/allow", confine.Options{}), "d/m", fault.Forbidden, "d/m")
		must(t, unix.Unmount(base+"/allow/d/m", unix.MNT_DETACH))
	}
}

// A tmpfs may ignore case (Linux 6.13).
func TestAFileIsMovedToAnotherCaseOfItsName(t *testing.T) {
	base := fixture(t)
	dir := base + "/allow"
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m,casefold"); err != nil {
		t.Skipf("SKIPPED: no file system here ignores case: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	f, err := os.Open(dir)
	must(t, err)
	const casefold = 0x40000000 // FS_CASEFOLD_FL
	err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, casefold)
	must(t, f.Close())
	if err != nil {
		t.Skipf("SKIPPED: no directory here ignores case: %v", err)
	}
	plant(t, base, "allow/name: text")
	plant(t, base, "allow/dir/")
	r := roots(t, dir, confine.Options{})
	var w replace.Writer
	for from, to := range map[string]string{"name": "NAME", "dir": "Dir"} {
		if _, err := w.Move(background, path(t, r, from), path(t, r, to), replace.MoveOptions{}); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
	if names(t, dir) != "Dir NAME" || content(dir+"/NAME") != "text" {
		t.Error(names(t, dir))
	}
}
