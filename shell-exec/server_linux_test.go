package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// house is a directory that commands may work in, with a state of its own.
type house struct {
	t          *testing.T
	dir, state string
}

func newHouse(t *testing.T, entries ...string) house {
	h := house{t, mcptest.Tree(t, entries...), t.TempDir()}
	// what a test has detached is ended with it
	t.Cleanup(func() { h.until("nothing is left", func() bool { return h.marked() == 0 || h.killMarked() }) })
	return h
}

func (h house) start(flags ...string) *mcptest.Client {
	return h.startAs(mcptest.Options{}, flags...)
}

func (h house) startAs(o mcptest.Options, flags ...string) *mcptest.Client {
	h.t.Helper()
	o.Env = append(o.Env, "XDG_STATE_HOME="+h.state)
	return o.Start(h.t, "shell-exec", append([]string{"--allow-path", h.dir, "--pass-env", "MARK_*"}, flags...)...)
}

// marked is how many processes have the house's directory in their environment or as
// the place they work in, the servers and their supervisors aside.
func (h house) marked() int {
	return len(h.processes())
}

func (h house) processes() (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, dir := range dirs {
		cwd, err := os.Readlink(dir + "/cwd")
		if err != nil || cwd != h.dir {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(filepath.Base(dir), &pid); err == nil && !zombie(dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sleeping says whether a command has come to where it waits.
func (h house) sleeping() bool {
	for _, pid := range h.processes() {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // it may have gone
		if s := string(comm); s == "sleep\n" || strings.HasPrefix(s, "python") {
			return true
		}
	}
	return false
}

func zombie(dir string) bool {
	b, err := os.ReadFile(dir + "/stat")
	return err != nil || bytes.Contains(b, []byte(") Z "))
}

func (h house) killMarked() bool {
	for _, pid := range h.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return false
}

// until waits for what has to come.
func (h house) until(what string, holds func() bool) {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	h.t.Errorf("it does not come to pass that %s", what)
}

// execution is what shell_execute and process_get_execution answer, in part.
type execution struct {
	Success    bool   `json:"success"`
	ID         string `json:"execution_id"`
	Status     string `json:"status"`
	ExitCode   *int   `json:"exit_code"`
	Signal     string `json:"signal"`
	Stdout     string `json:"stdout"`
	Partial    bool   `json:"partial_output"`
	Truncated  bool   `json:"output_truncated"`
	OutputID   string `json:"output_id"`
	PID        int    `json:"process_id"`
	Terminal   string `json:"terminal_id"`
	Transition string `json:"transition_reason"`
}

func (h house) call(c *mcptest.Client, tool string, args map[string]any) (e execution) {
	h.t.Helper()
	r := c.Call(tool, args)
	if r.IsError {
		h.t.Fatalf("%s %v: %s", tool, args, r.Text)
	}
	if err := r.Decode(&e); err != nil {
		h.t.Fatal(err)
	}
	return e
}

func TestTheModesOfACommand(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.start()
	e := h.call(c, "shell_execute", map[string]any{"command": "echo begun; sleep 60", "execution_mode": "foreground", "timeout_seconds": 1})
	if e.Success || e.Status != "timeout" || !e.Partial || e.Stdout != "begun\n" {
		t.Errorf("a time-out in the foreground: %+v", e)
	}
	e = h.call(c, "shell_execute", map[string]any{"command": "echo begun; sleep 3; echo done; exit 7", "foreground_timeout_seconds": 1})
	if !e.Success || e.Status != "running" || e.Transition != "foreground_timeout" || e.Stdout != "begun\n" {
		t.Errorf("an adaptive command that goes on: %+v", e)
	}
	e = h.call(c, "process_get_execution", map[string]any{"execution_id": e.ID, "wait_seconds": 60})
	if e.Status != "completed" || e.ExitCode == nil || *e.ExitCode != 7 || !strings.HasSuffix(e.Stdout, "done\n") {
		t.Errorf("once it has ended: %+v", e)
	}
	e = h.call(c, "shell_execute", map[string]any{"command": "kill -SEGV $$"})
	if e.Success || e.Status != "failed" || e.Signal != "SIGSEGV" || *e.ExitCode == 0 {
		t.Errorf("a death by signal: %+v", e)
	}
	e = h.call(c, "shell_execute", map[string]any{"command": "sleep 60 & echo done"})
	if e.Status != "completed" || e.Stdout != "done\n" {
		t.Errorf("a shell that leaves a child with its pipe: %+v", e)
	}
}

func TestADetachedCommandOutlivesItsServer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.start()
	e := h.call(first, "shell_execute", map[string]any{"command": "sleep 2; echo survived; exit 5", "execution_mode": "detached"})
	if code := first.Close(); code != 0 {
		t.Errorf("the server ends with %d", code)
	}
	if h.marked() == 0 {
		t.Fatal("the command has ended with its server")
	}
	second := h.start()
	got := h.call(second, "process_get_execution", map[string]any{"execution_id": e.ID, "wait_seconds": 60})
	if got.Status != "completed" || got.ExitCode == nil || *got.ExitCode != 5 {
		t.Errorf("found again: %+v", got)
	}
	if r := second.Call("read_execution_output", map[string]any{"output_id": got.OutputID}); !strings.Contains(r.Text, "survived") {
		t.Errorf("its output is %q", r.Text)
	}
}

func TestTheOutputOfATerminatedCommandHasEnded(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	for _, mode := range []string{"background", "detached"} {
		for range 5 {
			e := h.call(c, "shell_execute", map[string]any{"command": "echo said; sleep 600", "execution_mode": mode})
			h.until("it has said something", func() bool {
				return strings.Contains(c.Call("read_execution_output", map[string]any{"output_id": e.OutputID}).Text, "said")
			})
			h.call(c, "process_terminate", map[string]any{"process_id": e.PID})
			var out struct{ State string }
			if err := c.Call("read_execution_output", map[string]any{"output_id": e.OutputID}).Decode(&out); err != nil || out.State != "ended" {
				t.Errorf("%s: the output is %q, %v", mode, out.State, err)
			}
		}
	}
}

// survivors are commands that leave something behind if they can.
var survivors = map[string]string{
	"a pipe":               "sleep 600 | cat",
	"a session of its own": "setsid sleep 600 & sleep 600",
	"forked twice":         "(sleep 600 &) ; (setsid sh -c 'sleep 600 &') ; sleep 600",
	"deaf to TERM":         "trap '' TERM; (trap '' TERM INT HUP; while :; do sleep 1; done) & while :; do sleep 1; done",
	"a chain of forks":     `sh -c 'sh -c "sh -c \"sleep 600 & wait\" & wait" & wait' & wait`,
	"in the background":    "nohup sleep 600 >/dev/null 2>&1 & disown; sleep 600",
	"a daemon of the script": `python3 -c 'import os,time
if os.fork()==0:
  os.setsid()
  if os.fork()==0: time.sleep(600)
  os._exit(0)
time.sleep(600)' || sleep 600`,
}

func TestNothingSurvivesItsEnd(t *testing.T) {
	ends := map[string]func(h house, c *mcptest.Client, command string){
		"a time-out": func(h house, c *mcptest.Client, command string) {
			h.call(c, "shell_execute", map[string]any{"command": command, "execution_mode": "foreground", "timeout_seconds": 1})
		},
		"a cancel": func(h house, c *mcptest.Client, command string) {
			p := c.Begin("tools/call", map[string]any{"name": "shell_exec", "arguments": map[string]any{"command": command}})
			h.until("the command runs", h.sleeping)
			p.Cancel("enough")
		},
		"process_terminate": func(h house, c *mcptest.Client, command string) {
			e := h.call(c, "shell_execute", map[string]any{"command": command, "execution_mode": "background"})
			h.until("the command runs", h.sleeping)
			h.call(c, "process_terminate", map[string]any{"process_id": e.PID})
		},
		"the end of the server": func(h house, _ *mcptest.Client, command string) {
			own := h.start()
			h.call(own, "shell_execute", map[string]any{"command": command, "execution_mode": "background"})
			h.until("the command runs", h.sleeping)
			if code := own.Close(); code != 0 {
				h.t.Errorf("the server ends with %d", code)
			}
		},
	}
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			c := h.start("--timeout", "30s")
			for what, command := range survivors {
				end(h, c, command)
				h.until("nothing is left of "+what, func() bool { return h.marked() == 0 })
				h.killMarked()
			}
		})
	}
}

