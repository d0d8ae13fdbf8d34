package sandbox

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

const tioclinux = 0x541C // not named by x/sys

// filter takes away the system calls that no command of a developer needs and
// that lead out of the sandbox. At level 2 a command has objects to share and, if
// it has no network, interfaces to itself: then those are left.
//
// The thread that starts a command has it already, so that it need not be made while a
// command waits. What the thread needs for that itself, ownFilter takes away.
func filter(landlock, level int, network bool) seccomp.Program {
	f := seccomp.New()
	f.Deny(unix.EPERM, slices.DeleteFunc(seccomp.KernelCalls(), func(call uintptr) bool { return call == unix.SYS_SETNS })...)
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, unix.TIOCSTI) // typing for the person
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, tioclinux)
	f.Deny(unix.EPERM, unix.SYS_PROCESS_MRELEASE)
	f.DenyModes(unix.EPERM, asOthers())
	denyLeases(f)
	if landlock < 3 {
		f.DenyTruncation() // Landlock cannot, before ABI 3; openat2 is refused by now
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
	return f.Program()
}

// denyLeases refuses to be asked before others open a file: they wait for that, up to a minute each
// time. To read the file and to own it is all that it takes: a command would stop whoever starts the
// programs of its user, or of the system, and first of all this process.
func denyLeases(f *seccomp.Filter) {
	const setDelegation = 1040 // F_SETDELEG, since Linux 6.19
	f.When(seccomp.Refusal(unix.EPERM), unix.SYS_FCNTL, seccomp.Is(1, unix.F_SETLEASE), seccomp.Not(2, unix.F_UNLCK))
	f.DenyEqual(unix.EPERM, unix.SYS_FCNTL, 1, setDelegation)
}

// asOthers are the bits of a mode with which a file runs as who made it, outside of the sandbox,
// whoever starts it. Directories too have the one for groups: only root, whose groups are
// everybody's, does without it.
func asOthers() uint32 {
	if os.Geteuid() == 0 {
		return unix.S_ISUID | unix.S_ISGID
	}
	return unix.S_ISUID
}

// denyShared refuses what Landlock does not see and what belongs to others too:
// shared memory and queues of all programs of this user, owners, attributes and flags of
// all its files. An owner that is already there may be set: root's tar and cp do.
func denyShared(f *seccomp.Filter) {
	f.Deny(unix.EPERM, seccomp.SharedCalls()...)
	f.Deny(unix.ENOTSUP, seccomp.ExtendedCalls()...)
	f.Deny(unix.ENOTSUP, seccomp.FlagCalls()...)
	for _, request := range seccomp.FlagRequests() { // a descriptor for reading is enough
		f.DenyEqual(unix.ENOTSUP, unix.SYS_IOCTL, 1, request)
	}
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
	f.DenyEqual(unix.EPERM, unix.SYS_SETPRIORITY, 0, prioUser)
	f.DenyEqual(unix.EPERM, unix.SYS_IOPRIO_SET, 0, ioprioUser)
	for call, pid := range numbered {
		f.When(other, call, seccomp.Not(pid, 0))
	}
	f.When(other, unix.SYS_PRLIMIT64, seccomp.Not(0, 0), seccomp.Not(2, 0))
	f.When(other, unix.SYS_PRLIMIT64, seccomp.Not(0, 0), seccomp.HighNot(2, 0))
}

// askAboutSignals is for where Landlock has no scope for them. A process that hides
// itself would be taken for a stranger, by who signals it and by who ends all.
func askAboutSignals(f *seccomp.Filter) {
	f.When(seccomp.Notify, unix.SYS_KILL, seccomp.Not(0, 0)) // 0: one's own group, which is in the command's session
	for _, call := range []uintptr{unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL} {
		f.When(seccomp.Notify, call)
	}
	f.When(seccomp.Notify, unix.SYS_FCNTL, seccomp.Is(1, unix.F_SETOWN), seccomp.Not(2, 0))
	f.DenyEqual(unix.EPERM, unix.SYS_FCNTL, 1, unix.F_SETOWN_EX)
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, fiosetown)
	f.DenyEqual(unix.EPERM, unix.SYS_IOCTL, 1, siocspgrp)
	f.When(seccomp.Refusal(unix.EPERM), unix.SYS_PRCTL, seccomp.Is(0, unix.PR_SET_DUMPABLE), seccomp.Is(1, 0))
}

const ( // not named by x/sys
	fiosetown = 0x8901
	siocspgrp = 0x8902
)

// ownFilter is what a child puts on itself, over the filter of its thread. asks says that
// somebody has to answer. A detached command at level 1 has nobody to ask once this process has
// ended, and so no local sockets; only signals it asks about, where nothing else keeps them in.
func (m machine) ownFilter(level int, detached bool) (f seccomp.Program, asks bool) {
	own := seccomp.New()
	supervised := m.supervisor && (!detached || level == 2)
	other := seccomp.Refusal(unix.EPERM)
	if supervised {
		other = seccomp.Notify
	}
	own.Deny(unix.EPERM, unix.SYS_SETNS)
	own.DenyNamespaces()
	holdToOneself(own, other)
	if supervised {
		own.When(seccomp.Notify, unix.SYS_CONNECT)
	}
	if m.landlock < 9 {
		// Landlock does not see which local socket is connected to. One for datagrams
		// reaches it without connecting.
		own.When(seccomp.Refusal(unix.EPERM), unix.SYS_SOCKET, seccomp.Is(0, unix.AF_UNIX), seccomp.None(1, 0xf, unix.SOCK_STREAM, unix.SOCK_SEQPACKET))
		own.When(seccomp.Refusal(unix.EPERM), unix.SYS_SOCKETPAIR, seccomp.Is(0, unix.AF_UNIX), seccomp.None(1, 0xf, unix.SOCK_STREAM, unix.SOCK_SEQPACKET))
		if !supervised {
			own.DenyEqual(unix.EPERM, unix.SYS_SOCKET, 0, unix.AF_UNIX)
		}
	}
	signals := m.judgesSignals(level)
	if signals {
		askAboutSignals(own)
	}
	return own.Program(), supervised || signals
}

// judgesSignals reports whether a supervisor keeps signals in.
func (m machine) judgesSignals(level int) bool {
	return m.supervisor && m.landlock > 0 && !m.scoped() && level == 1
}
