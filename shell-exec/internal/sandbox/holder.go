//go:build unix

package sandbox

import (
	"cmp"
	"slices"
	"syscall"
	"time"
)

// holder knows the processes of one command, however they came to be.
type holder interface {
	// members are those that live. What it says of one may be a moment old.
	members() ([]process, error)
	// strike signals all of them, those at least that were there before it began.
	strike(sig syscall.Signal) error
	// doomed are those that live after strike has killed. It may look less hard than
	// members where the system lets no new ones come after that.
	doomed() ([]process, error)
	// release gives back what the holder needed. Nothing is held afterwards.
	release()
}

// process is one that the system knows. The number alone may come to mean another one;
// with the start time it cannot.
type process struct {
	pid, parent, session int
	start                uint64 // when it began, in the system's own measure
	state                byte
	via                  int // the number that shows its memory and files: pid, or that of a thread
	threads              int
	cpu                  time.Duration
	memory               int64 // bytes in memory, shared ones included
}

// signalAll signals parents before their children: a script whose child is ended first would
// start its next command, which nobody signals. Who is gone meanwhile is no error.
func signalAll(all []process, sig syscall.Signal) error {
	slices.SortFunc(all, func(a, b process) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid)) })
	var failed error
	for _, p := range all {
		if err := p.signal(sig); err != nil && err != syscall.ESRCH {
			failed = err
		}
	}
	return failed
}

// strikeAll is signalAll where the kernel does not end all at once: what is killed is stopped
// before, so that no shell goes on to its next command.
func strikeAll(all []process, sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		_ = signalAll(all, syscall.SIGSTOP)
	}
	return signalAll(all, sig)
}
