//go:build unix

package process

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart is a session of its own: what happens to the server's session, or its terminal, is not the job's.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signals is what a supervisor passes on; stop ends that. A hang-up is a signal like others to it.
func Signals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGTERM, toKill, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	return c, func() { signal.Stop(c) }
}

// adopt remembers a supervisor that this process has to reap.
func (j *jobs) adopt(p *os.Process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.children = append(j.children, p)
}

// reap takes those that have ended, and waits for none: until then each keeps its number, so none is mistaken.
func (j *jobs) reap() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.children = slices.DeleteFunc(j.children, func(p *os.Process) bool {
		if pid, err := unix.Wait4(p.Pid, nil, unix.WNOHANG, nil); pid == 0 && err == nil {
			return false
		}
		_ = p.Release()
		return true
	})
}
