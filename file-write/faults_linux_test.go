package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

var released = mcptest.Released("file-write", ".")

// house is where a released server lives: the allowed directory, what it keeps, and
// what it records.
type house struct {
	t                    *testing.T
	dir, history, record string
}

// newHouse makes a house under base, with entries (see mcptest.Tree) in the allowed
// directory.
func newHouse(t *testing.T, base string, entries ...string) house {
	t.Helper()
	h := house{t, base + "/allow", base + "/history", base + "/audit/log.jsonl"}
	must(t, os.Mkdir(h.dir, 0o755))
	for _, e := range entries {
		name, content, isFile := strings.Cut(e, "=")
		path := filepath.Join(h.dir, name)
		if !isFile {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return h
}

func (h house) start(flags ...string) *mcptest.Client {
	h.t.Helper()
	return mcptest.Start(h.t, released(h.t), append([]string{"--allow-path", h.dir, "--history", h.history, "--audit-log", h.record,
		"--toolsets", "write,edit,manage,delete,history"}, flags...)...)
}

// content is what a file of the allowed directory holds, "<none>" where it is not there.
func (h house) content(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "<none>"
	}
	must(h.t, err)
	return string(b)
}

// verified is the audit log, which must be whole; its last line may be cut short.
func (h house) verified() audit.Result {
	h.t.Helper()
	r, err := audit.Verify(h.record)
	if err != nil || !r.OK() {
		h.t.Errorf("the audit log: %+v, %v", r.Broken, err)
	}
	return r
}

// filesIn is every file under dir and what it holds; drafts are counted, and not
// looked into.
func filesIn(t *testing.T, dir string) (files map[string]string, drafts int) {
	t.Helper()
	files = map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".mcp-draft-"):
			drafts++
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			files[strings.TrimPrefix(path, dir+"/")] = string(b)
			return err
		}
		return nil
	}))
	return files, drafts
}

// unchanged ends the test where files are not as they were, or a draft is there.
func (h house) unchanged(what string, before map[string]string) {
	h.t.Helper()
	after, drafts := filesIn(h.t, h.dir)
	if !maps.Equal(before, after) || drafts > 0 {
		h.t.Fatalf("%s: %d drafts, and there is\n%.300q\nwhere there was\n%.300q", what, drafts, after, before)
	}
}

// mounted is a house whose part at is a tmpfs of its own of that size, such as "1m".
func mounted(t *testing.T, part, size string) house {
	t.Helper()
	base := mcptest.Tree(t, part+"/")
	if err := unix.Mount("none", base+"/"+part, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: a full disk cannot be tried here: mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(base+"/"+part, unix.MNT_DETACH)) })
	return house{t, base + "/allow", base + "/history", base + "/audit/log.jsonl"}
}

// filled takes all the room there is and gives it back when the function that it
// returns is called.
func filled(t *testing.T, dir string) (free func()) {
	t.Helper()
	f, err := os.Create(dir + "/filler")
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	must(t, f.Close())
	return func() { must(t, os.Remove(dir+"/filler")) }
}

// roomy is a directory in memory where that is to be had, for tests of very many calls
// that are not about a disk.
func roomy(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "file-write-test")
	if err != nil {
		return mcptest.Tree(t)
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// peakMB is the peak of a process's resident memory.
func peakMB(t *testing.T, pid int) int {
	t.Helper()
	kb, err := strconv.Atoi(strings.TrimSuffix(status(t, pid, "VmHWM"), " kB"))
	must(t, err)
	return kb >> 10
}

// status is a field of /proc/PID/status.
func status(t *testing.T, pid int, field string) string {
	t.Helper()
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(all), field+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

// openFiles is what a process has open, but for the event queue that Go's scheduler
// opens when it first needs one.
func openFiles(t *testing.T, pid int) []string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, fd := range fds {
		if name, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && !strings.HasPrefix(name, "anon_inode:[event") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ask begins a call of a tool.
func ask(c *mcptest.Client, tool string, args any) *mcptest.Pending {
	return c.Begin("tools/call", map[string]any{"name": tool, "arguments": args})
}

func sha256Of(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