func TestConsentIsForExactlyTheCommandShown(t *testing.T) {
	t.Parallel()
	for _, era := range mcptest.Eras() {
		for answer, runs := range map[string]bool{"accept": true, "decline": false, "cancel": false} {
			h := newHouse(t, "build/a.txt=x")
			var shown string
			o := mcptest.Options{Era: era}.WithPerson(func(question string) string {
				shown = question
				return answer
			})
			const command = "git push --force; rm -rf build; echo gone"
			r := h.startAs(o).Call("shell_exec", map[string]any{"command": command})
			if !strings.Contains(shown, "> "+command) || !strings.Contains(shown, h.dir) {
				t.Errorf("%s: shown is %q", era, shown)
			}
			_, err := os.Stat(h.dir + "/build")
			if r.IsError == runs || os.IsNotExist(err) != runs {
				t.Errorf("%s, %s: %s, the directory: %v", era, answer, r.Text, err)
			}
		}
	}
	h := newHouse(t, "build/a.txt=x")
	for _, flags := range [][]string{nil, {"--ask", "deny"}} {
		r := h.start(flags...).Call("shell_exec", map[string]any{"command": "git push --force; rm -rf build"})
		if r.Code != "SECURITY_003" {
			t.Errorf("without anybody to ask, %v: %s", flags, r.Text)
		}
	}
}

