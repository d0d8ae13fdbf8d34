//go:build !unix

package process

import (
	"context"
	"io/fs"
	"os"
	"syscall"
)

func pipe(bool) (ours, theirs *os.File, err error) { return nil, nil, unavailable() }

func (d *drain) rest([]byte) {}

var signals = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

func signalNumber(string) int { return 0 }

const stop = syscall.SIGKILL

func apart() *syscall.SysProcAttr { return nil }

// Signals is what a supervisor passes on: nothing here.
func Signals() (signals <-chan os.Signal, stop func()) { return nil, func() {} }

func (j *jobs) adopt(p *os.Process) { _ = p.Release() }

func (j *jobs) reap() {}

// LoginPath is for systems that have login shells.
func LoginPath(context.Context, []string) (string, error) { return "", unavailable() }

// fileNumber is not known here: a temporary directory is removed only while it is empty.
func fileNumber(fs.FileInfo) string { return "" }
