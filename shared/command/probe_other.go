//go:build !unix

package command

import "os/exec"

// together leaves c as it is: this system has no groups of processes to kill.
func together(*exec.Cmd) {}

// end kills the process, but not what it started.
func end(c *exec.Cmd) { _ = c.Process.Kill() }
