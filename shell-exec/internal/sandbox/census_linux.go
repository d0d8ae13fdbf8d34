package sandbox

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// alive is false for what is only a status that nobody has asked for yet.
func (p process) alive() bool { return p.state != 'Z' && p.state != 'X' && p.state != 'x' }

// census is every process.
func census() ([]process, error) {
	all, err := procfs.PIDs()
	var out []process
	for _, pid := range all {
		if p, ok := look(pid); ok {
			out = append(out, p)
		}
	}
	return out, err
}

// look reads what /proc says of a process; false where there is none.
func look(pid int) (process, bool) {
	s, ok := procfs.Read(pid)
	return process{pid: pid, via: s.Via, threads: s.Threads, state: s.State, parent: s.Parent, session: s.Session, cpu: s.Own, start: uint64(s.Start), memory: s.Resident}, ok
}

// signal reaches the process p and never another one: pidfd_open holds on to
// whoever has the number, and then the start time tells who that is.
func (p process) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3
		if now, ok := look(p.pid); !ok || now.start != p.start {
			return unix.ESRCH
		}
		return unix.Kill(p.pid, sig)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := look(p.pid); !ok || now.start != p.start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// newest is the number that was given to a process last.
func newest() int {
	var buf [128]byte
	b, err := procfs.Beginning("/proc/loadavg", buf[:])
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	n, _ := strconv.Atoi(string(f[len(f)-1]))
	return n
}

// patience is how often somebody is looked for before it stays open whether
// there is anybody.
const patience = 100

var errUnsettled = errors.New("processes come and go too fast to say that none is left")

// settled is what look sees. It sees nobody only if meanwhile no process came to
// be that it could have missed.
func settled(look func() ([]process, error)) ([]process, error) {
	for range patience {
		before := newest()
		if out, err := look(); err != nil || len(out) > 0 || newest() == before {
			return out, err
		}
	}
	return nil, errUnsettled
}
