package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/hosts"
)

const cursors = `{
  // mine
  "mcpServers": {
    "other": { "command": "x" } // stays
  }
}
`

// cursor writes the user's file of Cursor, and gives its path.
func (w *fixture) cursor(t *testing.T, text string) string {
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
	w := newFixture(t)
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

func TestADryRunPrintsTheDifferenceAndChangesNothing(t *testing.T) {
	w := newFixture(t)
	w.executable = "/opt/fake-server"
	path := w.cursor(t, cursors)
	r := w.must(t, 0, "install", "cursor", "--dry-run")
	want := "--- " + path + "\n+++ " + path + `
@@ -1,6 +1,13 @@
 {
   // mine
   "mcpServers": {
-    "other": { "command": "x" } // stays
+    "other": { "command": "x" }, // stays
+    "fake-server": {
+      "command": "/opt/fake-server",
+      "args": [
+        "--allow-path",
+        "` + w.dir + `"
+      ]
+    }
   }
 }
`
	if r.out != want {
		t.Errorf("it printed\n%s\nwant\n%s", r.out, want)
	}
	if read(t, path) != cursors || backups(t, path) != nil {
		t.Error("it changed something")
	}
	w.must(t, 0, "install", "zed", "--dry-run")
	if _, err := os.Stat(filepath.Join(w.state, ".config")); err == nil {
		t.Error("it made a directory")
	}
}

func TestANewFileIsPrivateAndHoldsWhatConfigPrints(t *testing.T) {
	for _, host := range hosts.Names() {
		w := newFixture(t)
		w.executable = "/opt/fake-server"
		if host == "jetbrains" {
			contains(t, "stderr", w.must(t, 1, "install", host).errors, "only a dialog", "Settings > Tools")
			continue
		}
		path := w.in("new/dir/config" + map[string]string{"codex": ".toml", "goose": ".yaml", "continue": ".yaml"}[host])
		w.must(t, 0, "install", host, "--file", path)
		if got, want := read(t, path), w.must(t, 0, "config", host).out; got != want {
			t.Errorf("%s: it holds\n%s\nwant\n%s", host, got, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", host, info, err)
		}
		w.must(t, 0, "uninstall", host, "--file", path)
		if text := read(t, path); strings.Contains(text, "/opt/fake-server") {
			t.Errorf("%s: it still holds %s", host, text)
		}
	}
}

func TestInstallRefusesWhatItCannotDoRightly(t *testing.T) {
	for _, c := range []struct {
		what, text string
		args       []string
		code       int
		says       []string
	}{
		{"a file that does not parse", "{\n  \"mcpServers\": {,}\n}", nil, 2, []string{"mcp.json", "does not parse", "line 2, column 18"}},
		{"a file that is cut off", "{\n  \"mcpServers\": {", nil, 2, []string{"does not parse", "line 2"}},
		{"servers that are a list", `{"mcpServers": []}`, nil, 2, []string{"mcpServers", "cannot hold servers"}},
		{"a container that stands twice", `{"mcpServers": {}, "mcpServers": {}}`, nil, 2, []string{"twice"}},
		{"an entry that starts something else", `{"mcpServers": {"fake-server": {"command": "/bin/sh"}}}`, nil, 1, []string{"starts something else", "--replace"}},
		{"a name that is none", `{}`, []string{"--name", "a b"}, 2, []string{"no name for a server"}},
		{"what the host would replace", `{}`, []string{"--allow-path", "${HOME}"}, 2, []string{"replaces what follows ${"}},
		{"settings that make no sense", `{}`, []string{"--results", "x"}, 2, []string{"results"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			w.executable = "/opt/fake-server"
			path := w.cursor(t, c.text)
			contains(t, "stderr", w.must(t, c.code, append([]string{"install", "cursor"}, c.args...)...).errors, c.says...)
			if read(t, path) != c.text || backups(t, path) != nil {
				t.Error("it changed something")
			}
		})
	}
}

func TestUninstallLeavesWhatIsNotOurs(t *testing.T) {
	const text = `{"mcpServers": {"fake-server": {"command": "/bin/sh"}, "mine": {"command": "/old/fake-server"}}}`
	w := newFixture(t)
	path := w.cursor(t, text)
	contains(t, "stderr", w.must(t, 1, "uninstall", "cursor").errors, "starts something else than fake-server")
	if read(t, path) != text {
		t.Error("it changed something")
	}
	w.must(t, 0, "uninstall", "cursor", "--name", "mine")
	if got := read(t, path); got != `{"mcpServers": {"fake-server": {"command": "/bin/sh"}}}` {
		t.Errorf("it became %s", got)
	}
	w.must(t, 0, "install", "cursor", "--replace")
	if got := read(t, path); strings.Contains(got, "/bin/sh") || !strings.Contains(got, w.dir) {
		t.Errorf("it became %s", got)
	}
}

func TestAnEntryOfOursKeepsWhatWasAddedToIt(t *testing.T) {
	w := newFixture(t)
	w.executable = "/new/fake-server"
	path := w.cursor(t, `{"mcpServers": {
  "fake-server": {"command": "/old/fake-server", "args": ["--results", "text"], "env": {"A": "b"}} // mine
}}`)
	w.must(t, 0, "install", "cursor", "--allow-path", "/p")
	want := `{"mcpServers": {
  "fake-server": {"command": "/new/fake-server", "args": ["--allow-path", "/p"], "env": {"A": "b"}} // mine
}}`
	if got := read(t, path); got != want {
		t.Errorf("it became\n%s", got)
	}
}

func TestALinkStaysAndWhatItNamesIsReplaced(t *testing.T) {
	w := newFixture(t)
	dotfiles := w.in("dotfiles.json")
	must(t, os.WriteFile(dotfiles, []byte(cursors), 0o600))
	must(t, os.MkdirAll(filepath.Join(w.state, ".cursor"), 0o700))
	path := filepath.Join(w.state, ".cursor", "mcp.json")
	link(t, dotfiles, path)
	w.must(t, 0, "install", "cursor")
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
	contains(t, "the file", read(t, dotfiles), "fake-server")
	if n := len(backups(t, dotfiles)); n != 1 {
		t.Errorf("%d copies beside the file", n)
	}
	must(t, os.Remove(dotfiles))
	contains(t, "stderr", w.must(t, 2, "install", "cursor").errors, "a symbolic link to nothing")
}

func TestServersThatAreInstalledAtTheSameTimeAreAllThere(t *testing.T) {
	w := newFixture(t)
	path := w.cursor(t, cursors)
	const n = 4
	codes := make(chan int, n)
	for i := range n {
		go func() { codes <- w.run(t, "install", "cursor", "--name", string(rune('a'+i))).code }()
	}
	for range n {
		if code := <-codes; code != 0 {
			t.Errorf("one ended with %d", code)
		}
	}
	text := read(t, path)
	for _, name := range []string{"a", "b", "c", "d", "other"} {
		contains(t, "the file", text, `"`+name+`": {`)
	}
}

func TestTheProjectHasAFileOfItsOwn(t *testing.T) {
	w := newFixture(t)
	w.must(t, 0, "install", "claude-code", "--project")
	contains(t, "the project's file", read(t, w.in(".mcp.json")), "fake-server")
	w.must(t, 0, "install", "continue", "--project", "--name", "reader")
	contains(t, "a file of its own", read(t, w.in(".continue/mcpServers/reader.yaml")), `name: "reader"`, "schema:")
	contains(t, "stderr", w.must(t, 1, "install", "windsurf", "--project").errors, "no configuration file of a project")
}

func TestInstallWithoutAHostSaysWhichAreHere(t *testing.T) {
	w := newFixture(t)
	w.cursor(t, "{}")
	r := w.must(t, 0, "install")
	first := strings.Split(r.out, "\n")[1]
	if !strings.HasPrefix(first, "cursor ") || !strings.Contains(first, "here") {
		t.Errorf("the first is %q", first)
	}
	contains(t, "the list", r.out, hosts.Names()...)
	if strings.Count(r.out, "  here  ") != 1 {
		t.Errorf("others are here too:\n%s", r.out)
	}
}
