//go:build unix

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
)

// registered writes an entry of Cursor that starts this test as the fake server.
func (w *world) registered(t *testing.T, change func(map[string]any)) {
	t.Helper()
	binary, err := os.Executable()
	must(t, err)
	w.executable = binary
	entry := map[string]any{
		"command": binary,
		"args":    []string{"--allow-path", w.dir, "--restrict", "off"},
		"env":     map[string]string{asServer: "1"},
	}
	if change != nil {
		change(entry)
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"fake-server": entry}})
	must(t, err)
	w.cursor(t, string(raw))
}

// script is a program of sh.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake-server")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

func TestDoctorStartsWhatAHostHasRegistered(t *testing.T) {
	w := newWorld(t)
	w.registered(t, nil)
	r := w.must(t, 0, "doctor", "--host", "cursor")
	contains(t, "doctor", r.out, "ok    cursor        fake-server in ", "mcp.json answers as version 1.2.3 after ", "offers 2 tools",
		"a model can read and change everything beneath "+w.dir+"; can start no program; cannot reach the network")
	if strings.Contains(r.out, "bad ") || strings.Contains(r.out, "modern") {
		t.Error(r.out)
	}
	asJSON := checks(t, w.must(t, 0, "doctor", "--host", "cursor", "--json"))
	if asJSON["cursor"] == nil || len(asJSON) != 1 {
		t.Errorf("got %v", asJSON)
	}
}

func TestDoctorSaysWhatIsWrongWithARegistration(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*testing.T, *world, map[string]any)
		code   int
		says   string
	}{
		{"no binary", func(_ *testing.T, w *world, e map[string]any) { e["command"] = w.in("fake-server") }, 1, "is not there"},
		{"a binary that is none", func(t *testing.T, w *world, e map[string]any) {
			must(t, writeFile("fake-server", "x"))
			e["command"] = w.in("fake-server")
		}, 1, "cannot be executed"},
		{"a name alone", func(_ *testing.T, _ *world, e map[string]any) { e["command"] = "fake-server" }, 1, "no absolute path"},
		{"a directory that is gone", func(_ *testing.T, w *world, e map[string]any) { e["args"] = []string{"--allow-path", w.in("gone")} }, 1, "gone"},
		{"a place to start in that is gone", func(_ *testing.T, w *world, e map[string]any) { e["cwd"] = w.in("gone") }, 1, "where it is started, is not there"},
		{"an entry that is off", func(_ *testing.T, _ *world, e map[string]any) { e["disabled"] = true }, 0, "is switched off"},
		{"the home directory", func(_ *testing.T, w *world, e map[string]any) { e["args"] = []string{"--allow-path", w.state} }, 0, "the whole home directory"},
		{"settings that make no sense", func(_ *testing.T, _ *world, e map[string]any) { e["args"] = []string{"--alow-path", "x"} }, 1, "Did you mean --allow-path?"},
		{"words on stdout", func(t *testing.T, w *world, e map[string]any) {
			e["command"] = script(t, "[ \"$1\" = doctor ] || echo welcome\nexec "+w.executable+` "$@"`)
		}, 0, `writes to stdout what is no message: "welcome"`},
		{"an older version", func(t *testing.T, w *world, _ map[string]any) { w.program.Version = "1.3.0" }, 0, "is version 1.2.3, older than this one, 1.3.0"},
		{"what ends at once", func(t *testing.T, _ *world, e map[string]any) {
			e["command"] = script(t, "echo no library >&2; exit 1")
		}, 1, "no library"},
		{"what the host replaces", func(_ *testing.T, _ *world, e map[string]any) {
			e["args"] = []string{"--allow-path", "${workspaceFolder}"}
		}, 0, "only the host can replace"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newWorld(t)
			w.registered(t, func(e map[string]any) { c.change(t, w, e) })
			contains(t, "doctor", w.must(t, c.code, "doctor", "--host", "cursor").out, c.says)
		})
	}
}

func TestAServerThatSaysNothingIsEndedWithWhatItStarted(t *testing.T) {
	w := newWorld(t)
	w.limit = time.Second
	w.registered(t, func(e map[string]any) {
		e["command"] = script(t, "trap '' TERM\nsleep 600 &\necho $! $$ >"+w.in("pids")+"\nwait")
	})
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursor").out, "no answer to initialize in time")
	pids := strings.Fields(read(t, w.in("pids")))
	if len(pids) != 2 {
		t.Fatalf("it never ran: %q", pids)
	}
	for _, pid := range pids {
		for i := 0; alive(pid); i++ { // a kill takes a moment
			if i == 1000 {
				t.Fatalf("%s lives", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// alive says that a process is there and no zombie.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(after, "Z")
}

func TestWithoutAHostEachRegistrationIsStartedOnce(t *testing.T) {
	w := newWorld(t)
	w.registered(t, nil)
	text := read(t, filepath.Join(w.state, ".cursor", "mcp.json"))
	for _, file := range []string{".gemini/settings.json", ".codeium/windsurf/mcp_config.json"} {
		path := filepath.Join(w.state, file)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	r := w.must(t, 0, "doctor", "--restrict", "off")
	contains(t, "doctor", r.out, "ok    a model", "cursor", "as with cursor", "windsurf")
	if n := strings.Count(r.out, "answers as version"); n != 1 {
		t.Errorf("%d were started:\n%s", n, r.out)
	}
}

func TestWhatAProjectNamesIsStartedOnlyWhereThatIsAsked(t *testing.T) {
	w := newWorld(t)
	w.registered(t, nil)
	must(t, os.Rename(filepath.Join(w.state, ".cursor"), w.in(".cursor")))
	for _, args := range [][]string{{"doctor"}, {"doctor", "--host", "cursor"}} {
		r := w.must(t, 0, args...)
		contains(t, "doctor", r.out, "is not started: the file of a project can come from anybody")
		if strings.Contains(r.out, "answers as") {
			t.Errorf("it was started:\n%s", r.out)
		}
	}
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "cursor", "--project").out, "answers as version 1.2.3")
}

func TestDoctorSaysThatNothingIsRegistered(t *testing.T) {
	w := newWorld(t)
	contains(t, "doctor", w.must(t, 0, "doctor").out, "registered with no host")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "zed").out, "not registered with Zed")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursr").out, "Did you mean cursor?")
	w.cursor(t, "{ x")
	contains(t, "doctor", w.must(t, 0, "doctor").out, "warn  cursor", "line 1, column 3")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursor").out, "bad   cursor")
}

func TestAnotherProgramIsNotStarted(t *testing.T) {
	w := newWorld(t)
	w.registered(t, func(e map[string]any) { e["command"] = "/bin/sh" })
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursor").out, "not registered with Cursor")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursor", "--name", "fake-server").out, "which is not fake-server")
}

func TestVersionsAreCompared(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		older bool
	}{{"1.2.3", "1.2.4", true}, {"v1.9.0", "1.10.0", true}, {"1.2.3", "1.2.3", false}, {"2.0.0", "1.9.9", false}, {"devel", "1.0.0", false}, {"1.0.0", "(devel)", false}} {
		if got := command.Older(c.a, c.b); got != c.older {
			t.Errorf("%s older than %s: %v", c.a, c.b, got)
		}
	}
}
