package process

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// stat is what /proc reports of a process; false where there is none of that number that runs.
func stat(pid int) (procfs.Stat, bool) {
	s, ok := procfs.Read(pid)
	return s, ok && !s.Ended()
}

// born is when a process began, in ticks of this boot; "" where there is none that runs.
func born(pid int) string {
	s, runs := stat(pid)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if !runs || err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + strconv.FormatInt(s.Start, 10)
}

// session is the processes of the session that i leads, itself included; none where i is not there.
func (i identity) session() []identity {
	pids, err := procfs.PIDs()
	if err != nil {
		return nil
	}
	var all []identity
	for _, pid := range pids {
		if s, runs := stat(pid); runs && s.Session == i.PID {
			all = append(all, identify(pid))
		}
	}
	if !i.alive() { // as late as this: it was there all the time, so the session was its own
		return nil
	}
	return append(all, i)
}

// kin is the processes in the session that i leads or led, and all that descend from them. Who has forked twice and begun a
// session of its own is not among them.
func (i identity) kin() []int {
	pids, err := procfs.PIDs()
	if _, taken := stat(i.PID); err != nil || !i.alive() && taken { // the number is another's by now, and so may be the session
		return nil
	}
	parent, is := map[int]int{}, map[int]bool{}
	for _, pid := range pids {
		if s, runs := stat(pid); runs {
			parent[pid], is[pid] = s.Parent, s.Session == i.PID
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, from := range parent {
			if !is[pid] && is[from] {
				is[pid], grown = true, true
			}
		}
	}
	maps.DeleteFunc(is, func(_ int, of bool) bool { return !of })
	return slices.Sorted(maps.Keys(is))
}

// carries says whether the process was started with the mark, as a word of its command line or of its environment.
func (i identity) carries(mark string) bool {
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(i.PID) + "/" + file)
		if err == nil && bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
			return i.alive()
		}
	}
	return false
}

// signal reaches the very process or nobody: the descriptor is taken first, and looked at before it is used. Where a mark is
// named, the process has to carry it.
func (i identity) signal(s syscall.Signal, mark string) error {
	fd, err := unix.PidfdOpen(i.PID, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.3
		if !i.alive() || mark != "" && !i.carries(mark) {
			return unix.ESRCH
		}
		return unix.Kill(i.PID, s)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if !i.alive() || mark != "" && !i.carries(mark) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}
