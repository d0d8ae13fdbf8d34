//go:build unix

package sandbox

import (
	"maps"
	"sync"
	"syscall"
)

// relatives are the processes of one command as their parents and sessions tell them: children of
// members, and those in a session that a member began. It is for where the kernel does not keep the count.
type relatives struct {
	mu       sync.Mutex
	known    map[int]uint64 // members: number and start
	sessions map[int]bool   // that members began
}

func newRelatives(first int) *relatives {
	r := &relatives{known: map[int]uint64{}, sessions: map[int]bool{}}
	if p, ok := readProcess(first); ok {
		r.known[first] = p.start
	}
	return r
}

// find returns the members that live among all processes. What is not a member yet becomes none where
// excluded says so, and one where included does or its parent or session is known.
func (r *relatives) find(all []process, excluded, included func(process) bool) (out []process) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.forget(all)
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if _, is := r.known[p.pid]; is || excluded(p) {
				continue
			}
			if _, child := r.known[p.parent]; child || r.sessions[p.session] || included(p) {
				r.known[p.pid], grown = p.start, true
			}
		}
	}
	for _, p := range all {
		if _, is := r.known[p.pid]; is && p.alive() {
			r.sessions[p.session] = true
			out = append(out, p)
		}
	}
	return out
}

// forget drops members that are gone, and sessions in which nobody lives: their numbers may be
// given to strangers.
func (r *relatives) forget(all []process) {
	living, peopled := map[int]bool{}, map[int]bool{}
	for _, p := range all {
		if r.known[p.pid] == p.start {
			living[p.pid] = true
		}
		peopled[p.session] = true
	}
	maps.DeleteFunc(r.known, func(pid int, _ uint64) bool { return !living[pid] })
	maps.DeleteFunc(r.sessions, func(session int, _ bool) bool { return !peopled[session] })
}

// stopAndSignal is signalAll where the kernel does not end all at once: what is killed is stopped
// before, so that no shell continues with its next command.
func stopAndSignal(all []process, sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		_ = signalAll(all, syscall.SIGSTOP)
	}
	return signalAll(all, sig)
}
