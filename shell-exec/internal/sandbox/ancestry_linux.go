package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ancestry is the killer of last resort. Its members are relatives of the first process, those that
// carry the command's mark in their environment, and those that Landlock lets the command's thread look
// at. Orphans come to this process (PR_SET_CHILD_SUBREAPER) and are asked the same.
//
// What hides from all of that, by clearing its environment and forking twice between two looks, is
// found only once no other command runs.
type ancestry struct {
	*relatives
	thread   *thread
	looks    bool // the thread is in a Landlock domain
	children *children
	mark     string // a variable of the environment that nobody else has
}

func (a *ancestry) members() ([]process, error) {
	return settled(func() ([]process, error) {
		all, err := processList()
		if err != nil {
			return nil, err
		}
		a.children.reap(all)
		return a.find(all, a.excludes, a.includes), nil
	})
}

// excludes reports whether p is this process, another child of it, or the first of another command.
func (a *ancestry) excludes(p process) bool {
	a.children.mu.Lock()
	defer a.children.mu.Unlock()
	return p.pid == unix.Getpid() || p.session == a.children.session || a.children.firsts[p.pid]
}

// includes reports whether p is of this command though neither its parent nor its session is.
func (a *ancestry) includes(p process) bool {
	dir := "/proc/" + strconv.Itoa(p.pid)
	env, err := os.ReadFile(dir + "/environ")
	if err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == a.mark }) {
		return true
	}
	// Landlock forbids to look at what is outside of the thread's domain, in every ABI.
	if a.looks && a.thread.run(func() error { _, err := os.Readlink(dir + "/cwd"); return err }) == nil {
		return true
	}
	// An orphan is of the only command that there is. With others, it may be of those, or be their watchdog.
	a.children.mu.Lock()
	defer a.children.mu.Unlock()
	return p.parent == unix.Getpid() && a.children.ancestries[a] && a.children.trees <= 1
}

// survivors looks as thoroughly as members: what was not seen was not signalled.
func (a *ancestry) survivors() ([]process, error) { return a.members() }

func (a *ancestry) signal(sig unix.Signal) error {
	all, err := a.members()
	return errors.Join(err, stopAndSignal(all, sig))
}

func (a *ancestry) release() {
	a.children.locked(func() { delete(a.children.ancestries, a) })
	a.thread.end()
}

// children are the first processes of all commands, and the orphans that came to this process.
type children struct {
	session  int          // this process's: its other children are in it, commands never
	starting sync.RWMutex // held for reading while a command is started and not yet known

	mu         sync.Mutex
	firsts     map[int]bool // the processes that commands began with: Tree.await waits for them
	trees      int          // of every kind, that are not over
	ancestries map[*ancestry]bool
}

// adopt makes orphans come to this process.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// locked runs change while nobody else reads or changes them.
func (c *children) locked(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// reapUntil reaps orphans some time after children have ended, until done is closed.
func (c *children) reapUntil(done <-chan struct{}) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		select {
		case <-done:
			return
		case <-ended:
		}
		select {
		case <-done:
			return
		case <-time.After(longPause):
		}
		if all, err := processList(); err == nil {
			c.reap(all)
		}
	}
}

// reap asks for the status of orphans that have ended, so that they go. Children of this process that are
// no command are in its own session: those, and the first processes of commands, are waited for by others.
func (c *children) reap(all []process) {
	if !c.starting.TryLock() {
		return // a command that nobody knows yet may be among them; next time
	}
	defer c.starting.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range all {
		if p.parent == unix.Getpid() && p.state == 'Z' && p.session != c.session && !c.firsts[p.pid] {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
}
