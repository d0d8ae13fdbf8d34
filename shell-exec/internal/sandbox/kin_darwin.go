package sandbox

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// kin holds processes by where they come from: children of members, and those in
// a session that a member began. Orphans go to launchd here: what forks twice
// and begins a session of its own between two looks is lost.
type kin struct {
	mu    sync.Mutex
	known map[int]uint64 // members: number and start
	own   map[int]bool   // sessions that members began
}

func newKin(first int) *kin {
	return &kin{known: map[int]uint64{first: 0}, own: map[int]bool{first: true}}
}

func (k *kin) members() ([]process, error) {
	all, err := census()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(all)
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			_, child := k.known[p.parent]
			if _, is := k.known[p.pid]; !is && (child || k.own[p.session]) {
				k.known[p.pid], grown = p.start, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if _, is := k.known[p.pid]; is && p.alive() {
			k.own[p.session] = true
			out = append(out, p)
		}
	}
	return out, nil
}

func (k *kin) doomed() ([]process, error) { return k.members() }

// forget drops members that are gone, and sessions in which nobody lives: their
// numbers may be given to strangers.
func (k *kin) forget(all []process) {
	living, peopled := map[int]bool{}, map[int]bool{}
	for _, p := range all {
		if start, is := k.known[p.pid]; is && (start == 0 || start == p.start) {
			k.known[p.pid], living[p.pid] = p.start, true
		}
		peopled[p.session] = true
	}
	for pid := range k.known {
		if !living[pid] {
			delete(k.known, pid)
		}
	}
	for session := range k.own {
		if !peopled[session] {
			delete(k.own, session)
		}
	}
}

func (k *kin) strike(sig syscall.Signal) error {
	all, err := k.members()
	return errors.Join(err, strikeAll(all, sig))
}

// signal reaches the process p, unless its number came to mean another one a moment ago.
func (p process) signal(sig syscall.Signal) error {
	if now, ok := look(p.pid); !ok || now.start != p.start {
		return unix.ESRCH
	}
	return unix.Kill(p.pid, sig)
}

func (k *kin) release() {}

// alive is false for what is only a status that nobody has asked for yet.
func (p process) alive() bool { return p.state != zombie }

const zombie = 5 // SZOMB, sys/proc.h

// account is empty: macOS tells the memory of another process only through a library.
type account struct{}

func newAccount(holder, Command) *account { return nil }

func (*account) memory([]process) (used, most int64) { return 0, 0 }

func (*account) bind(int) {}

func (*account) exhausted() bool { return false }

func (*account) close() {}

func census() ([]process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	var out []process
	for _, k := range all {
		out = append(out, read(k))
	}
	return out, err
}

func look(pid int) (process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return process{}, false
	}
	return read(*k), true
}

func read(k unix.KinfoProc) process {
	pid := int(k.Proc.P_pid)
	session, _ := unix.Getsid(pid)
	return process{
		pid: pid, parent: int(k.Eproc.Ppid), session: session, state: byte(k.Proc.P_stat),
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
	}
}

// setLimits does nothing: the limits were set before the program began.
func setLimits(int, Limits) {}
