package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// born is when a process began, in ticks of this boot; "" where there is none that runs.
func born(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name stands in parentheses and may hold anything, parentheses too: fields are counted from the last one on.
	const state, start = 0, 19
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= start || bytes.ContainsAny(fields[state], "ZX") {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + string(fields[start])
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
