//go:build linux

package process_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// TestMain is a supervisor where one of the tests starts it as that.
func TestMain(m *testing.M) {
	sandbox.Helper()
	if os.Getenv("PROCESS_TEST_CHILD") != "supervisor" {
		os.Exit(m.Run())
	}
	if err := supervise(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func supervise(jobs, stored string) error {
	os.Unsetenv("PROCESS_TEST_CHILD")
	store, err := output.Open(stored, "p", output.Limits{}, time.Now)
	if err != nil {
		return err
	}
	defer store.Close()
	signals, stop := process.Signals()
	defer stop()
	starter, done, err := held()
	if err != nil {
		return err
	}
	defer done()
	return process.Supervise(process.Config{Starter: starter, Store: store, Jobs: jobs, Project: "p"}, os.Stdin, os.Stdout, signals)
}

// held starts commands in the sandbox.
func held() (process.Starter, func() error, error) {
	s, err := sandbox.New(sandbox.Options{Mode: sandbox.Auto, Level: 1})
	if err != nil {
		return nil, nil, err
	}
	return process.Sandboxed(s), s.Close, nil
}

const markName = "PROCESS_TEST_MARK"

// bare starts commands with os/exec and finds all they start by a variable that they inherit: another way than the
// sandbox has, so that each tells the faults of the other.
type bare struct{}

type bareTree struct {
	cmd          *exec.Cmd
	mark         string
	status       sandbox.Status
	exited, gone chan struct{}
	left         chan struct{}
}

func (bare) Start(_ context.Context, c sandbox.Command, f sandbox.Files) (process.Tree, error) {
	t := &bareTree{mark: markName + "=" + rand.Text(), exited: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{})}
	t.cmd = &exec.Cmd{Path: c.Path, Args: c.Args, Env: append(c.Env, t.mark), Dir: c.Dir, Stdin: f.Stdin, Stdout: f.Stdout, Stderr: f.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go t.watch()
	return t, nil
}

func (t *bareTree) watch() {
	_ = t.cmd.Wait()
	status := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	t.status = sandbox.Status{Code: status.ExitStatus()}
	if status.Signaled() {
		t.status.Signal = unix.SignalName(status.Signal())
	}
	close(t.exited)
	if len(marked(t.mark)) > 0 {
		close(t.left)
	}
	for len(marked(t.mark)) > 0 {
		time.Sleep(50 * time.Millisecond)
	}
	close(t.gone)
}

func (t *bareTree) PID() int                  { return t.cmd.Process.Pid }
func (t *bareTree) Exited() <-chan struct{}   { return t.exited }
func (t *bareTree) Gone() <-chan struct{}     { return t.gone }
func (t *bareTree) Outlived() <-chan struct{} { return t.left }

func (t *bareTree) Wait() sandbox.Status {
	<-t.exited
	return t.status
}

func (t *bareTree) Signal(s syscall.Signal) error {
	for _, pid := range marked(t.mark) {
		_ = syscall.Kill(pid, s)
	}
	return nil
}

func (t *bareTree) Kill() error {
	for len(marked(t.mark)) > 0 {
		_ = t.Signal(syscall.SIGKILL)
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (t *bareTree) Usage() sandbox.Usage { return sandbox.Usage{Processes: len(marked(t.mark))} }

func (t *bareTree) PIDs() []int { return marked(t.mark) }

func (t *bareTree) Close() error {
	defer func() { <-t.gone }()
	return t.Kill()
}

// marked are the processes that have the entry in their environment. Those that have ended have none.
func marked(entry string) []int {
	var pids []int
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(environ, []byte(entry)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// fixture is a runner, its directories, and a variable by which everything it starts is known.
type fixture struct {
	t      *testing.T
	dir    string
	grant  *confine.Grant // dir
	config process.Config
	store  *output.Store
	mark   string
	*process.Runner
}

func newFixture(t *testing.T, change ...func(*process.Config)) *fixture {
	t.Helper()
	dir := t.TempDir()
	w := &fixture{t: t, dir: dir, grant: mcptest.Grant(dir), mark: "PROCESS_TEST_WORLD=" + rand.Text()}
	jobs, stored := filepath.Join(w.dir, "jobs"), filepath.Join(w.dir, "stored")
	var err error
	w.store, err = output.Open(stored, "p", output.Limits{}, time.Now)
	must(t, err)
	t.Cleanup(func() { must(t, w.store.Close()) })
	starter, done, err := held()
	must(t, err)
	t.Cleanup(func() { must(t, done()) })
	w.config = process.Config{Starter: starter, Store: w.store, Jobs: jobs, Project: "p",
		Supervisor: []string{"/usr/bin/env", "SUPERVISOR_" + w.mark, "PROCESS_TEST_CHILD=supervisor", "GORACE=atexit_sleep_ms=0", self(t), jobs, stored}}
	for _, f := range change {
		f(&w.config)
	}
	w.Runner, err = process.New(w.config)
	must(t, err)
	t.Cleanup(func() {
		must(t, w.Runner.Close())
		if !eventually(func() bool {
			for _, pid := range marked("\x00" + w.mark) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return len(marked(w.mark)) == 0
		}) {
			t.Error("something of this test is still there")
		}
	})
	return w
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

// sh is a request to run a script; each change is one wish more.
func (w *fixture) sh(script string, m process.Mode, change ...func(*process.Request)) process.Request {
	q := process.Request{Text: script, Mode: m, Command: sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: w.dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, w.mark},
		Rules: sandbox.Rules{Write: []*confine.Grant{w.grant}}}}
	for _, f := range change {
		f(&q)
	}
	return q
}

func (w *fixture) run(script string, m process.Mode, change ...func(*process.Request)) process.Result {
	w.t.Helper()
	r, err := w.Run(w.t.Context(), w.sh(script, m, change...))
	must(w.t, err)
	return r
}

// alive is how many processes of this fixture there are.
func (w *fixture) alive() int { return len(marked("\x00" + w.mark)) }

// stays until so many processes are alive, or a long time passed.
func (w *fixture) until(n int) {
	w.t.Helper()
	if !eventually(func() bool { return w.alive() == n }) {
		w.t.Fatalf("%d processes are alive, not %d", w.alive(), n)
	}
}

// stored is all that the store has of an output.
func (w *fixture) stored(r process.Record) string {
	w.t.Helper()
	must(w.t, w.Stored(w.t.Context()))
	var all strings.Builder
	for _, part := range []string{"stdout", "stderr"} {
		text, err := os.ReadFile(filepath.Join(w.dir, "stored", "p", r.OutputID+"."+part))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }
