package sandbox

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ancestry is the killer by parents and sessions alone. Orphans go to launchd here: what forks
// twice and begins a session of its own between two looks is lost.
type ancestry struct{ *relatives }

func (a *ancestry) members() ([]process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	out := make([]process, 0, len(all))
	for _, k := range all {
		out = append(out, toProcess(k))
	}
	no := func(process) bool { return false }
	return a.find(out, no, no), nil
}

func (a *ancestry) survivors() ([]process, error) { return a.members() }

func (a *ancestry) signal(sig syscall.Signal) error {
	all, err := a.members()
	return errors.Join(err, stopAndSignal(all, sig))
}

func (a *ancestry) release() {}

// signal reaches the process p, unless its number came to mean another one a moment ago.
func (p process) signal(sig syscall.Signal) error {
	if now, ok := readProcess(p.pid); !ok || now.start != p.start {
		return unix.ESRCH
	}
	return unix.Kill(p.pid, sig)
}

// alive is false for what is only a status that nobody has asked for yet.
func (p process) alive() bool {
	const zombie = 5 // SZOMB, sys/proc.h
	return p.state != zombie
}

func readProcess(pid int) (process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return process{}, false
	}
	return toProcess(*k), true
}

func toProcess(k unix.KinfoProc) process {
	pid := int(k.Proc.P_pid)
	session, _ := unix.Getsid(pid)
	return process{
		pid: pid, parent: int(k.Eproc.Ppid), session: session, state: byte(k.Proc.P_stat),
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
	}
}

// account is empty: macOS tells the memory of another process only through a library.
type account struct{}

func newAccount(killer, Command) *account { return nil }

func (*account) memory([]process) (used, possible int64) { return 0, 0 }

func (*account) include(int) {}

func (*account) exhausted() bool { return false }

func (*account) close() {}

// setLimits does nothing: the limits were set before the program began.
func setLimits(int, Limits) {}

// awaitEnd does nothing: the call that asks for the status waits.
func awaitEnd(int) {}
