package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	reference = "ref: refs/heads/main\n"
	hashed    = "0123456789abcdef0123456789ABCDEF01234567\n"
	command_  = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"echo it ran >&2; false\"\n[alias]\n\tprobe = !echo it ran\n"
)

// ran reports whether git runs the command of a config when it is called in a directory.
func (w fixture) ran(dir string) bool {
	w.t.Helper()
	var said []byte
	for _, command := range []string{"status", "probe"} {
		c := exec.Command("git", command)
		c.Dir = filepath.Join(w.dir, dir)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(w.dir)}
		out, _ := c.CombinedOutput() // it may be no repository
		said = append(said, out...)
	}
	return strings.Contains(string(said), "it ran")
}

// TestGitTakesADirectoryOfAnyNameForARepository is what the tests below defend against.
func TestGitTakesADirectoryOfAnyNameForARepository(t *testing.T) {
	for _, head := range []string{reference, hashed, "ref:\trefs/x", "HEAD => refs/heads/main"} {
		entries := []string{"docs/objects/", "docs/refs/", "docs/config=" + command_}
		if strings.Contains(head, " => ") {
			entries = append(entries, "docs/"+head)
		} else {
			entries = append(entries, "docs/HEAD="+head)
		}
		if w := newFixture(t, entries...); !w.ran("docs") {
			t.Errorf("HEAD %q: git does not run the command", head)
		}
	}
	w := newFixture(t, "docs/HEAD="+reference, "docs/commondir=../lib\n", "lib/objects/", "lib/refs/", "lib/config="+command_)
	if !w.ran("docs") {
		t.Error("with a commondir git does not run the command")
	}
}

func TestNoDirectoryBecomesARepository(t *testing.T) {
	old, part := "nothing\n", reference
	for what, make := range map[string]func(w fixture) error{
		"a reference": func(w fixture) error { return w.put("docs/HEAD", reference) },
		"a hash":      func(w fixture) error { return w.put("docs/HEAD", hashed) },
		"a long hash": func(w fixture) error { return w.put("docs/HEAD", hashed[:40]+hashed[:24]) },
		"other space": func(w fixture) error { return w.put("docs/HEAD", "ref:\t\trefs/heads/x") },
		"no line end": func(w fixture) error { return w.put("docs/HEAD", "ref:refs/x") },
		"other case":  func(w fixture) error { return w.put("docs/head", reference) },
		"a stream":    func(w fixture) error { return w.put("docs/HEAD::$DATA", reference) },
		"a dot":       func(w fixture) error { return w.put("docs/HEAD.", reference) },
		"at the top":  func(w fixture) error { return w.put("HEAD", reference) },
		"overwriting": func(w fixture) error { return w.put("old/HEAD", reference) },
		"appending": func(w fixture) error {
			_, err := w.write(w.t.Context(), writeIn{Path: "half/HEAD", Content: "refs/heads/main\n", Append: true})
			return err
		},
		"editing": func(w fixture) error {
			_, err := w.edit(w.t.Context(), editIn{Path: "old/HEAD", Old: &old, New: &part})
			return err
		},
		"copying": func(w fixture) error {
			_, err := w.copy(w.t.Context(), copyIn{Source: "pointer", Destination: "docs/HEAD"})
			return err
		},
		"copying over": func(w fixture) error {
			_, err := w.copy(w.t.Context(), copyIn{Source: "pointer", Destination: "old/HEAD", Overwrite: true})
			return err
		},
		"moving": func(w fixture) error {
			_, err := w.move(w.t.Context(), moveIn{Source: "pointer", Destination: "docs/HEAD"})
			return err
		},
		"moving over": func(w fixture) error {
			_, err := w.move(w.t.Context(), moveIn{Source: "pointer", Destination: "old/HEAD", Overwrite: true})
			return err
		},
	} {
		w := newFixture(t, "docs/objects/", "docs/refs/", "docs/config="+command_, "old/HEAD="+old, "old/objects/", "old/refs/", "old/config="+command_,
			"half/HEAD=ref:", "half/config="+command_, "pointer="+reference)
		if what == "appending" {
			w = newFixture(t, "half/HEAD= ", "half/objects/", "half/refs/", "half/config="+command_)
			fatal(t, os.WriteFile(filepath.Join(w.dir, "half/HEAD"), []byte(hashed[:39]), 0o644))
			make = func(w fixture) error {
				_, err := w.write(w.t.Context(), writeIn{Path: "half/HEAD", Content: "f\n", Append: true})
				return err
			}
		}
		is(t, what, make(w), fault.Forbidden)
		for _, dir := range []string{"docs", "old", "half", "."} {
			if _, err := os.Stat(filepath.Join(w.dir, dir)); err == nil && w.ran(dir) {
				t.Errorf("%s: git runs the command in %s", what, dir)
			}
		}
	}
}

