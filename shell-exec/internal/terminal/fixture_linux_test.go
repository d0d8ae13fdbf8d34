package terminal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// fixture is sessions in the real sandbox, and a directory to work in.
type fixture struct {
	*Sessions
	t     testing.TB
	dir   string
	store *output.Store
	rules sandbox.Rules
}

func TestMain(m *testing.M) {
	sandbox.Helper()
	os.Exit(m.Run())
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Auto, Level: 1, Home: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	store, err := output.Open(filepath.Join(t.TempDir(), "outputs"), "p", output.Limits{}, time.Now)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	c := Config{Starter: process.Sandboxed(box), Open: box.Terminal, Store: store}
	for _, f := range change {
		f(&c)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &fixture{Sessions: New(c), t: t, dir: dir, store: store, rules: sandbox.Rules{Write: []*confine.Grant{mcptest.Grant(dir)}}}
	t.Cleanup(func() { must(t, w.CloseAll()) })
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("%v, want %s", err, code)
	}
}

// need skips where a program is not installed.
func need(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed here", name)
	}
	return path
}

func (w *fixture) request(argv ...string) Request {
	w.t.Helper()
	return Request{Text: strings.Join(argv, " "), Name: filepath.Base(argv[0]), Command: sandbox.Command{
		Path: need(w.t, argv[0]), Args: argv, Dir: w.dir, Rules: w.rules,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + w.dir, "TERM=xterm-256color", "LANG=C.UTF-8", "PS1=ready> ", "HISTFILE=", "TMPDIR=" + w.dir}}}
}

// open starts a program in a terminal.
func (w *fixture) open(argv ...string) Info {
	w.t.Helper()
	i, err := w.Create(w.t.Context(), w.request(argv...))
	must(w.t, err)
	return i
}

// shell starts a shell and waits for its prompt.
func (w *fixture) shell(kind string) Info {
	w.t.Helper()
	argv, err := ShellCommand(kind)
	must(w.t, err)
	q := w.request(argv...)
	q.Shell = kind
	i, err := w.Create(w.t.Context(), q)
	must(w.t, err)
	w.until(i.ID, WaitFor{Pattern: "ready> $|> $|[#$%] $", Since: Start})
	return i
}

func allow(Pending) (Verdict, error) { return Verdict{Complete: true}, nil }

// send types something, which everybody allows.
func (w *fixture) send(in Input) Sent {
	w.t.Helper()
	if in.Judge == nil {
		in.Judge = allow
	}
	s, err := w.Send(w.t.Context(), in)
	must(w.t, err)
	return s
}

func (w *fixture) enter(id, text string) {
	w.t.Helper()
	w.send(Input{ID: id, Text: text, Execute: true})
}

// until waits for something, which must come.
func (w *fixture) until(id string, wait WaitFor) Output {
	w.t.Helper()
	wait.Deadline = 30 * time.Second
	o, err := w.Output(w.t.Context(), Query{ID: id, Screen: true, Foreground: true, Wait: &wait})
	must(w.t, err)
	want := Matched
	switch {
	case wait.Exit:
		want = HasExited
	case wait.Pattern == "":
		want = WentQuiet
	}
	if o.Happened != want {
		w.t.Fatalf("%s, waiting for %+v; the screen is\n%s", o.Happened, wait, strings.Join(o.Lines, "\n"))
	}
	return o
}

func (w *fixture) screen(id string) string {
	w.t.Helper()
	o, err := w.Output(context.Background(), Query{ID: id, Screen: true})
	must(w.t, err)
	return strings.TrimRight(strings.Join(o.Lines, "\n"), "\n")
}

// eventually looks until something holds.
func eventually(holds func() bool) bool {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}

// write makes a file in the fixture.
func (w *fixture) write(name, text string) {
	w.t.Helper()
	must(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o700))
}
