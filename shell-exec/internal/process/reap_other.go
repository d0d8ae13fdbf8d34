//go:build !unix

package process

import (
	"os"
	"syscall"
)

func apart() *syscall.SysProcAttr { return nil }

// Signals is what a supervisor passes on: nothing here.
func Signals() (signals <-chan os.Signal, stop func()) { return nil, func() {} }

func (j *jobs) adopt(p *os.Process) { _ = p.Release() }

func (j *jobs) reap() {}
