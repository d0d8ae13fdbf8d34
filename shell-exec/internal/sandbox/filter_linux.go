package sandbox

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/restrict"
)

const any32 = ^uint32(0) // every bit of an argument counts; also the owner that chown leaves alone

// Not named by x/sys.
const (
	tioclinux     = 0x541C
	fiosetown     = 0x8901
	siocspgrp     = 0x8902
	setDelegation = 1040 // F_SETDELEG, since Linux 6.19
	prioUser      = 2    // PRIO_USER: all processes of a user
	ioprioUser    = 3    // IOPRIO_WHO_USER
)

// filter takes away the system calls that no command of a developer needs and
// that lead out of the sandbox. At level 2 a command has objects to share and, if
// it has no network, interfaces to itself: then those are left.
//
// The thread that starts a command has it already, so that it need not be made while a
// command waits. What the thread needs for that itself, ownFilter takes away.
func filter(landlock, level int, network bool) restrict.Program {
	f := restrict.NewFilter()
	f.Deny(unix.EPERM, slices.DeleteFunc(restrict.KernelCalls(), func(call uintptr) bool { return call == unix.SYS_SETNS })...)
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, unix.TIOCSTI) // typing for the person
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, tioclinux)
	f.Deny(unix.EPERM, unix.SYS_PROCESS_MRELEASE)

	// With these bits of a mode a file runs as the user who made it, outside of the sandbox, no matter
	// who starts it. Directories too have the one for groups: only root, whose groups are
	// everybody's, does without it.
	asOthers := uint32(unix.S_ISUID)
	if os.Geteuid() == 0 {
		asOthers |= unix.S_ISGID
	}
	f.DenyModes(unix.EPERM, asOthers)

	// A lease: others that open a file wait for its holder, up to a minute each time. To read the file
	// and to own it is all that it takes: a command would stop every program that starts the
	// programs of its user, or of the system, and first of all this process.
	f.When(restrict.Refusal(unix.EPERM), unix.SYS_FCNTL, restrict.ArgIs(1, unix.F_SETLEASE), restrict.ArgNot(2, unix.F_UNLCK))
	f.DenyEqual(unix.EPERM, unix.SYS_FCNTL, 1, setDelegation)
	if landlock < 3 {
		f.DenyTruncation() // Landlock cannot, before ABI 3; openat2 is refused by now
	}
	if level == 1 {
		denyShared(f)
	}

	// AF_VSOCK reaches the host of a virtual machine, AF_ALG and the rest the
	// kernel: none of them is ever allowed.
	if network || level == 2 {
		f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 0, any32, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	} else {
		f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 0, any32, unix.AF_UNIX)
		f.AllowOnly(unix.EPERM, unix.SYS_SOCKETPAIR, 0, any32, unix.AF_UNIX)
	}
	return f.Program()
}

// denyShared refuses what Landlock does not see and what belongs to others too:
// shared memory and queues of all programs of this user, owners, attributes and flags of
// all its files. An owner that is already there may be set: root's tar and cp do.
func denyShared(f *restrict.Filter) {
	f.Deny(unix.EPERM, restrict.SharedCalls()...)
	f.Deny(unix.ENOTSUP, restrict.ExtendedCalls()...)
	f.Deny(unix.ENOTSUP, restrict.FlagCalls()...)
	for _, request := range restrict.FlagRequests() { // a descriptor for reading is enough
		f.DenyEqual(unix.ENOTSUP, unix.SYS_IOCTL, 1, request)
	}
	for _, c := range restrict.OwnerCalls() {
		f.AllowOnly(unix.EPERM, c.Call, c.UID, any32, any32, uint32(os.Geteuid()))
		f.AllowOnly(unix.EPERM, c.Call, c.UID+1, any32, any32, uint32(os.Getegid()))
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

// judgesSignals reports whether a supervisor keeps signals in.
func (m machine) judgesSignals(level int) bool {
	return m.supervisor && m.landlock > 0 && !m.scoped() && level == 1
}

// ownFilter is what a child puts on itself, over the filter of its thread. asks says that
// somebody has to answer. A detached command at level 1 has nobody to ask once this process has
// ended, and so no local sockets; only signals it asks about, where nothing else keeps them in.
func (m machine) ownFilter(level int, detached bool) (f restrict.Program, asks bool) {
	own := restrict.NewFilter()
	supervised := m.supervisor && (!detached || level == 2)
	other := restrict.Refusal(unix.EPERM)
	if supervised {
		other = restrict.Notify
	}
	own.Deny(unix.EPERM, unix.SYS_SETNS)
	own.DenyNamespaces()

	// Calls about processes are allowed for the process itself, which is 0; another number gets this
	// answer. Asking for the limits of another is allowed.
	own.DenyEqual(unix.EPERM, unix.SYS_SETPRIORITY, 0, prioUser)
	own.DenyEqual(unix.EPERM, unix.SYS_IOPRIO_SET, 0, ioprioUser)
	for call, pid := range numbered {
		own.When(other, call, restrict.ArgNot(pid, 0))
	}
	own.When(other, unix.SYS_PRLIMIT64, restrict.ArgNot(0, 0), restrict.ArgNot(2, 0))
	own.When(other, unix.SYS_PRLIMIT64, restrict.ArgNot(0, 0), restrict.ArgHighNot(2, 0))

	if supervised {
		own.When(restrict.Notify, unix.SYS_CONNECT)
	}
	if m.landlock < 9 {
		// Landlock does not see which local socket is connected to. One for datagrams
		// reaches it without connecting.
		for _, call := range []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			own.When(restrict.Refusal(unix.EPERM), call, restrict.ArgIs(0, unix.AF_UNIX),
				restrict.ArgNone(1, 0xf, unix.SOCK_STREAM, unix.SOCK_SEQPACKET))
		}
		if !supervised {
			own.DenyEqual(unix.EPERM, unix.SYS_SOCKET, 0, unix.AF_UNIX)
		}
	}

	signals := m.judgesSignals(level)
	if signals {
		own.When(restrict.Notify, unix.SYS_KILL, restrict.ArgNot(0, 0)) // 0: one's own group, which is in the command's session
		for _, call := range []uintptr{
			unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL,
		} {
			own.When(restrict.Notify, call)
		}
		own.When(restrict.Notify, unix.SYS_FCNTL, restrict.ArgIs(1, unix.F_SETOWN), restrict.ArgNot(2, 0))
		own.DenyEqual(unix.EPERM, unix.SYS_FCNTL, 1, unix.F_SETOWN_EX)
		own.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, fiosetown)
		own.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, siocspgrp)
		// A process that hides itself would be taken for a stranger, by the supervisor and by the killer.
		own.When(restrict.Refusal(unix.EPERM), unix.SYS_PRCTL, restrict.ArgIs(0, unix.PR_SET_DUMPABLE), restrict.ArgIs(1, 0))
	}
	return own.Program(), supervised || signals
}