func TestACommandReachesOnlyWhatItMay(t *testing.T) {
	t.Parallel()
	outside := mcptest.Tree(t, "secret.txt=secret\n")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	h := newHouse(t)
	connect := fmt.Sprintf("echo hi >/dev/tcp/127.0.0.1/%d", listener.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		what, command string
		flags         []string
		works         bool
	}{
		{"reading outside", "x=" + outside + "; cat $x/secret.txt", nil, false},
		{"reading outside, without a sandbox", "x=" + outside + "; cat $x/secret.txt", []string{"--sandbox", "off"}, true},
		{"reading outside, with leave", "x=" + outside + "; cat $x/secret.txt", []string{"--read-path", outside}, true},
		{"writing where it may only read", "x=" + outside + "; echo x | tee $x/new.txt", []string{"--read-path", outside}, false},
		{"writing in the workspace", "echo x >new.txt", nil, true},
		{"a connection", connect, nil, true},
		{"a connection, without the network", connect, []string{"--network=false"}, false},
		{"a large file", "head -c 3000000 /dev/zero >big.bin", nil, true},
		{"a file that is too large", "head -c 3000000 /dev/zero >big.bin", []string{"--max-file-size", "1MiB"}, false},
	} {
		r := h.start(append(c.flags, "--ask", "deny")...).Call("shell_exec", map[string]any{"command": c.command})
		if worked := !r.IsError && strings.Contains(r.Text, "[exit code 0"); worked != c.works {
			t.Errorf("%s: %s", c.what, r.Text)
		}
	}
}

func TestAFloodOfOutputIsToldToTheByteInLittleMemory(t *testing.T) {
	h := newHouse(t)
	c := h.start("--ask", "deny")
	written := 1 << 30
	if raced() {
		written = 1 << 28 // it takes four times as long, and is still more than may be in memory
	}
	r := c.Call("shell_exec", map[string]any{"command": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", written)})
	if r.IsError || !strings.Contains(r.Text, fmt.Sprintf("%d bytes left out", written-(1<<20))) {
		t.Errorf("told is %.200q … %q", r.Text, r.Text[max(0, len(r.Text)-200):])
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(b), "VmHWM:")
	var kb int
	most := 48 << 10
	if raced() {
		most = 192 << 10 // of which the race detector takes more than half
	}
	if _, err := fmt.Sscan(peak, &kb); err != nil || kb > most {
		t.Errorf("the server had %d kB in memory, %v", kb, err)
	}
}

func TestOnlySoManyCommandsRunAtOnce(t *testing.T) {
	h := newHouse(t)
	c := h.start("--max-processes", "20")
	for range 20 {
		h.call(c, "shell_execute", map[string]any{"command": "sleep 600", "execution_mode": "background"})
	}
	if r := c.Call("shell_exec", map[string]any{"command": "true"}); r.Code != "RESOURCE_005" {
		t.Errorf("the 21st: %s", r.Text)
	}
	if n := h.marked(); n < 20 {
		t.Errorf("%d processes are there", n)
	}
}

// raced says whether the race detector is built in: it multiplies what a program needs.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// log is the audit log of the house's servers.
func (h house) log() []byte {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.state, "mcp-server/audit/shell-exec.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}
