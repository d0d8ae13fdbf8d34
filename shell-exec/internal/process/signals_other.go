//go:build !unix

package process

import "syscall"

var signals = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

func signalNumber(string) int { return 0 }

const stop = syscall.SIGKILL
