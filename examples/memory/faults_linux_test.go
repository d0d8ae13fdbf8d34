package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// mounted is a house whose database lies on a small disk of its own.
func mounted(t *testing.T, size string) house {
	t.Helper()
	h := newHouse(t)
	must(t, os.Mkdir(h.dir, 0o700))
	if err := unix.Mount("none", h.dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: this cannot be tried here: mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(h.dir, unix.MNT_DETACH)) })
	return h
}

func TestAFullDiskIsToldAndNothingIsLost(t *testing.T) {
	h := mounted(t, "1m")
	server := h.start()
	answered := map[string]bool{}
	refused := 0
	for i := 0; refused < 3; i++ {
		content := fmt.Sprintf("memory %d %s", i, strings.Repeat("of many words ", 500))
		r := server.Call("remember", map[string]any{"content": content})
		switch {
		case !r.IsError:
			answered[strings.TrimSpace(content)] = true
		case r.Code == "EXECUTION_004":
			refused++
		default:
			t.Fatalf("%s %s", r.Code, r.Text)
		}
	}
	if r := server.Call("recall", `{"query":"memory 0"}`); r.IsError || !strings.Contains(r.Text, "| memory 0 ") {
		t.Errorf("recalling from a full disk: %s %.100s", r.Code, r.Text)
	}
	server.Close()
	must(t, unix.Mount("none", h.dir, "tmpfs", unix.MS_REMOUNT, "size=8m"))
	h.holdsExactly(answered)
	if r := h.start().Call("remember", `{"content":"there is room again"}`); r.IsError {
		t.Errorf("with room again: %s %s", r.Code, r.Text)
	}
}

func (h house) holdsExactly(answered map[string]bool) {
	h.t.Helper()
	kept := h.kept()
	for content := range answered {
		if !kept[content] {
			h.t.Errorf("lost: %.20s", content)
		}
	}
	if len(kept) != len(answered) || len(answered) < 5 {
		h.t.Errorf("%d are kept, %d were answered", len(kept), len(answered))
	}
}

func TestADirectoryThatCannotBeWrittenIsTold(t *testing.T) {
	h := mounted(t, "2m")
	server := h.start()
	server.Call("remember", `{"content":"here"}`)
	server.Close()
	must(t, unix.Mount("none", h.dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=2m"))
	for _, database := range []string{h.database(), h.dir + "/new.db", h.dir + "/new/new.db"} {
		out, err := run("call", "recall", "query=here", "--database", database, "--audit-log", "off", "--audit-required=false")
		if err == nil || !strings.Contains(out, "AUTH_003") {
			t.Errorf("%s: %v %s", database, err, out)
		}
	}
	must(t, unix.Mount("none", h.dir, "tmpfs", unix.MS_REMOUNT, "size=2m"))
	if kept := h.kept(); !kept["here"] {
		t.Errorf("kept is %v", kept)
	}
}

// A restricted server does all its work, the making of new files included, and can do
// nothing else.
func TestARestrictedServerDoesAllItsWork(t *testing.T) {
	if !restrict.Probe().Holds() {
		t.Skip("SKIPPED: this kernel cannot restrict a process wholly; doctor says what it lacks")
	}
	h := newHouse(t)
	server := h.start("--restrict", "required")
	for field, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
		if got := status(t, server.PID(), field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	for i := range 200 { // enough for the log to be brought into the database
		if r := server.Call("remember", map[string]any{"content": fmt.Sprintf("memory %d %s", i, strings.Repeat("青い空 ", 50))}); r.IsError {
			t.Fatalf("%s %s\n%s", r.Code, r.Text, server.Stderr())
		}
	}
	var waiting []*mcptest.Pending // more at a time than connections that are open
	for i := range 20 {
		waiting = append(waiting, server.Begin("tools/call", map[string]any{"name": "recall", "arguments": map[string]any{"query": fmt.Sprintf("memory %d", i)}}))
	}
	for i, p := range waiting {
		if r := p.Result(); r.IsError || !strings.Contains(r.Text, fmt.Sprintf("| memory %d ", i)) {
			t.Errorf("%s %.200s", r.Code, r.Text)
		}
	}
	if _, err := os.Stat(h.database() + "-wal"); err != nil {
		t.Errorf("the log is not where it should be: %v", err)
	}
	if code := server.Close(); code != 0 {
		t.Errorf("it ended with %d: %s", code, server.Stderr())
	}
	if _, err := os.Stat(h.database() + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is left: %v", err)
	}
	h.verified()
}
