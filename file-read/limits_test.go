//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

var binary = mcptest.Released("file-read", ".")

// peakMB is the peak of a process's resident memory.
func peakMB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// residentMax is what the server may have resident, in MB, whatever it is asked.
const residentMax = 64

func TestMemoryStaysBoundedOverLargeWork(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 300,000 files; not with -short")
	}
	dir := roomy(t)
	for _, sub := range []string{"crowd", "wide"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	giant := filepath.Join(dir, "giant.log")
	writeGiant(t, giant, 5<<30)
	for i := range 200_000 {
		plantFile(t, fmt.Sprintf("%s/crowd/a-name-of-some-length-%06d.txt", dir, i), "")
	}
	for i := range 100_000 {
		if i%1000 == 0 {
			if err := os.Mkdir(fmt.Sprintf("%s/wide/%02d", dir, i/1000), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		plantFile(t, fmt.Sprintf("%s/wide/%02d/%05d.txt", dir, i/1000, i), "one line\nand a needle\n")
	}
	for _, c := range []struct {
		what, tool, args, want string
	}{
		{"the first lines of 5 GB", "file_read", `{"path":"giant.log","limit":3}`, `"lineCount":3`},
		{"lines behind 5 GB of others", "file_read", `{"path":"giant.log","offset":9000,"limit":3}`, `"lineCount":3`},
		{"the last lines of 5 GB", "file_read", `{"path":"giant.log","offset":-3}`, `"lineCount":3`},
		{"a page of 200,000 entries", "list_directory", `{"dir_path":"crowd","limit":5000}`, `"total":200000`},
		{"a page of 200,000 entries by size", "list_directory", `{"dir_path":"crowd","limit":5000,"sort":"size"}`, `"total":200000`},
		{"a search in 100,000 files", "search_content_in_files", `{"search_path":"wide","regex_pattern":"needle","recursive":true,"output":"count"}`, `"matchedLines":100000`},
		{"a search of 100,000 files for a few lines", "search_content_in_files", `{"search_path":"wide","regex_pattern":"needle","recursive":true}`, `"truncated":true`},
		{"a walk over 100,000 files", "find_files_by_pattern", `{"base_dir":"wide","pattern":"*.txt","recursive":true,"max_results":10000}`, `"truncated":true`},
	} {
		server := mcptest.Start(t, binary(t), "--allow-path", dir, "--audit-log", "off")
		r := server.Call(c.tool, c.args)
		if r.IsError || !strings.Contains(string(r.Structured), c.want) {
			t.Errorf("%s: %.300s", c.what, r.Text)
		}
		if mb := peakMB(t, server.PID()); mb > residentMax {
			t.Errorf("%s: %d MB resident", c.what, mb)
		} else {
			t.Logf("%s: %d MB resident", c.what, mb)
		}
		server.Close()
	}
}

// roomy is a directory for very many files: in memory where that is to be had,
// for a disk takes minutes over them.
func roomy(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "file-read-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func plantFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeGiant writes a file with lines at both ends and a hole between them, which
// takes no room on the disk but has to be read to count its lines.
func writeGiant(t *testing.T, path string, size int64) {
	t.Helper()
	lines := []byte(strings.Repeat("a line of text\n", 8192))
	plantFile(t, path, string(lines))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(lines, size-int64(len(lines))); err != nil {
		t.Fatal(err)
	}
}

func TestSpecialFilesAnswerAtOnceAndDoNotStopOthers(t *testing.T) {
	dir := mcptest.Tree(t, "a.txt=hello\n")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := mcptest.Start(t, "file-read", "--allow-path", dir, "--allow-path", "/dev", "--allow-path", "/proc", "--audit-log", "off")
	var waiting []*mcptest.Pending
	for range 25 {
		for _, path := range []string{dir + "/pipe", "/dev/zero", "/dev/tty", "/proc/self/root/etc/passwd"} {
			waiting = append(waiting, server.Begin("tools/call", map[string]any{"name": "file_read", "arguments": map[string]any{"path": path}}))
		}
	}
	if r := server.Call("file_read", `{"path":"a.txt"}`); r.Text != "hello\n" {
		t.Errorf("another call beside them: %q", r.Text)
	}
	for _, p := range waiting {
		if r := p.Result(); !r.IsError || (r.Code != "PARAM_002" && r.Code != "SECURITY_003") {
			t.Errorf("a special file: %s %s", r.Code, r.Text)
		}
	}
	for _, c := range []struct{ what, args string }{
		{"search", `{"search_path":"` + dir + `","regex_pattern":"hello"}`},
	} {
		r := server.Call("search_content_in_files", c.args)
		if r.IsError || !strings.Contains(r.Text, "1 special file") {
			t.Errorf("%s: %s", c.what, r.Text)
		}
	}
}

// openFiles is what a process has open, but for the event queue that Go's
// scheduler opens when it first needs one.
func openFiles(t *testing.T, pid int) []string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, fd := range fds {
		if name, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && !strings.HasPrefix(name, "anon_inode:[event") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestNoDescriptorIsLeftOpen(t *testing.T) {
	dir := mcptest.Tree(t, "a.txt=hello\n", "sub/b.txt=x", "bin=\x00\x00", "link => a.txt")
	server := mcptest.Start(t, "file-read", "--allow-path", dir, "--audit-log", "off")
	work := func() {
		for _, c := range [][2]string{
			{"file_read", `{"path":"a.txt"}`}, {"file_read", `{"path":"bin"}`}, {"file_read", `{"path":"link"}`}, {"file_read", `{"path":"sub"}`},
			{"list_directory", `{"dir_path":"."}`}, {"list_directory", `{"dir_path":"a.txt"}`}, {"directory_tree", `{"path":"."}`},
			{"find_files_by_pattern", `{"base_dir":".","pattern":"*","recursive":true,"max_results":1}`},
			{"search_content_in_files", `{"search_path":".","regex_pattern":".","recursive":true,"max_results":1}`},
			{"get_file_info", `{"path":"a.txt"}`}, {"read_multiple_files", `{"paths":["a.txt","nothing","sub"]}`},
		} {
			server.Call(c[0], c[1])
		}
	}
	work()
	before := openFiles(t, server.PID())
	for range 50 {
		work()
	}
	if after := openFiles(t, server.PID()); len(after) > len(before) {
		t.Errorf("open before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

func TestTheProcessHasGivenUpWhatItDoesNotNeed(t *testing.T) {
	if !restrict.Probe().Holds() {
		t.Skip("this kernel cannot restrict a process wholly; doctor says what it lacks")
	}
	dir := mcptest.Tree(t, "a.txt=a\n")
	server := mcptest.Start(t, binary(t), "--allow-path", dir, "--restrict", "required", "--audit-log", filepath.Join(mcptest.Tree(t), "audit.jsonl"))
	if r := server.Call("file_read", `{"path":"a.txt"}`); r.Text != "a\n" {
		t.Errorf("reading: %s", r.Text)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(status), line) {
			t.Errorf("/proc does not say %q", line)
		}
	}
}
