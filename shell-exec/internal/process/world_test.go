//go:build linux

package process_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
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

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// TestMain is a supervisor where one of the tests starts it as that.
func TestMain(m *testing.M) {
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
	store, err := output.Open(stored, output.Limits{}, time.Now)
	if err != nil {
		return err
	}
	defer store.Close()
	signals, stop := process.Signals()
	defer stop()
	return process.Supervise(process.Config{Starter: bare{}, Store: store, Jobs: jobs}, os.Stdin, os.Stdout, signals)
}

const markName = "PROCESS_TEST_MARK"

// bare starts commands with os/exec and finds all they start by a variable that they inherit.
type bare struct{}

type bareTree struct {
	cmd  *exec.Cmd
	mark string
}

func (bare) Start(_ context.Context, c process.Command, f process.Files) (process.Tree, error) {
	mark := markName + "=" + rand.Text()
	cmd := &exec.Cmd{Path: c.Path, Args: c.Args, Env: append(c.Env, mark), Dir: c.Dir, Stdin: f.Stdin, Stdout: f.Stdout, Stderr: f.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	return &bareTree{cmd, mark}, cmd.Start()
}

func (t *bareTree) PID() int { return t.cmd.Process.Pid }

func (t *bareTree) Wait() process.Status {
	err := t.cmd.Wait()
	status := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return process.Status{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		panic(err)
	}
	return process.Status{Code: status.ExitStatus()}
}

func (t *bareTree) Signal(s syscall.Signal) error {
	for _, pid := range marked(t.mark) {
		_ = syscall.Kill(pid, s)
	}
	return nil
}

func (t *bareTree) Kill() error {
	for pids := marked(t.mark); len(pids) > 0; pids = marked(t.mark) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (t *bareTree) Usage() process.Usage { return process.Usage{Processes: len(marked(t.mark))} }
func (t *bareTree) Close() error         { return t.Kill() }

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

// world is a runner, its directories, and a variable by which everything it starts is known.
type world struct {
	t      *testing.T
	dir    string
	config process.Config
	store  *output.Store
	mark   string
	*process.Runner
}

func newWorld(t *testing.T, change ...func(*process.Config)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), mark: "PROCESS_TEST_WORLD=" + rand.Text()}
	jobs, stored := filepath.Join(w.dir, "jobs"), filepath.Join(w.dir, "stored")
	var err error
	w.store, err = output.Open(stored, output.Limits{}, time.Now)
	must(t, err)
	t.Cleanup(func() { must(t, w.store.Close()) })
	w.config = process.Config{Starter: bare{}, Store: w.store, Jobs: jobs,
		Supervisor: []string{"/usr/bin/env", "SUPERVISOR_" + w.mark, "PROCESS_TEST_CHILD=supervisor", self(t), jobs, stored}}
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
func (w *world) sh(script string, m process.Mode, change ...func(*process.Request)) process.Request {
	q := process.Request{Text: script, Mode: m, Command: process.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: w.dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, w.mark}}}
	for _, f := range change {
		f(&q)
	}
	return q
}

func (w *world) run(script string, m process.Mode, change ...func(*process.Request)) process.Result {
	w.t.Helper()
	r, err := w.Run(w.t.Context(), w.sh(script, m, change...))
	must(w.t, err)
	return r
}

// alive is how many processes of this world there are.
func (w *world) alive() int { return len(marked("\x00" + w.mark)) }

// stays until so many processes are alive, or a long time passed.
func (w *world) until(n int) {
	w.t.Helper()
	if !eventually(func() bool { return w.alive() == n }) {
		w.t.Fatalf("%d processes are alive, not %d", w.alive(), n)
	}
}

func eventually(f func() bool) bool {
	for range 500 {
		if f() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refuses(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v, not %s", err, code)
	}
}

// stored is all that the store has of an output.
func (w *world) stored(r process.Record) string {
	w.t.Helper()
	var all strings.Builder
	for _, part := range []string{"stdout", "stderr"} {
		text, err := os.ReadFile(filepath.Join(w.dir, "stored", r.OutputID+"."+part))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }
