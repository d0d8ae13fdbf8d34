package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// setLimits bounds one process and all that it starts from now on. RLIMIT_DATA
// counts what is written to; RLIMIT_AS would count what is merely reserved, and
// break node and go. The number of processes is not here: RLIMIT_NPROC counts
// those of the user, the person's own among them.
func setLimits(pid int, l Limits) {
	set := func(resource int, n uint64) {
		var now unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &now) != nil || now.Max <= n {
			return // it is gone, or bound more tightly already
		}
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: min(n, now.Cur), Max: n}, nil)
	}
	if l.Memory > 0 {
		set(unix.RLIMIT_DATA, uint64(l.Memory))
	}
	if l.FileSize > 0 {
		set(unix.RLIMIT_FSIZE, uint64(l.FileSize))
	}
	if l.CPU > 0 {
		set(unix.RLIMIT_CPU, uint64((l.CPU+time.Second-1)/time.Second))
	}
	set(unix.RLIMIT_CORE, 0)
	set(unix.RLIMIT_NOFILE, 1<<16)     // each may be a full socket
	set(unix.RLIMIT_MSGQUEUE, 800<<10) // POSIX message queues
}
