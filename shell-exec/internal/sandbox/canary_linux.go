package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// canary is a process of this user outside of every domain. A thread that can
// reach it is not confined, whatever the kernel said. It does nothing, ends with
// this process, and is not waited for before that: until then its number is its
// own, even if somebody kills it.
type canary struct {
	process *os.Process
	keep    *os.File // while it is open the canary lives
}

func newCanary() (*canary, error) {
	in, keep, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	const waits = "read -r nothing" // a shell has this itself
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", waits}, &os.ProcAttr{Dir: "/", Env: []string{}, Files: []*os.File{in, nil, nil}})
	if err != nil {
		keep.Close()
		return nil, err
	}
	return &canary{p, keep}, nil
}

// unreachable is nil if the calling thread may not signal the canary.
func (c *canary) unreachable() error {
	if err := unix.Kill(c.process.Pid, 0); err != unix.EPERM {
		return fmt.Errorf("the canary outside of the domain can be reached (%v)", err)
	}
	return nil
}

// reachable is nil if the calling thread may signal it: only then being refused
// means something.
func (c *canary) reachable() error { return unix.Kill(c.process.Pid, 0) }

func (c *canary) close() {
	c.keep.Close()
	_, _ = c.process.Wait()
}
