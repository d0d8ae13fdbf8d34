package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const cursors = `{
  // mine
  "mcpServers": {
    "other": { "command": "x" } // stays
  }
}
`

// cursor writes the user's file of Cursor, and gives its path.
func (w *world) cursor(t *testing.T, text string) string {
	t.Helper()
	dir := filepath.Join(w.state, ".cursor")
	must(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "mcp.json")
	must(t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// backups are the files beside path that are copies of it.
func backups(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(path + ".bak*")
	must(t, err)
	return found
}

func TestInstallAndUninstallLeaveTheFileAsItWas(t *testing.T) {
	w := newWorld(t)
	w.executable = "/opt/fake-server"
	path := w.cursor(t, cursors)
	r := w.must(t, 0, "install", "cursor", "--allow-path", "docs")
	contains(t, "stdout", r.out, "is registered with Cursor now", path)
	with := read(t, path)
	contains(t, "the file", with, "// mine", `{ "command": "x" }, // stays`, `"command": "/opt/fake-server"`, w.in("docs"))
	contains(t, "a second time", w.must(t, 0, "install", "cursor", "--allow-path", "docs").out, "already, just so")
	if got := read(t, path); got != with {
		t.Errorf("a second time changed it to %s", got)
	}
	contains(t, "stdout", w.must(t, 0, "uninstall", "cursor").out, "not registered with Cursor any more")
	if got := read(t, path); got != cursors {
		t.Errorf("it became\n%s", got)
	}
	contains(t, "again", w.must(t, 0, "uninstall", "cursor").out, "nothing to take out")
	kept := backups(t, path)
	if len(kept) != 2 {
		t.Fatalf("there are %d copies", len(kept))
	}
	if texts := []string{read(t, kept[0]), read(t, kept[1])}; !slices.Contains(texts, cursors) || !slices.Contains(texts, with) {
		t.Errorf("the copies are %q", texts)
	}
	for _, file := range append(kept, path) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}
