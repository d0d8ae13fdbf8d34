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

	// files is how many files a program may have open: what this process was started
	// with, before the Go runtime raised it for itself, and no more than mostFiles. os
	// gives it back to what it starts.
	files unix.Rlimit
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
	c := &canary{process: p, keep: keep}
	if err := unix.Prlimit(p.Pid, unix.RLIMIT_NOFILE, nil, &c.files); err != nil {
		c.close()
		return nil, err
	}
	c.files.Cur, c.files.Max = min(c.files.Cur, mostFiles), min(c.files.Max, mostFiles)
	return c, nil
}

// unreachable is nil if the calling thread may not signal the canary.
func (c *canary) unreachable() error {
	if err := unix.Kill(c.process.Pid, 0); err != unix.EPERM {
		return fmt.Errorf("the canary outside of the domain can be reached (%v)", err)
	}
	return nil
}

func (c *canary) close() {
	c.keep.Close()
	_, _ = c.process.Wait()
}
