package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

const tioclinux = 0x541C // not named by x/sys

// filter takes away the system calls that no command of a developer needs and
// that lead out of the sandbox. namespaced says that the command has a network of
// its own, with no way out: then sockets may be made.
func filter(landlock int, network, namespaced bool) seccomp.Program {
	f := seccomp.New()
	f.Deny(unix.EPERM, seccomp.KernelCalls()...)
	f.DenyNamespaces()
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, unix.TIOCSTI) // typing for the person
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, tioclinux)
	if landlock < 3 {
		f.Deny(unix.EPERM, unix.SYS_TRUNCATE) // Landlock cannot, before ABI 3
	}
	// AF_VSOCK reaches the host of a virtual machine, AF_ALG and the rest the
	// kernel: none of them is ever allowed.
	if network || namespaced {
		f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 0, ^uint32(0), unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
		return f.Program()
	}
	f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 0, ^uint32(0), unix.AF_UNIX)
	f.AllowOnly(unix.EPERM, unix.SYS_SOCKETPAIR, 0, ^uint32(0), unix.AF_UNIX)
	if landlock < 9 {
		// Landlock does not see which socket file is connected to. A datagram
		// socket reaches one with sendmsg, without connecting.
		f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 1, 0xf, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
		f.AllowOnly(unix.EPERM, unix.SYS_SOCKETPAIR, 1, 0xf, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
		f.Deny(unix.EPERM, unix.SYS_CONNECT)
	}
	return f.Program()
}
