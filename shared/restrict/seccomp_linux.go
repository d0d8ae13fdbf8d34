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
		denyNetwork(f, r)
	}
	if !r.Attributes {
		f.Deny(unix.EPERM, seccomp.AttributeCalls()...)
	}
	if landlock < 3 {
		f.DenyTruncation() // Landlock cannot, before ABI 3
	}
	return f.Program()
}

// denyNetwork takes away what the rules do not keep of the network; connecting by sending
// (TCP Fast Open), which Landlock does not see, always.
func denyNetwork(f *seccomp.Filter, r Rules) {
	f.DenyFastOpen(unix.EPERM)
	if !r.Accept {
		f.Deny(unix.EPERM, seccomp.AcceptCalls()...)
	}
	if len(r.Connect) > 0 {
		connectOnly(f)
	} else {
		f.Deny(unix.EPERM, seccomp.SocketCalls()...)
	}
}

// connectOnly leaves connections by TCP, whose ports Landlock limits. It takes away what
// Landlock does not see: the other protocols of streams (MPTCP is one), and listening.
func connectOnly(f *seccomp.Filter) {
	f.Deny(unix.EPERM, unix.SYS_SOCKETPAIR, unix.SYS_BIND, unix.SYS_LISTEN)
	f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 0, ^uint32(0), unix.AF_INET, unix.AF_INET6)
	f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 1, 0xf, unix.SOCK_STREAM)
	f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 2, ^uint32(0), unix.IPPROTO_IP, unix.IPPROTO_TCP)
}
