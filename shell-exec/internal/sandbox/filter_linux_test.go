package sandbox

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/restrict"
)

// answers is the most severe answer of the filters, as the kernel takes it.
func answers(t *testing.T, call restrict.Call, filters ...restrict.Program) uint32 {
	t.Helper()
	worst := uint32(unix.SECCOMP_RET_ALLOW)
	for _, f := range filters {
		got, err := f.Answer(call)
		if err != nil {
			t.Fatal(err)
		}
		worst = min(worst, got)
	}
	return worst
}

func TestTheFilterRefusesWhatLandlockDoesNotSee(t *testing.T) {
	if !restrict.HasFilters() {
		t.Skip("no system-call filters here")
	}
	const (
		allow = unix.SECCOMP_RET_ALLOW
		same  = 1<<64 - 1
	)
	eperm, enosys, enotsup := restrict.Refusal(unix.EPERM), restrict.Refusal(unix.ENOSYS), restrict.Refusal(unix.ENOTSUP)
	uid, gid := uint64(os.Geteuid()), uint64(os.Getegid())
	type args = [6]uint64
	for _, w := range []struct {
		what            string
		landlock, level int
		call            uintptr
		args            args
		want            uint32
	}{
		{"affinity of oneself", 7, 1, unix.SYS_SCHED_SETAFFINITY, args{0}, allow},
		{"affinity of another", 7, 1, unix.SYS_SCHED_SETAFFINITY, args{7}, eperm},
		{"a number that the upper half hides", 7, 1, unix.SYS_SCHED_SETSCHEDULER, args{1<<32 | 7}, eperm},
		{"0 with an upper half that the kernel drops", 7, 1, unix.SYS_SCHED_SETSCHEDULER, args{1 << 32}, allow},
		{"parameters of another", 7, 2, unix.SYS_SCHED_SETPARAM, args{7}, eperm},
		{"attributes of another", 7, 1, unix.SYS_SCHED_SETATTR, args{7}, eperm},
		{"one's own priority", 7, 1, unix.SYS_SETPRIORITY, args{unix.PRIO_PROCESS, 0, 5}, allow},
		{"that of one's group", 7, 1, unix.SYS_SETPRIORITY, args{unix.PRIO_PGRP, 0, 5}, allow},
		{"that of another", 7, 1, unix.SYS_SETPRIORITY, args{unix.PRIO_PROCESS, 7, 5}, eperm},
		{"that of another group", 7, 1, unix.SYS_SETPRIORITY, args{unix.PRIO_PGRP, 7, 5}, eperm},
		{"that of everything of the user", 7, 1, unix.SYS_SETPRIORITY, args{unix.PRIO_USER, 0, 5}, eperm},
		{"one's own I/O priority", 7, 1, unix.SYS_IOPRIO_SET, args{1, 0, 0}, allow},
		{"that of another", 7, 1, unix.SYS_IOPRIO_SET, args{1, 7, 0}, eperm},
		{"that of everything of the user", 7, 1, unix.SYS_IOPRIO_SET, args{3, 0, 0}, eperm},
		{"pages of oneself", 7, 1, unix.SYS_MOVE_PAGES, args{0}, allow},
		{"pages of another", 7, 1, unix.SYS_MOVE_PAGES, args{7}, eperm},
		{"pages of another", 7, 1, unix.SYS_MIGRATE_PAGES, args{7}, eperm},
		{"memory of what is dying", 7, 2, unix.SYS_PROCESS_MRELEASE, args{3}, eperm},
		{"a limit of oneself", 7, 1, unix.SYS_PRLIMIT64, args{0, 1, 4096}, allow},
		{"to ask for a limit of another", 7, 1, unix.SYS_PRLIMIT64, args{7, 1, 0, 4096}, allow},
		{"a limit of another", 7, 1, unix.SYS_PRLIMIT64, args{7, 1, 4096}, eperm},
		{"a limit of another, at an address whose lower half is 0", 7, 1, unix.SYS_PRLIMIT64, args{7, 1, 1 << 32}, eperm},
		{"a child of one's parent", 7, 1, unix.SYS_CLONE, args{unix.CLONE_PARENT}, eperm},
		{"a thread", 7, 1, unix.SYS_CLONE, args{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, allow},
		{"shared memory", 7, 1, unix.SYS_SHMAT, args{1}, eperm},
		{"shared memory of one's own namespace", 7, 2, unix.SYS_SHMAT, args{1}, allow},
		{"a queue", 7, 1, unix.SYS_MSGRCV, args{1}, eperm},
		{"semaphores", 7, 1, unix.SYS_SEMTIMEDOP, args{1}, eperm},
		{"a POSIX queue", 7, 1, unix.SYS_MQ_OPEN, args{4096}, eperm},
		{"a POSIX queue of one's own namespace", 7, 2, unix.SYS_MQ_OPEN, args{4096}, allow},
		{"an owner that is there already", 7, 1, unix.SYS_FCHOWN, args{3, uid, gid}, allow},
		{"no owner", 7, 1, unix.SYS_FCHOWNAT, args{3, 4096, same, same}, allow},
		{"another owner", 7, 1, unix.SYS_FCHOWNAT, args{3, 4096, uid + 1, gid}, eperm},
		{"another group", 7, 1, unix.SYS_FCHOWN, args{3, uid, gid + 1}, eperm},
		{"another owner, where all that is not one's own is read-only", 7, 2, unix.SYS_FCHOWN, args{3, uid + 1, gid}, allow},
		{"an attribute", 7, 1, unix.SYS_FSETXATTR, args{3}, enotsup},
		{"no attribute", 7, 1, unix.SYS_REMOVEXATTR, args{3}, enotsup},
		{"truncating, which Landlock sees", 3, 1, unix.SYS_TRUNCATE, args{4096}, allow},
		{"truncating", 2, 1, unix.SYS_TRUNCATE, args{4096}, eperm},
		{"truncating at level 2", 2, 2, unix.SYS_TRUNCATE, args{4096}, eperm},
		{"truncating what is opened for reading", 2, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_RDONLY | unix.O_TRUNC}, eperm},
		{"truncating what is opened for neither", 2, 1, unix.SYS_OPENAT, args{0, 4096, 3 | unix.O_TRUNC}, eperm},
		{"truncating what is opened for writing, which Landlock sees", 2, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_WRONLY | unix.O_TRUNC | unix.O_CREAT}, allow},
		{"the same for both", 2, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_RDWR | unix.O_TRUNC}, allow},
		{"reading", 2, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_RDONLY | unix.O_CLOEXEC}, allow},
		{"opening with flags in memory", 2, 1, unix.SYS_OPENAT2, args{0, 4096, 4096}, enosys},
		{"being asked before others open a file", 7, 2, unix.SYS_FCNTL, args{3, unix.F_SETLEASE, unix.F_WRLCK}, eperm},
		{"the same before they write to it", 7, 1, unix.SYS_FCNTL, args{3, unix.F_SETLEASE, unix.F_RDLCK}, eperm},
		{"the same of a directory", 7, 2, unix.SYS_FCNTL, args{3, 1040, 4096}, eperm},
		{"not being asked any more", 7, 2, unix.SYS_FCNTL, args{3, unix.F_SETLEASE, unix.F_UNLCK}, allow},
		{"a lock", 7, 2, unix.SYS_FCNTL, args{3, unix.F_SETLK, 4096}, allow},
		{"flags of a file by its name", 7, 1, 469, args{0, 4096, 4096}, enotsup}, // file_setattr
		{"flags of a file", 7, 1, unix.SYS_IOCTL, args{3, unix.FS_IOC_SETFLAGS, 4096}, enotsup},
		{"more flags of a file", 7, 1, unix.SYS_IOCTL, args{3, 0x401C5820, 4096}, enotsup}, // FS_IOC_FSSETXATTR
		{"a file that nobody can change again", 7, 1, unix.SYS_IOCTL, args{3, unix.FS_IOC_ENABLE_VERITY, 4096}, enotsup},
		{"asking for flags", 7, 1, unix.SYS_IOCTL, args{3, unix.FS_IOC_GETFLAGS, 4096}, allow},
		{"flags, where all that is not one's own is read-only", 7, 2, unix.SYS_IOCTL, args{3, unix.FS_IOC_SETFLAGS, 4096}, allow},
		{"memory that no limit counts", 7, 2, 447, args{0}, eperm}, // memfd_secret
		{"a mode in memory", 7, 2, unix.SYS_OPENAT2, args{0, 4096, 4096}, enosys},
		{"running as its owner", 7, 1, unix.SYS_FCHMODAT, args{0, 4096, 0o4755}, eperm},
		{"running as its owner at level 2", 7, 2, unix.SYS_FCHMOD, args{3, 0o4700}, eperm},
		{"running as its owner by the latest call", 7, 1, unix.SYS_FCHMODAT2, args{0, 4096, 0o6755, 0}, eperm},
		{"running as its owner from the beginning", 7, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_WRONLY | unix.O_CREAT, 0o4755}, eperm},
		{"the same without a name", 7, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_RDWR | unix.O_TMPFILE, 0o4755}, eperm},
		{"the same of an empty file", 7, 1, unix.SYS_MKNODAT, args{0, 4096, unix.S_IFREG | 0o4755}, eperm},
		{"a mode that opening ignores", 7, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_RDONLY | unix.O_DIRECTORY, 0o4755}, allow},
		{"a mode", 7, 1, unix.SYS_FCHMODAT, args{0, 4096, 0o1777}, allow},
		{"a new file", 7, 1, unix.SYS_OPENAT, args{0, 4096, unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC, 0o755}, allow},
	} {
		call := restrict.Call{Number: uint32(w.call), Args: w.args}
		own, _ := machine{landlock: w.landlock, seccomp: true}.ownFilter(w.level, false)
		if got := answers(t, call, filter(w.landlock, w.level, true), own); got != w.want {
			t.Errorf("%s (Landlock ABI %d, level %d): %#x, want %#x", w.what, w.landlock, w.level, got, w.want)
		}
	}
}

