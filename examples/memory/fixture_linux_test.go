package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// house is where a server keeps its memories and its audit log.
type house struct {
	t      *testing.T
	dir    string // of the database
	record string
}

func newHouse(t *testing.T) house {
	t.Helper()
	return house{t, filepath.Join(t.TempDir(), "memory"), t.TempDir() + "/audit.jsonl"}
}

func (h house) database() string { return h.dir + "/m.db" }

// start is a server at work. mcptest makes "memory" a program of the test binary.
func (h house) start(flags ...string) *mcptest.Client {
	h.t.Helper()
	return mcptest.Start(h.t, "memory", append([]string{"--database", h.database(), "--audit-log", h.record, "--rate-limit", "off"}, flags...)...)
}

// kept is the contents in the database, by the command line of the person.
func (h house) kept() map[string]bool {
	h.t.Helper()
	out, err := run("export", "--database", h.database())
	must(h.t, err)
	all := map[string]bool{}
	for line := range strings.Lines(out) {
		var m memoryOut
		must(h.t, json.Unmarshal([]byte(line), &m))
		all[m.Content] = true
	}
	return all
}

// run starts the program to its end, and is what it wrote.
func run(args ...string) (string, error) {
	out, err := exec.Command("memory", args...).CombinedOutput()
	return string(out), err
}

// verified checks that the audit log is whole; its last line may be cut short.
func (h house) verified() {
	h.t.Helper()
	if r, err := audit.Verify(h.record); err != nil || !r.OK() {
		h.t.Errorf("the audit log: %+v, %v", r.Broken, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// status is a field of /proc/PID/status.
func status(t *testing.T, pid int, field string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	must(t, err)
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("there is no %s", field)
	return ""
}
