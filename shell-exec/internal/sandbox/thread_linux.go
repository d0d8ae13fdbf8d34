package sandbox

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// thread is an OS thread that has given up rights, for good. It runs the functions that it is
// given and ends with the command it was made for. It never returns to the Go runtime: the goroutine on
// it is locked and stays so, else another goroutine would run with the rights of a command, and could
// signal nobody.
type thread struct {
	id     int
	mu     sync.Mutex // one function at a time, none after the end
	do     chan func() error
	result chan error
	ended  bool
}

var errThreadEnded = errors.New("the command's thread has ended")

// newThread returns a thread on which enter has succeeded.
func newThread(enter func() error) (*thread, error) {
	t := &thread{do: make(chan func() error), result: make(chan error, 1)}
	go onOwnThread(func() {
		t.id = unix.Gettid()
		err := enter()
		t.result <- err
		if err != nil {
			return // whatever part of enter succeeded ends with the thread
		}
		for f := range t.do {
			t.result <- f()
		}
	})
	return t, <-t.result
}

// runOnce runs f on a thread that ends afterwards. What it unshared goes with it unless a descriptor keeps that.
func runOnce(f func() error) error {
	t, err := newThread(f)
	if err == nil {
		t.end()
	}
	return err
}

// onOwnThread runs f on a thread that ends with it. The main thread cannot end:
// it is kept out of the way meanwhile.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onOwnThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// run runs f on the thread.
func (t *thread) run(f func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return errThreadEnded
	}
	t.do <- f
	return <-t.result
}

func (t *thread) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		close(t.do)
	}
}

// spare is a thread that is bound before there is a command for it: to make and
// bind one takes half as long as to start a program. It is made while a command
// runs, for the next one, and serves one whose plan is the very same: what binds
// a thread is its plan and nothing else. There is one at most, until close.
type spare struct {
	mu     sync.Mutex
	plan   *plan
	thread *thread // nil while it is being made
	over   bool
}

// take returns the thread that p has bound, which is the caller's now; nil where there is none.
func (s *spare) take(p *plan) *thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.thread
	if t == nil || s.plan != p {
		return nil
	}
	s.plan, s.thread = nil, nil
	return t
}

// prepare makes the next thread for p, unless there is one or it is on its way.
// One for another plan ends: that one is not what commands have now.
func (s *spare) prepare(p *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.plan == p {
		return
	}
	s.drop()
	s.plan = p
	go func() {
		t, err := newThread(p.enter)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.over || s.plan != p || s.thread != nil {
			t.end() // it is not wanted any more
			return
		}
		s.thread = t
	}()
}

// drop ends what there is. The lock is held.
func (s *spare) drop() {
	if s.thread != nil {
		s.thread.end()
	}
	s.plan, s.thread = nil, nil
}

func (s *spare) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.drop()
}

// canary is a process of this user outside of every domain. A thread that can
// reach it is not confined, whatever the kernel said. It does nothing, ends with
// this process, and is not waited for before that: until then its number is its
// own, even if somebody kills it.
type canary struct {
	process *os.Process
	keep    *os.File // while it is open the canary lives

	// files is how many files a program may have open: what this process was started
	// with, before the Go runtime raised it for itself, and no more than maxFiles. os
	// gives it back to what it starts.
	files unix.Rlimit
}

func newCanary() (*canary, error) {
	const waits = "read -r nothing" // a shell has this itself
	p, keep, err := startShell(waits, &os.ProcAttr{})
	if err != nil {
		return nil, err
	}
	c := &canary{process: p, keep: keep}
	if err := unix.Prlimit(p.Pid, unix.RLIMIT_NOFILE, nil, &c.files); err != nil {
		c.close()
		return nil, err
	}
	c.files.Cur, c.files.Max = min(c.files.Cur, maxFiles), min(c.files.Max, maxFiles)
	return c, nil
}

func (c *canary) close() {
	c.keep.Close()
	_, _ = c.process.Wait()
}

// startShell starts a shell on the calling thread whose input ends when keep is closed, at the latest
// with this process.
func startShell(script string, attr *os.ProcAttr, args ...string) (p *os.Process, keep *os.File, err error) {
	in, keep, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	attr.Dir, attr.Env, attr.Files = "/", []string{}, []*os.File{in, nil, nil}
	p, err = os.StartProcess("/bin/sh", append([]string{"sh", "-c", script, "sh"}, args...), attr)
	if err != nil {
		keep.Close()
		return nil, nil, err
	}
	return p, keep, nil
}

// watchdog is what is done when this process ends without having ended a command,
// killed for one: a shell waits for that and does it. It is one more process, and
// so only for commands that live for a while.
type watchdog struct {
	shell *os.Process
	keep  *os.File // the shell reads the other end, and learns when nobody keeps this one
}

// trapped are signals to a command's whole tree: those are not for the shell.
const trapped = "trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE; read -r nothing; "

// newWatchdog starts the shell on the calling thread, and so in its domain.
func newWatchdog(script string, args ...string) (*watchdog, error) {
	p, keep, err := startShell(trapped+script, &os.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}}, args...)
	if err != nil {
		return nil, err
	}
	return &watchdog{p, keep}, nil
}

// stop ends the shell before the input does. A nil watchdog is none.
func (w *watchdog) stop() {
	if w != nil {
		_ = w.shell.Kill()
		_, _ = w.shell.Wait()
		w.keep.Close()
	}
}
