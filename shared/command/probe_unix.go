//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// together makes c and what it starts one group, which is killed as one when its
// time is over.
func together(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// end kills what is left of the group. It is called before the process was waited
// for, so that no stranger can have its number.
func end(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
