package restrict

import (
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

// program is the filter for r. It allows by default: it is there to take away
// what a server of files never does, not to list what the Go runtime may do.
func program(r Rules, landlock int) seccomp.Program {
	f := seccomp.New()
	f.Deny(unix.EPERM, seccomp.KernelCalls()...)
	f.DenyNamespaces()
	if !r.Exec {
		f.Deny(unix.EPERM, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
	}
	if !r.Network {
		f.Deny(unix.EPERM, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR)
	}
	if !r.Attributes {
		f.Deny(unix.EPERM, seccomp.AttributeCalls()...)
	}
	if landlock < 3 {
		f.Deny(unix.EPERM, unix.SYS_TRUNCATE) // Landlock cannot, before ABI 3
	}
	return f.Program()
}
