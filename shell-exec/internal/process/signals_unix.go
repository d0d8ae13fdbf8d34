//go:build unix

package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signals are those that document 003 lets a caller send.
var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT,
	"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// stop keeps a process from doing anything more.
const stop = syscall.SIGSTOP