func TestTheFilterAsksWhereSomebodyAnswers(t *testing.T) {
	if !restrict.HasFilters() {
		t.Skip("no system-call filters here")
	}
	const (
		allow = unix.SECCOMP_RET_ALLOW
		ask   = restrict.Notify
		other = 7
	)
	eperm := restrict.Refusal(unix.EPERM)
	type args = [6]uint64
	stream, datagram := args{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, args{unix.AF_UNIX, unix.SOCK_DGRAM}
	old, scoped, sees := 5, 7, 9 // ABIs: without a scope for signals, with one, and with one for local sockets
	for _, w := range []struct {
		what               string
		landlock, level    int
		answered, detached bool
		call               uintptr
		args               args
		want               uint32
	}{
		{"connecting", scoped, 1, true, false, unix.SYS_CONNECT, args{3}, ask},
		{"connecting at level 2", scoped, 2, true, false, unix.SYS_CONNECT, args{3}, ask},
		{"connecting, where Landlock sees to what", sees, 1, true, false, unix.SYS_CONNECT, args{3}, ask},
		{"connecting, with nobody to ask", scoped, 1, false, false, unix.SYS_CONNECT, args{3}, allow},
		{"connecting when detached", scoped, 1, true, true, unix.SYS_CONNECT, args{3}, allow},
		{"a local socket", scoped, 1, true, false, unix.SYS_SOCKET, stream, allow},
		{"a local socket, with nobody to ask", scoped, 1, false, false, unix.SYS_SOCKET, stream, eperm},
		{"a local socket when detached", scoped, 1, true, true, unix.SYS_SOCKET, stream, eperm},
		{"a local socket when detached, at level 2", scoped, 2, true, true, unix.SYS_SOCKET, stream, allow},
		{"a local socket when detached, where Landlock sees", sees, 1, true, true, unix.SYS_SOCKET, stream, allow},
		{"a local socket for datagrams", scoped, 1, true, false, unix.SYS_SOCKET, datagram, eperm},
		{"the same under another name", scoped, 1, true, false, unix.SYS_SOCKET, args{unix.AF_UNIX, unix.SOCK_RAW}, eperm},
		{"a pair for datagrams", scoped, 1, true, false, unix.SYS_SOCKETPAIR, datagram, eperm},
		{"a pair", scoped, 1, false, true, unix.SYS_SOCKETPAIR, stream, allow},
		{"another socket for datagrams", scoped, 1, true, false, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_DGRAM}, allow},
		{"the affinity of a number", scoped, 1, true, false, unix.SYS_SCHED_SETAFFINITY, args{other}, ask},
		{"a limit of a number", scoped, 1, true, false, unix.SYS_PRLIMIT64, args{other, 1, 1 << 32}, ask},
		{"the priority of all of a user", scoped, 1, true, false, unix.SYS_SETPRIORITY, args{2, other}, eperm},
		{"the affinity of a number when detached", scoped, 1, true, true, unix.SYS_SCHED_SETAFFINITY, args{other}, eperm},
		{"a signal, which Landlock sees", scoped, 1, true, false, unix.SYS_KILL, args{other, 9}, allow},
		{"a signal", old, 1, true, false, unix.SYS_KILL, args{other, 9}, ask},
		{"a signal when detached", old, 1, true, true, unix.SYS_TGKILL, args{other, other, 9}, ask},
		{"a signal to one's group", old, 1, true, false, unix.SYS_KILL, args{0, 9}, allow},
		{"a signal in a PID namespace", old, 2, true, false, unix.SYS_KILL, args{other, 9}, allow},
		{"an owner of a file", old, 1, true, false, unix.SYS_FCNTL, args{3, unix.F_SETOWN, other}, ask},
		{"no owner of a file", old, 1, true, false, unix.SYS_FCNTL, args{3, unix.F_SETOWN, 0}, allow},
		{"an owner in memory", old, 1, true, false, unix.SYS_FCNTL, args{3, unix.F_SETOWN_EX, 4096}, eperm},
		{"an owner by another call", old, 1, true, false, unix.SYS_IOCTL, args{3, siocspgrp, 4096}, eperm},
		{"hiding", old, 1, true, false, unix.SYS_PRCTL, args{unix.PR_SET_DUMPABLE, 0}, eperm},
		{"being seen", old, 1, true, false, unix.SYS_PRCTL, args{unix.PR_SET_DUMPABLE, 1}, allow},
		{"hiding, where Landlock sees signals", scoped, 1, true, false, unix.SYS_PRCTL, args{unix.PR_SET_DUMPABLE, 0}, allow},
	} {
		own, asks := machine{landlock: w.landlock, seccomp: true, supervisor: w.answered}.ownFilter(w.level, w.detached)
		got := answers(t, restrict.Call{Number: uint32(w.call), Args: w.args}, filter(w.landlock, w.level, true), own)
		if got != w.want || got == ask && !asks {
			t.Errorf("%s (Landlock ABI %d, level %d): %#x, want %#x; asks: %t", w.what, w.landlock, w.level, got, w.want, asks)
		}
	}
}
