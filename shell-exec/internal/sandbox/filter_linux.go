package sandbox

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

const tioclinux = 0x541C // not named by x/sys

// filter takes away the system calls that no command of a developer needs and
// that lead out of the sandbox. At level 2 a command has objects to share and, if
// it has no network, interfaces to itself: then those are left.
func filter(landlock, level int, network bool) seccomp.Program {
	f := seccomp.New()
	f.Deny(unix.EPERM, seccomp.KernelCalls()...)
	f.DenyNamespaces()
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, unix.TIOCSTI) // typing for the person
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, tioclinux)
	f.Deny(unix.EPERM, unix.SYS_PROCESS_MRELEASE)
	if landlock < 3 {
		f.DenyTruncation()                    // Landlock cannot, before ABI 3
		f.Deny(unix.ENOSYS, unix.SYS_OPENAT2) // truncates too, and keeps its flags in memory; openat is what programs then use
	}
	if level == 1 {
		denyShared(f)
	}
	// AF_VSOCK reaches the host of a virtual machine, AF_ALG and the rest the
	// kernel: none of them is ever allowed.
	if network || level == 2 {
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

// denyShared refuses what Landlock does not see and what belongs to others too:
// shared memory and queues of all programs of this user, owners and attributes of
// all its files. An owner that is already there may be set: root's tar and cp do.
func denyShared(f *seccomp.Filter) {
	f.Deny(unix.EPERM, seccomp.SharedCalls()...)
	f.Deny(unix.ENOTSUP, seccomp.ExtendedCalls()...)
	const same = ^uint32(0)
	for _, c := range seccomp.OwnerCalls() {
		f.AllowOnly(unix.EPERM, c.Call, c.UID, ^uint32(0), same, uint32(os.Geteuid()))
		f.AllowOnly(unix.EPERM, c.Call, c.UID+1, ^uint32(0), same, uint32(os.Getegid()))
	}
}

// Calls that take the number of a process and change it, and which of their arguments
// that is. Neither Landlock nor anything else asks whose process it is but for the user.
var numbered = map[uintptr]int{
	unix.SYS_SCHED_SETAFFINITY:  0,
	unix.SYS_SCHED_SETSCHEDULER: 0,
	unix.SYS_SCHED_SETPARAM:     0,
	unix.SYS_SCHED_SETATTR:      0,
	unix.SYS_SETPRIORITY:        1,
	unix.SYS_IOPRIO_SET:         1,
	unix.SYS_MIGRATE_PAGES:      0,
	unix.SYS_MOVE_PAGES:         0,
}

// Values of the first argument of setpriority and of ioprio_set: all of a user.
const (
	prioUser   = 2
	ioprioUser = 3
)

// holdToOneself keeps such calls to the process itself, for which 0 stands; another
// number gets this answer. Asking for the limits of another is left.
func holdToOneself(f *seccomp.Filter, other uint32) {
	for call, pid := range numbered {
		f.When(other, call, seccomp.Not(pid, 0))
	}
	f.DenyEqual(unix.EPERM, unix.SYS_SETPRIORITY, 0, prioUser)
	f.DenyEqual(unix.EPERM, unix.SYS_IOPRIO_SET, 0, ioprioUser)
	f.When(other, unix.SYS_PRLIMIT64, seccomp.Not(0, 0), seccomp.Not(2, 0))
	f.When(other, unix.SYS_PRLIMIT64, seccomp.Not(0, 0), seccomp.HighNot(2, 0))
}

// ownFilter is what the child puts on itself, over the filter of the thread.
func ownFilter() seccomp.Program {
	f := seccomp.New()
	holdToOneself(f, seccomp.Refusal(unix.EPERM))
	return f.Program()
}
