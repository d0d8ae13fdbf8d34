package sandbox

import (
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// thread is an OS thread that has given up rights, for good. It runs what it is
// told, ends with the command it was made for, and never goes back to the Go
// runtime: the goroutine on it is locked and stays so.
type thread struct {
	id    int
	mu    sync.Mutex // one errand at a time, none after the end
	do    chan func()
	ended bool
}

var errThreadEnded = errors.New("the command's thread has ended")

// newThread is a thread on which enter has succeeded.
func newThread(enter func() error) (*thread, error) {
	t := &thread{do: make(chan func())}
	ready := make(chan error, 1)
	go onOwnThread(func() {
		t.id = unix.Gettid()
		err := enter()
		ready <- err
		if err != nil {
			return // whatever part of enter succeeded ends with the thread
		}
		for f := range t.do {
			f()
		}
	})
	return t, <-ready
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
	answer := make(chan error, 1)
	t.do <- func() { answer <- f() }
	return <-answer
}

func (t *thread) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		close(t.do)
	}
}
