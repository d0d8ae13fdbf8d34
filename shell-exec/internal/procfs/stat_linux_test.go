package procfs_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

func TestALineIsReadWhateverTheNameHolds(t *testing.T) {
	const rest = ` S 10 20 30 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 9000 5000 256 18446744073709551615 0`
	for _, name := range []string{"sh", "a b", "a) R 1 1 1", "((", "", "\n"} {
		got, ok := procfs.Parse([]byte("42 (" + name + ")" + rest))
		want := procfs.Stat{
			PID: 42, Name: name, State: 'S', Parent: 10, Group: 20, Session: 30,
			Own: 2 * time.Second, Children: 100 * time.Millisecond, Threads: 1, Start: 9000, Resident: 256 * int64(os.Getpagesize()), Via: 42,
		}
		if !ok || got != want {
			t.Errorf("%q is %+v", name, got)
		}
	}
}

func TestANameInStatMayHoldAnything(t *testing.T) {
	line := "7 (a) R 1 (b) c) S 42 1 1 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0 555 1000 3 18446744073709551615 1"
	s, ok := procfs.Parse([]byte(line))
	want := procfs.Stat{
		PID: 7, Name: "a) R 1 (b) c", State: 'S', Parent: 42, Group: 1, Session: 1,
		Own: 300 * time.Millisecond, Children: 700 * time.Millisecond, Threads: 1, Start: 555, Resident: 3 * int64(os.Getpagesize()), Via: 7,
	}
	if !ok || s != want {
		t.Errorf("%+v", s)
	}
	for end := range len(line) - 26 { // up to the field before the last that is needed
		if _, ok := procfs.Parse([]byte(line[:end])); ok && end < strings.Index(line, " 3 184")+1 {
			t.Errorf("%q is taken for a whole line", line[:end])
		}
	}
}

func TestAPartOfALineIsNone(t *testing.T) {
	line := "42 (sh) S 10 20 30 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 9000 5000 256 1"
	for end := range strings.Index(line, " 256") {
		if s, ok := procfs.Parse([]byte(line[:end])); ok {
			t.Errorf("%q is %+v", line[:end], s)
		}
	}
}

func TestThisProcessIsFound(t *testing.T) {
	s, ok := procfs.Read(os.Getpid())
	if !ok || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Ended() || s.Resident == 0 {
		t.Errorf("%+v %t", s, ok)
	}
	all, err := procfs.PIDs()
	if err != nil || !slices.Contains(all, os.Getpid()) || !slices.Contains(all, 1) {
		t.Errorf("%v %v", all, err)
	}
	if _, ok := procfs.Read(1 << 30); ok {
		t.Error("a process that cannot be is there")
	}
}

func TestSizesAreReadByTheirKeys(t *testing.T) {
	name := t.TempDir() + "/file"
	text := "Name:\ta kB\nVmPTE:\t     44 kB\nShmem:             8856 kB\nFDSize:\t64\noom 3\noom_kill 7\n\nlast"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := procfs.Sizes(name, "Shmem", "FDSize", "missing", "oom_kill", "VmPTE", "Vm")
	if want := []int64{8856 << 10, 64, 0, 7, 44 << 10, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := procfs.Sizes(name + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestAProcessWithoutItsFirstThreadLives ends the first thread of a process and looks at it.
func TestAProcessWithoutItsFirstThreadLives(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PROCFS_TEST_HEADLESS=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // until that thread is gone
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); strings.Contains(string(text), ") Z ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s, ok := procfs.Read(cmd.Process.Pid)
	if !ok || s.Ended() || s.PID != cmd.Process.Pid || s.Via == s.PID || s.Resident == 0 || s.Parent != os.Getpid() {
		t.Errorf("%+v %t", s, ok)
	}
}

func init() {
	if os.Getenv("PROCFS_TEST_HEADLESS") == "" {
		return
	}
	runtime.LockOSThread() // this is the first thread
	go func() {
		fmt.Println("x")
		time.Sleep(time.Minute)
		os.Exit(0)
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}
