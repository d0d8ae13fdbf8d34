package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// space holds the processes of a PID namespace. It has a first process of its
// own, which does nothing but bury the dead: the namespace, and what a command
// leaves in the background, lasts as long as that does, and not a moment longer.
type space struct {
	init     *os.Process
	thread   *thread
	first    int
	detached bool // it is left alone when it is given back
}

// newSpace makes a PID namespace for what the calling thread starts from now on.
func newSpace(detached bool) (*space, error) {
	if err := unix.Unshare(unix.CLONE_NEWPID); err != nil {
		return nil, fmt.Errorf("PID namespace: %w", err)
	}
	attr := &syscall.SysProcAttr{Setsid: true}
	if !detached {
		attr.Pdeathsig = unix.SIGKILL
	}
	// The file is open in spite of what covers its name; it could also have been replaced.
	p, err := os.StartProcess("/proc/self/exe", []string{"init"}, &os.ProcAttr{
		Dir: "/", Env: []string{role + "=" + roleInit}, Files: []*os.File{nil, nil, nil},
		Sys: attr,
	})
	if err != nil {
		return nil, fmt.Errorf("first process of a PID namespace: %w", err)
	}
	return &space{init: p, detached: detached}, nil
}

// bury is the work of the first process of a PID namespace.
func bury() {
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	signal.Ignore(unix.SIGCHLD) // the kernel then reaps by itself
	for {
		time.Sleep(time.Hour)
	}
}

// members are those that descend from the first process of the command or of
// the namespace: there is nobody else there that an orphan could go to.
func (s *space) members() ([]process, error) { return settled(s.seen) }

// doomed looks once: nobody is born without a first process.
func (s *space) doomed() ([]process, error) { return s.seen() }

func (s *space) seen() ([]process, error) {
	all, err := census()
	in := map[int]bool{s.first: true, s.init.Pid: true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], grown = true, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if in[p.pid] && p.pid != s.init.Pid && p.alive() {
			out = append(out, p)
		}
	}
	return out, err
}

func (s *space) strike(sig unix.Signal) error {
	if sig == unix.SIGKILL {
		if err := s.init.Kill(); !errors.Is(err, os.ErrProcessDone) {
			return err // or nil; the kernel takes the rest with it
		}
		return nil
	}
	all, err := s.members()
	return errors.Join(err, signalAll(all, sig))
}

func (s *space) close() {
	_ = s.init.Kill()
	_, _ = s.init.Wait()
}

func (s *space) release() {
	if s.detached {
		_ = s.init.Release()
	} else {
		s.close()
	}
	s.thread.end()
}
