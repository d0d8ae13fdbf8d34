package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// ofServer counts what the system knows of the server: open descriptors, children.
func ofServer(t *testing.T, c *mcptest.Client) (descriptors, children int) {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		b, _ := os.ReadFile(list) // the thread may have ended
		children += len(strings.Fields(string(b)))
	}
	return len(fds), children
}

func TestNothingIsLeftWhereverTheServerIsStopped(t *testing.T) {
	for how, stop := range map[string]func(*mcptest.Client){
		"the end of its input": func(c *mcptest.Client) { c.Hangup() },
		"SIGTERM":              func(c *mcptest.Client) { c.Signal(syscall.SIGTERM) },
		"SIGINT":               func(c *mcptest.Client) { c.Signal(syscall.SIGINT) },
	} {
		h := newHouse(t)
		c := h.start()
		for _, command := range survivors {
			h.call(c, "shell_execute", map[string]any{"command": command, "execution_mode": "background"})
		}
		h.until("all commands run", func() bool { return h.marked() >= 2*len(survivors) })
		stop(c)
		h.until("nothing is left after "+how, func() bool { return h.marked() == 0 })
		c.Close()
	}
}

// Nobody can tell a server that is killed to tidy up; the kernel ends what it started itself.
func TestTheCommandOfAKilledServerIsEndedByTheKernel(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	e := h.call(c, "shell_execute", map[string]any{"command": "exec sleep 600", "execution_mode": "background"})
	h.until("it runs", h.sleeping)
	c.Signal(syscall.SIGKILL)
	h.until("nothing is left", func() bool { return h.marked() == 0 })
	c.Close()
	if got := h.call(h.start(), "process_get_execution", map[string]any{"execution_id": e.ID}); got.Status != "failed" {
		t.Errorf("the next server says %+v", got)
	}
}

func TestFiftyCommandsRunAtOnceAndLeaveNothingOpen(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	h.call(c, "shell_execute", map[string]any{"command": "true"}) // opens what stays open
	before, own := ofServer(t, c)
	for range 50 {
		h.call(c, "shell_execute", map[string]any{"command": "exec sleep 600", "execution_mode": "background"})
	}
	during, children := ofServer(t, c)
	if h.marked() != 50 || children < own+50 || during < before+50 {
		t.Errorf("%d commands run, the server has %d children and %d descriptors", h.marked(), children, during)
	}
	if r := c.Call("shell_exec", map[string]any{"command": "true"}); r.Code != "RESOURCE_005" {
		t.Errorf("the 51st: %s", r.Text)
	}
	for _, pid := range h.processes() {
		if r := c.Call("process_terminate", map[string]any{"process_id": pid}); r.IsError {
			t.Error(r.Text)
		}
	}
	// The first command may have been counted before the server had prepared the start of the next one, which holds some
	// descriptors. One that stays for each command would make fifty.
	h.until("nothing is left open", func() bool {
		descriptors, children := ofServer(t, c)
		return h.marked() == 0 && children == own && descriptors < before+25
	})
	if r := c.Call("shell_exec", map[string]any{"command": "true"}); r.IsError {
		t.Errorf("afterwards: %s", r.Text)
	}
}

func TestTheErrorOfACommandWithoutMemoryNamesItsPeak(t *testing.T) {
	h := newHouse(t)
	c := h.start("--max-memory", "64MiB")
	// each is within what one process may have, together they are not
	const hog = `for i in 1 2 3; do python3 -c "import time; a = bytearray(40<<20); time.sleep(60)" & done; wait`
	r := c.Call("shell_exec", map[string]any{"command": hog})
	if r.Code != "EXECUTION_003" || !strings.Contains(string(r.Structured), `"peak_bytes":`) {
		t.Errorf("told is %s, %s", r.Text, r.Structured)
	}
}

func TestADetachedCommandHasATemporaryFolderThatOutlivesTheServer(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	e := h.call(c, "shell_execute", map[string]any{"command": "echo $TMPDIR > begun; until test -e go; do sleep 0.05; done; date > $TMPDIR/note && echo kept > done || echo lost > done", "execution_mode": "detached"})
	h.until("it has begun", func() bool { return h.has("begun") })
	c.Close()
	if err := os.WriteFile(filepath.Join(h.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.until("it has ended", func() bool { return h.has("done") })
	if b, err := os.ReadFile(filepath.Join(h.dir, "done")); err != nil || string(b) != "kept\n" {
		t.Errorf("%s: %q %v", e.ID, b, err)
	}
	temp, err := os.ReadFile(filepath.Join(h.dir, "begun"))
	if err != nil {
		t.Fatal(err)
	}
	h.until("the folder is gone too", func() bool { _, err := os.Stat(strings.TrimSpace(string(temp))); return os.IsNotExist(err) })
}

// has says whether a file is there, with something in it.
func (h house) has(name string) bool {
	info, err := os.Stat(filepath.Join(h.dir, name))
	return err == nil && info.Size() > 0
}
