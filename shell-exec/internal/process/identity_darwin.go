package process

import (
	"bytes"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of sys/proc.h

// born is when a process began; "" where there is none that runs.
func born(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid || p.Proc.P_stat == zombie {
		return ""
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec)
}

// carries says whether the process was started with the mark, as a word of its command line or of its environment.
func (i identity) carries(mark string) bool {
	text, err := unix.SysctlRaw("kern.procargs2", i.PID)
	return err == nil && bytes.Contains(text, []byte("\x00"+mark+"\x00")) && i.alive()
}

// signal looks before it sends: macOS has nothing that holds a process.
func (i identity) signal(s syscall.Signal, mark string) error {
	if !i.alive() || mark != "" && !i.carries(mark) {
		return unix.ESRCH
	}
	return unix.Kill(i.PID, s)
}

// session is what is known of the session that i leads: i.
func (i identity) session() []identity { return []identity{i} }

// kin is what is known of those that come of i: i.
func (i identity) kin() []int {
	if !i.alive() {
		return nil
	}
	return []int{i.PID}
}
