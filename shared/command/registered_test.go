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
func (w *fixture) registered(t *testing.T, change func(map[string]any)) {
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

// spoken is a server of a few lines, which starts at once: it answers in both eras,
// and doctor.
const spoken = `[ "$1" = doctor ] && { echo '[{"verdict":"ok","subject":"a model","text":"can read a bit"}]'; exit; }
read -r hello
echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"version":"1.2.3"}}}'
while read -r line; do
	case $line in *tools/list*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{},{}]}}' ;; esac
done
`

// speaking registers it, with a line before it.
func (w *fixture) speaking(t *testing.T, before string) {
	t.Helper()
	w.registered(t, func(e map[string]any) { e["command"] = script(t, before+"\n"+spoken) })
}

func TestDoctorStartsWhatAHostHasRegistered(t *testing.T) {
	w := newFixture(t)
	w.registered(t, nil)
	r := w.must(t, 0, "doctor", "--host", "cursor")
	contains(t, "doctor", r.out, "ok    cursor        fake-server in ", "mcp.json answers as version 1.2.3 after ", "offers 2 tools",
		"a model can read and change everything beneath "+w.dir+"; can start no program; cannot reach the network",
		"warn  cursor        restriction: is off")
	if strings.Contains(r.out, "protocol") {
		t.Errorf("it does not speak both eras:\n%s", r.out)
	}
}

func TestARegistrationIsToldAsJSONToo(t *testing.T) {
	w := newFixture(t)
	w.speaking(t, "")
	if got := checks(t, w.must(t, 0, "doctor", "--host", "cursor", "--json")); got["cursor"]["verdict"] != "ok" || len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestARegisteredServerGetsTheEnvironmentOfAHost(t *testing.T) {
	w := newFixture(t)
	w.environ = append(w.environ, "SECRET=x", "PATH=/nowhere")
	w.speaking(t, "env >"+w.in("env")+"; pwd >>"+w.in("env"))
	w.must(t, 0, "doctor", "--host", "cursor")
	env := read(t, w.in("env"))
	contains(t, "its environment", env, "PATH=/usr/bin:", "HOME="+w.state, asServer+"=1", "\n"+w.state+"\n")
	if strings.Contains(env, "SECRET") {
		t.Errorf("it has %s", env)
	}
}

func TestDoctorSaysWhatIsWrongWithARegistration(t *testing.T) {
	set := func(key string, value any) func(*testing.T, *fixture) {
		return func(t *testing.T, w *fixture) { w.registered(t, func(e map[string]any) { e[key] = value }) }
	}
	speaks := func(before string) func(*testing.T, *fixture) {
		return func(t *testing.T, w *fixture) { w.speaking(t, before) }
	}
	for _, c := range []struct {
		what    string
		prepare func(*testing.T, *fixture)
		code    int
		says    string
	}{
		{"no binary", set("command", "/nowhere/fake-server"), 1, "/nowhere/fake-server is not there"},
		{"a binary that is none", func(t *testing.T, w *fixture) {
			must(t, writeFile("fake-server", "x"))
			set("command", w.in("fake-server"))(t, w)
		}, 1, "cannot be executed"},
		{"a name alone", set("command", "fake-server"), 1, "no absolute path"},
		{"a place to start in that is gone", set("cwd", "/nowhere"), 1, "where it is started, is not there"},
		{"an entry that is off", set("disabled", true), 0, "is switched off"},
		{"what the host replaces", set("args", []string{"--allow-path", "${workspaceFolder}"}), 0, "only the host can replace"},
		{"what ends at once", speaks("echo the directory is gone >&2; exit 1"), 1, "it wrote: the directory is gone"},
		{"words on stdout", speaks(`[ "$1" = doctor ] || echo welcome`), 0, `writes to stdout what is no message: "welcome"`},
		{"an older version", func(t *testing.T, w *fixture) { w.speaking(t, ""); w.program.Version = "1.3.0" }, 0, "is version 1.2.3, older than this one, 1.3.0"},
		{"one era alone", speaks(`[ "$1" = doctor ] || { read -r hello; case $hello in *discover*) echo '{"jsonrpc":"2.0","id":1,"error":{"message":"unknown method"}}'; exit ;; esac
			echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read -r line; read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}'; exit; }`),
			0, "does not speak the protocol of 2026-07-28: it refuses server/discover: unknown method"},
		{"a refusal", speaks(`echo '{"jsonrpc":"2.0","id":1,"error":{"message":"too many"}}'`), 1, "it refuses initialize: too many"},
		{"one that cannot examine itself", speaks(`[ "$1" = doctor ] && exit 2`), 0, "does not say what a model can touch"},
		{"what it finds itself", speaks(`[ "$1" = doctor ] && { echo '[{"verdict":"warn","subject":"directory","text":"is the whole home"},{"verdict":"ok","subject":"x","text":"y"}]'; exit; }`), 0, "warn  cursor        directory: is the whole home"},
		{"what it finds bad itself", speaks(`[ "$1" = doctor ] && { echo '[{"verdict":"bad","subject":"directory","text":"is gone"}]'; exit 1; }`), 1, "bad   cursor        directory: is gone"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			c.prepare(t, w)
			contains(t, "doctor", w.must(t, c.code, "doctor", "--host", "cursor").out, c.says)
		})
	}
}

func TestAServerThatSaysNothingIsEndedWithWhatItStarted(t *testing.T) {
	w := newFixture(t)
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
			if i == 10_000 {
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
	w := newFixture(t)
	w.speaking(t, "")
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

func TestWhatWasNotStartedForOneHostIsForAnother(t *testing.T) {
	w := newFixture(t)
	w.speaking(t, "")
	user := filepath.Join(w.state, ".cursor", "mcp.json")
	text := read(t, user)
	other := filepath.Join(w.state, ".codeium", "windsurf", "mcp_config.json")
	must(t, os.MkdirAll(filepath.Dir(other), 0o700))
	must(t, os.WriteFile(other, []byte(text), 0o600))
	must(t, os.WriteFile(user, []byte(strings.Replace(text, `{"args"`, `{"disabled":true,"args"`, 1)), 0o600))
	contains(t, "doctor", w.must(t, 0, "doctor", "--restrict", "off").out, "warn  cursor ", "is switched off", "ok    windsurf ", "answers as version 1.2.3")
}

func TestWhatAProjectNamesIsStartedOnlyWhereThatIsAsked(t *testing.T) {
	w := newFixture(t)
	w.speaking(t, "")
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

func TestWhatAFileNamesDoesNothingToATerminal(t *testing.T) {
	w := newFixture(t)
	must(t, os.Mkdir(w.in(".cursor"), 0o700))
	must(t, os.WriteFile(w.in(".cursor/mcp.json"), []byte(`{"mcpServers": {"x\u001b[2J\nok    all": {"command": "fake-server"}}}`), 0o600))
	r := w.must(t, 0, "doctor", "--host", "cursor")
	contains(t, "doctor", r.out, `ok    cursor        x\x1b[2J\nok    all in `)
	if strings.Contains(r.out, "\x1b") || strings.Count(r.out, "\nok ") > 0 {
		t.Errorf("it printed %q", r.out)
	}
}

func TestInTheHomeDirectoryTheFileOfTheProjectIsThatOfTheUser(t *testing.T) {
	w := newFixture(t)
	w.speaking(t, "")
	t.Chdir(w.state)
	r := w.must(t, 0, "doctor", "--host", "cursor")
	if n := strings.Count(r.out, " in "+w.state); n != 1 {
		t.Errorf("it is named %d times:\n%s", n, r.out)
	}
}

func TestDoctorSaysThatNothingIsRegistered(t *testing.T) {
	w := newFixture(t)
	contains(t, "doctor", w.must(t, 0, "doctor").out, "registered with no host")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "zed").out, "not registered with Zed")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursr").out, "Did you mean cursor?")
	w.cursor(t, "{ x")
	contains(t, "doctor", w.must(t, 0, "doctor").out, "warn  cursor", "line 1, column 3")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "cursor").out, "bad   cursor")
}

func TestAnotherProgramIsNotStarted(t *testing.T) {
	w := newFixture(t)
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
