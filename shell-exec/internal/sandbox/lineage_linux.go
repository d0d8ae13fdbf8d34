package sandbox

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// lineage holds processes by where they come from, where the kernel does not
// keep the count: children of members, those in a session that a member began,
// those that carry the command's mark, and those that Landlock lets the
// command's thread look at. Orphans come to this process (PR_SET_CHILD_SUBREAPER)
// and are asked the same.
//
// What hides from all four, by clearing its environment and forking twice
// between two looks, is found only once no other command runs.
type lineage struct {
	thread *thread
	looks  bool // the thread is in a Landlock domain
	family *family
	mark   string // a variable of the environment that nobody else has
	mu     sync.Mutex
	known  map[int]uint64 // members: number and start
	own    map[int]bool   // sessions that members began
}

func newLineage(t *thread, looks bool, f *family, mark string, first int) *lineage {
	l := &lineage{thread: t, looks: looks, family: f, mark: mark, known: map[int]uint64{}, own: map[int]bool{}}
	if p, ok := look(first); ok {
		l.known[first] = p.start
	}
	f.join(l)
	return l
}

func (l *lineage) members() ([]process, error) { return settled(l.seen) }

// doomed looks as hard as members: what was not seen was not struck.
func (l *lineage) doomed() ([]process, error) { return l.members() }

func (l *lineage) seen() ([]process, error) {
	all, err := census()
	if err != nil {
		return nil, err
	}
	l.family.reap(all)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(all)
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if _, is := l.known[p.pid]; !is && l.claims(p) {
				l.known[p.pid], grown = p.start, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if _, is := l.known[p.pid]; is && p.alive() {
			l.own[p.session] = true
			out = append(out, p)
		}
	}
	return out, nil
}

// forget drops members that are gone, and sessions in which nobody lives: their
// numbers may be given to strangers.
func (l *lineage) forget(all []process) {
	living := map[int]bool{}
	for _, p := range all {
		if l.known[p.pid] == p.start {
			living[p.pid] = true
		}
	}
	for pid := range l.known {
		if !living[pid] {
			delete(l.known, pid)
		}
	}
	peopled := map[int]bool{}
	for _, p := range all {
		peopled[p.session] = true
	}
	for session := range l.own {
		if !peopled[session] {
			delete(l.own, session)
		}
	}
}

// claims reports whether p, not known yet, is of this family.
func (l *lineage) claims(p process) bool {
	if p.pid == unix.Getpid() || p.session == l.family.session || l.family.others(l, p.pid) {
		return false
	}
	if _, child := l.known[p.parent]; child || l.own[p.session] || marked(p.pid, l.mark) || l.looksAt(p.pid) {
		return true
	}
	return p.parent == unix.Getpid() && l.family.only(l)
}

// marked reports whether the process was started with mark in its environment.
func marked(pid int, mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark })
}

// looksAt reports whether the thread may look into the process: Landlock forbids
// that for all that is outside of its domain, in every ABI.
func (l *lineage) looksAt(pid int) bool {
	if !l.looks {
		return false
	}
	return l.thread.run(func() error {
		_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
		return err
	}) == nil
}

func (l *lineage) strike(sig unix.Signal) error {
	all, err := l.members()
	return errors.Join(err, strikeAll(all, sig))
}

func (l *lineage) release() {
	l.family.leave(l)
	l.thread.end()
}

// family is all commands of this process, and the orphans that came to it.
type family struct {
	session  int          // this process's: its other children are in it, commands never
	starting sync.RWMutex // held for reading while a command is started and not yet known
	mu       sync.Mutex
	firsts   map[int]bool // the processes that commands began with: somebody waits for them
	trees    int          // of every kind, that are not over
	lines    map[*lineage]bool
}

func newFamily() *family {
	session, _ := unix.Getsid(0)
	return &family{session: session, firsts: map[int]bool{}, lines: map[*lineage]bool{}}
}

// adopt makes orphans come to this process.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func (f *family) join(l *lineage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines[l] = true
}

func (f *family) leave(l *lineage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lines, l)
}

// only reports whether l is the only one there is: what others started comes to this
// process as well, and so does the will of another.
func (f *family) only(l *lineage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines[l] && f.trees <= 1
}

// others reports whether the process is the first of a command other than l's.
func (f *family) others(l *lineage, pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, mine := l.known[pid]
	return f.firsts[pid] && !mine
}

func (f *family) began(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.firsts[pid] = true
	f.trees++
}

// parted is for a tree that is over.
func (f *family) parted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trees--
}

func (f *family) ended(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.firsts, pid)
}

// reap asks for the status of orphans that have ended, so that they go. Children
// of this process that are no command are in its own session: those, and the
// first processes of commands, are waited for by who started them.
func (f *family) reap(all []process) {
	if !f.starting.TryLock() {
		return // a command that nobody knows yet may be among them; next time
	}
	defer f.starting.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range all {
		if p.parent == unix.Getpid() && p.state == 'Z' && p.session != f.session && !f.firsts[p.pid] {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
}
