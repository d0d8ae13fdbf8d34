package sandbox

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

// answers is the most severe answer of the filters, as the kernel takes it.
func answers(t *testing.T, call seccomp.Call, filters ...seccomp.Program) uint32 {
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
	if !seccomp.Available() {
		t.Skip("no system-call filters here")
	}
	const (
		allow = unix.SECCOMP_RET_ALLOW
		same  = 1<<64 - 1
	)
	eperm, enosys, enotsup := seccomp.Refusal(unix.EPERM), seccomp.Refusal(unix.ENOSYS), seccomp.Refusal(unix.ENOTSUP)
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
		{"the same, where Landlock sees truncation", 3, 1, unix.SYS_OPENAT2, args{0, 4096, 4096}, allow},
	} {
		call := seccomp.Call{Number: uint32(w.call), Args: w.args}
		if got := answers(t, call, filter(w.landlock, w.level, true), ownFilter()); got != w.want {
			t.Errorf("%s (Landlock ABI %d, level %d): %#x, want %#x", w.what, w.landlock, w.level, got, w.want)
		}
	}
}