// put writes a file, whatever was there.
func (w fixture) put(name, content string) error {
	_, err := w.write(w.t.Context(), writeIn{Path: name, Content: content, Overwrite: true, Parents: true})
	return err
}

func TestTheRepositoriesThatAreThereStayAsTheyAre(t *testing.T) {
	heads := map[string]string{"a reference": "docs/HEAD=" + reference, "a hash": "docs/HEAD=" + hashed, "a link": "docs/HEAD => refs/heads/main", "a link to a file": "docs/HEAD => ../pointer"}
	for kind, head := range heads {
		for what, make := range map[string]func(w fixture) error{
			"its config": func(w fixture) error { return w.put("docs/config", command_) },
			"its config, edited": func(w fixture) error {
				o, n := "bare", "bore"
				_, err := w.edit(w.t.Context(), editIn{Path: "docs/config", Old: &o, New: &n})
				return err
			},
			"a worktree's":   func(w fixture) error { return w.put("docs/config.worktree", command_) },
			"a short name":   func(w fixture) error { return w.put("docs/CONFIG~1.WOR", command_) },
			"other case":     func(w fixture) error { return w.put("docs/Config", command_) },
			"a stream":       func(w fixture) error { return w.put("docs/config:x", command_) },
			"a hook":         func(w fixture) error { return w.put("docs/hooks/pre-commit", "id\n") },
			"where to go on": func(w fixture) error { return w.put("docs/commondir", "../lib\n") },
			"an object":      func(w fixture) error { return w.put("docs/objects/x", "x") },
			"a directory": func(w fixture) error {
				_, err := w.createDirectory(w.t.Context(), directoryIn{Path: "docs/hooks"})
				return err
			},
			"a config moved in": func(w fixture) error { return w.moved("evil", "docs/config.worktree") },
			"a config moved over": func(w fixture) error {
				_, err := w.move(w.t.Context(), moveIn{Source: "evil", Destination: "docs/config", Overwrite: true})
				return err
			},
			"hooks moved in": func(w fixture) error { return w.moved("lib", "docs/hooks") },
			"a config copied in": func(w fixture) error {
				_, err := w.copy(w.t.Context(), copyIn{Source: "evil", Destination: "docs/config.worktree"})
				return err
			},
			"its config moved away": func(w fixture) error { return w.moved("docs/config", "x") },
			"it moved":              func(w fixture) error { return w.moved("docs", "other") },
			"what it is in moved":   func(w fixture) error { return w.moved("docs", "deep/other") },
			"it deleted": func(w fixture) error {
				_, err := w.delete(w.t.Context(), deleteIn{Path: "docs", Recursive: true})
				return err
			},
			"a look at what would be": func(w fixture) error {
				_, err := w.write(w.t.Context(), writeIn{Path: "docs/config.worktree", Content: command_, DryRun: true})
				return err
			},
		} {
			w := newFixture(t, "docs/objects/", "docs/refs/", "docs/config=[core]\n\tbare = true\n", head, "evil="+command_, "pointer="+reference, "lib/pre-commit=id\n", "deep/")
			before := w.names()
			is(t, kind+", "+what, make(w), fault.Forbidden)
			if w.names() != before || w.ran("docs") {
				t.Errorf("%s, %s: it happened: %s", kind, what, w.names())
			}
		}
	}
}

func (w fixture) moved(from, to string) error {
	_, err := w.move(w.t.Context(), moveIn{Source: from, Destination: to})
	return err
}

func TestConfigsThatAreNotGitsMayBeWritten(t *testing.T) {
	w := newFixture(t, "notes/HEAD=what the head of the department says\n", "dir/HEAD/x=y")
	for _, name := range []string{"config", "app/config/x.yml", "hooks/use.ts", "objects/a", "refs/a", "notes/config", "dir/config", "notes/hooks/x", "HEAD.txt", "a/HEAD/config"} {
		is(t, name, w.put(name, "text\n"), nil)
	}
	is(t, "a HEAD that git does not know", w.put("a/b/HEAD", "see the chapter on heads\n"), nil)
	is(t, "a reference under another name", w.put("a/TAIL", reference), nil)
	opened := worldWith(t, confine.Options{}, nil, []string{"testdata/**"})
	is(t, "an opened HEAD", opened.put("testdata/bare/HEAD", reference), nil)
	is(t, "an opened config", opened.put("testdata/bare/config", command_), nil)
	is(t, "one elsewhere", opened.put("docs/HEAD", reference), fault.Forbidden)
}
