package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/fault"
)

const harmless, hostile = "echo before\n", "echo after\n"

// runs is what a shell makes of the file.
func (w fixture) runs(name string) string {
	w.t.Helper()
	c := exec.Command("sh", "-c", "./"+name)
	c.Dir = w.dir
	out, _ := c.CombinedOutput() // it may not be executable
	return string(out)
}

// withBit are ways in which a file comes to have an executable bit.
var withBit = map[string]func(t *testing.T, path string){
	"everybody's":       func(t *testing.T, path string) { chmod(t, path, 0o755) },
	"the owner's":       func(t *testing.T, path string) { chmod(t, path, 0o700) },
	"the group's":       func(t *testing.T, path string) { chmod(t, path, 0o654) },
	"the others'":       func(t *testing.T, path string) { chmod(t, path, 0o645) },
	"with set-user-ID":  func(t *testing.T, path string) { chmod(t, path, 0o755|os.ModeSetuid) },
	"with set-group-ID": func(t *testing.T, path string) { chmod(t, path, 0o755|os.ModeSetgid) },
	"with another name": func(t *testing.T, path string) { chmod(t, path, 0o755); fatal(t, os.Link(path, path+".link")) },
	"by an access control list": func(t *testing.T, path string) {
		list := binary.LittleEndian.AppendUint32(nil, 2) // the version, then entries: tag, permissions, ID
		for _, e := range []struct {
			tag, perm uint16
			id        uint32
		}{{1, 6, 1<<32 - 1}, {2, 5, 65534}, {4, 4, 1<<32 - 1}, {16, 5, 1<<32 - 1}, {32, 4, 1<<32 - 1}} {
			list = binary.LittleEndian.AppendUint16(list, e.tag)
			list = binary.LittleEndian.AppendUint16(list, e.perm)
			list = binary.LittleEndian.AppendUint32(list, e.id)
		}
		chmod(t, path, 0o644)
		if err := unix.Setxattr(path, "system.posix_acl_access", list, 0); err != nil {
			t.Skipf("there are no access control lists here: %v", err)
		}
	},
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	fatal(t, os.Chmod(path, mode))
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheContentOfAFileWithAnExecutableBitStays(t *testing.T) {
	old, content := "before", hostile
	for what, make := range withBit {
		for act, do := range map[string]func(w fixture) error{
			"overwrite": func(w fixture) error {
				_, err := w.write(t.Context(), writeIn{Path: "x", Content: hostile, Overwrite: true})
				return err
			},
			"empty": func(w fixture) error {
				_, err := w.write(t.Context(), writeIn{Path: "x", Overwrite: true})
				return err
			},
			"append": func(w fixture) error {
				_, err := w.write(t.Context(), writeIn{Path: "x", Content: hostile, Append: true})
				return err
			},
			"edit": func(w fixture) error {
				_, err := w.edit(t.Context(), editIn{Path: "x", Old: &old, New: &content})
				return err
			},
			"look at an edit": func(w fixture) error {
				_, err := w.edit(t.Context(), editIn{Path: "x", Old: &old, New: &content, DryRun: true})
				return err
			},
			"copy over it": func(w fixture) error {
				_, err := w.copy(t.Context(), copyIn{Source: "text", Destination: "x", Overwrite: true})
				return err
			},
			"restore": func(w fixture) error { return w.restored("x") },
			"move": func(w fixture) error {
				_, err := w.move(t.Context(), moveIn{Source: "x", Destination: "build"})
				return err
			},
		} {
			t.Run(what+", "+act, func(t *testing.T) {
				w := newFixture(t, "x="+harmless, "text="+hostile)
				if act == "restore" {
					w.holdsNow("x", hostile)
					w.holdsNow("x", harmless)
				}
				make(t, filepath.Join(w.dir, "x"))
				if act == "overwrite" && what == "everybody's" && w.runs("x") != "before\n" {
					t.Fatal("a file with the bit does not run here")
				}
				is(t, act, do(w), fault.Forbidden)
				w.holds(act, "x", harmless)
			})
		}
	}
}

// holdsNow changes a file through the server.
func (w fixture) holdsNow(name, content string) {
	w.t.Helper()
	_, err := w.write(w.t.Context(), writeIn{Path: name, Content: content, Overwrite: true})
	fatal(w.t, err)
}

// restored puts back what was in a file before the last change.
func (w fixture) restored(name string) error {
	w.t.Helper()
	changes, err := w.past.List(history.Filter{Beneath: []string{filepath.Join(w.dir, name)}, Limit: 1})
	fatal(w.t, err)
	_, err = w.restore(w.t.Context(), restoreIn{ID: changes[0].ID})
	return err
}

func TestWhatTakesThePlaceOfAnExecutableIsNone(t *testing.T) {
	for what, make := range withBit {
		t.Run(what, func(t *testing.T) {
			w := newFixture(t, "x="+harmless, "text="+hostile)
			make(t, filepath.Join(w.dir, "x"))
			_, err := w.move(t.Context(), moveIn{Source: "text", Destination: "x", Overwrite: true})
			is(t, "move over it", err, nil)
			w.isText("x", hostile)
			w = newFixture(t, "x="+harmless)
			make(t, filepath.Join(w.dir, "x"))
			_, err = w.copy(t.Context(), copyIn{Source: "x", Destination: "y"})
			is(t, "copy it", err, nil)
			w.isText("y", harmless)
			out, err := w.delete(t.Context(), deleteIn{Path: "x"})
			if is(t, "delete it", err, nil); err == nil {
				_, err = w.restore(t.Context(), restoreIn{ID: out.TrashID})
				is(t, "restore it", err, nil)
				w.isText("x", harmless)
			}
		})
	}
}

// isText checks that a file has this content and that nobody can execute it.
func (w fixture) isText(name, content string) {
	w.t.Helper()
	w.holds("afterwards", name, content)
	info, err := os.Stat(filepath.Join(w.dir, name))
	fatal(w.t, err)
	if info.Mode().Perm()&0o111 != 0 {
		w.t.Errorf("%s has mode %v", name, info.Mode())
	}
}

func TestAllowedScriptsMayBeChangedWhereTheyAreExecutable(t *testing.T) {
	w := worldWith(t, noLinks, []string{"application/x-sh"}, nil, "x="+harmless)
	chmod(t, filepath.Join(w.dir, "x"), 0o755)
	_, err := w.write(t.Context(), writeIn{Path: "x", Content: hostile, Overwrite: true})
	is(t, "with shell scripts allowed", err, nil)
	if w.runs("x") != "after\n" {
		t.Error("it lost its executable bit")
	}
	is(t, "a server without", func() error {
		_, err := w.stricter().write(t.Context(), writeIn{Path: "x", Content: harmless, Overwrite: true})
		return err
	}(), fault.Forbidden)
}
