package sandbox

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// setLimits bounds one process and all that it starts from now on. RLIMIT_DATA
// counts what is written to; RLIMIT_AS would count what is merely reserved, and
// break node and go. The number of processes is not here: RLIMIT_NPROC counts
// those of the user, the person's own among them.
func setLimits(pid int, l Limits) {
	for _, r := range l.resources(pid) {
		_ = unix.Prlimit(pid, r.Resource, &r.Rlimit, nil)
	}
}

// resources are the limits that the process, 0 for this one and what it starts, does not have yet.
func (l Limits) resources(pid int) (out []forkexec.Limit) {
	set := func(resource int, n uint64) {
		var now unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &now) != nil || now.Max <= n {
			return // it is gone, or bound more tightly already
		}
		out = append(out, forkexec.Limit{Resource: resource, Rlimit: unix.Rlimit{Cur: min(n, now.Cur), Max: n}})
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
	set(unix.RLIMIT_NOFILE, mostFiles)
	set(unix.RLIMIT_MSGQUEUE, 800<<10) // POSIX message queues
	return out
}

// mostFiles is how many files one process may have open: each may be a full socket.
var mostFiles = uint64(1 << 16)
