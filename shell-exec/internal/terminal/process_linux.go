package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// members are the living processes of a group.
func members(group int) []member {
	pids, _ := procfs.PIDs() // what it could not read is not there
	var found []member
	for _, pid := range pids {
		if of, err := unix.Getpgid(pid); err != nil || of != group {
			continue // most of them: the rest is dearer
		}
		if s, ok := procfs.Read(pid); ok && s.Group == group && !s.Ended() {
			sleeps := call(pid)
			found = append(found, member{pid: pid, name: s.Name, waiting: sleeps == unix.SYS_WAIT4 || sleeps == unix.SYS_WAITID})
		}
	}
	return found
}

// call is the system call in which a process sleeps; -1 where it runs, or we may not know.
func call(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	if err != nil {
		return -1
	}
	word, _, _ := strings.Cut(string(text), " ")
	number, err := strconv.Atoi(word)
	if err != nil {
		return -1
	}
	return number
}

// listens says that a process sleeps until there is something to read, and has no interrupt to attend to.
func listens(pid int) bool {
	return slices.Contains(listening(), call(pid)) && !hasInterrupt(pid, "ShdPnd") && !hasInterrupt(pid, "SigPnd")
}

// ignoresInterrupt says whether ^C means nothing to a process.
func ignoresInterrupt(pid int) bool { return hasInterrupt(pid, "SigIgn") }

// hasInterrupt says whether SIGINT is in one of the masks of a process; yes where that cannot be seen.
func hasInterrupt(pid int, mask string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, after, found := strings.Cut(string(text), "\n"+mask+":\t")
	word, _, _ := strings.Cut(after, "\n")
	bits, err := strconv.ParseUint(word, 16, 64)
	return !found || err != nil || bits&(1<<(unix.SIGINT-1)) != 0
}

// program is the file of a process; "" where we may not know.
func program(pid int) string {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(name, " (deleted)")
}

// startedFrom says whether the process was started from the file that name leads to.
func startedFrom(pid int, name string) bool {
	if program(pid) == filepath.Clean(name) {
		return true
	}
	theirs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	wanted, err := os.Stat(name)
	return err == nil && os.SameFile(theirs, wanted)
}

const maxArguments = 64 << 10 // bytes

func arguments(pid int) []string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxArguments))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// directory is where a process works now; "" where we may not know.
func directory(pid int) string {
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return ""
	}
	return dir
}
