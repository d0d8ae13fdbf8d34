package process

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Fields of /proc/PID/stat after the name, which stands in parentheses and may hold anything, parentheses too.
const (
	statState   = 0
	statParent  = 1
	statSession = 3
	statStart   = 19
)

// stat is those fields; nil where there is no process of that number that runs.
func stat(pid int) [][]byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= statStart || bytes.ContainsAny(fields[statState], "ZX") {
		return nil
	}
	return fields
}

// born is when a process began, in ticks of this boot; "" where there is none that runs.
func born(pid int) string {
	fields := stat(pid)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if fields == nil || err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + string(fields[statStart])
}

// session is the processes of the session that i leads, itself included; none where i is not there.
func (i identity) session() []identity {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields := stat(pid); fields != nil && string(fields[statSession]) == strconv.Itoa(i.PID) {
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
	entries, err := os.ReadDir("/proc")
	if err != nil || !i.alive() && stat(i.PID) != nil { // the number is another's by now, and so may be the session
		return nil
	}
	parent, is := map[int]int{}, map[int]bool{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields := stat(pid); fields != nil {
			parent[pid], _ = strconv.Atoi(string(fields[statParent]))
			is[pid] = string(fields[statSession]) == strconv.Itoa(i.PID)
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

// signal reaches the very process or nobody: the descriptor is taken first, and looked at before it is used.
func (i identity) signal(s syscall.Signal) error {
	fd, err := unix.PidfdOpen(i.PID, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.3
		if !i.alive() {
			return unix.ESRCH
		}
		return unix.Kill(i.PID, s)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if !i.alive() {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}
