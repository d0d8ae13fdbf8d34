//go:build unix

package sandbox

import (
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
	cpu                  time.Duration
	memory               int64 // bytes in memory, shared ones included
}
