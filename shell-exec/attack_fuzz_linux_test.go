package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fuzzed are system calls and the kinds of their arguments, a letter each:
//
//	D directory descriptor  P path  d own descriptor  f flags of open  m mode  i small number  r any number
//	b buffer  n its size  s a process or thread  g signal  t times  v vector  a address  z its size  x name of an attribute
//	c flags of clone  k key  0 nothing
//
// Numbers of processes are of those that are named and the own ones, never 0 or less: a hole would hit the whole machine.
var fuzzed = []struct {
	name   string
	number uintptr
	kinds  string
}{
	{"openat", unix.SYS_OPENAT, "DPfm"}, {"openat", unix.SYS_OPENAT, "DPfm"}, {"openat2", unix.SYS_OPENAT2, "DPb8"}, {"read", unix.SYS_READ, "dbn"},
	{"write", unix.SYS_WRITE, "dbn"}, {"pwrite64", unix.SYS_PWRITE64, "dbni"}, {"writev", unix.SYS_WRITEV, "dvi"}, {"close", unix.SYS_CLOSE, "d"},
	{"ftruncate", unix.SYS_FTRUNCATE, "di"}, {"truncate", unix.SYS_TRUNCATE, "Pi"}, {"fallocate", unix.SYS_FALLOCATE, "diii"},
	{"unlinkat", unix.SYS_UNLINKAT, "DP0"}, {"rmdir", unix.SYS_UNLINKAT, "DPR"}, {"mkdirat", unix.SYS_MKDIRAT, "DPm"},
	{"mknodat", unix.SYS_MKNODAT, "DPM0"}, {"linkat", unix.SYS_LINKAT, "DPDPF"}, {"symlinkat", unix.SYS_SYMLINKAT, "PDP"},
	{"renameat2", unix.SYS_RENAMEAT2, "DPDPi"}, {"fchmodat", unix.SYS_FCHMODAT, "DPm"}, {"fchmod", unix.SYS_FCHMOD, "dm"},
	{"fchmodat2", unix.SYS_FCHMODAT2, "DPmF"}, {"fchownat", unix.SYS_FCHOWNAT, "DPiiF"}, {"fchown", unix.SYS_FCHOWN, "dii"},
	{"utimensat", unix.SYS_UTIMENSAT, "DPtF"}, {"setxattr", unix.SYS_SETXATTR, "Pxbn0"}, {"lsetxattr", unix.SYS_LSETXATTR, "Pxbn0"},
	{"fsetxattr", unix.SYS_FSETXATTR, "dxbn0"}, {"removexattr", unix.SYS_REMOVEXATTR, "Px"}, {"setxattrat", 463, "DPFxb8"}, {"file_setattr", 469, "DPb8F"},
	{"ioctl", unix.SYS_IOCTL, "dIb"}, {"fcntl", unix.SYS_FCNTL, "dii"}, {"dup3", unix.SYS_DUP3, "dd0"}, {"sendfile", unix.SYS_SENDFILE, "dd0n"},
	{"splice", unix.SYS_SPLICE, "d0d0n0"}, {"copy_file_range", unix.SYS_COPY_FILE_RANGE, "d0d0n0"}, {"chdir", unix.SYS_CHDIR, "P"},
	{"fchdir", unix.SYS_FCHDIR, "d"}, {"chroot", unix.SYS_CHROOT, "P"}, {"pivot_root", unix.SYS_PIVOT_ROOT, "PP"}, {"mount", unix.SYS_MOUNT, "PPTi0"},
	{"umount2", unix.SYS_UMOUNT2, "Pi"}, {"open_tree", unix.SYS_OPEN_TREE, "DPi"}, {"move_mount", unix.SYS_MOVE_MOUNT, "DPDPi"},
	{"fsopen", unix.SYS_FSOPEN, "Ti"}, {"fsconfig", unix.SYS_FSCONFIG, "dixb0"}, {"fsmount", unix.SYS_FSMOUNT, "dii"}, {"mount_setattr", unix.SYS_MOUNT_SETATTR, "DPib8"},
	{"name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, "DPbbF"}, {"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, "dbf"},
	{"socket", unix.SYS_SOCKET, "ii0"}, {"socketpair", unix.SYS_SOCKETPAIR, "1i0b"}, {"connect", unix.SYS_CONNECT, "daz"}, {"bind", unix.SYS_BIND, "daz"},
	{"listen", unix.SYS_LISTEN, "di"}, {"sendto", unix.SYS_SENDTO, "dbn0az"}, {"setsockopt", unix.SYS_SETSOCKOPT, "diibn"},
	{"unshare", unix.SYS_UNSHARE, "c"}, {"setns", unix.SYS_SETNS, "dc"}, {"clone", unix.SYS_CLONE, "c0000"}, {"prctl", unix.SYS_PRCTL, "ii000"},
	{"kill", unix.SYS_KILL, "sg"}, {"tkill", unix.SYS_TKILL, "sg"}, {"tgkill", unix.SYS_TGKILL, "ssg"}, {"pidfd_open", unix.SYS_PIDFD_OPEN, "s0"},
	{"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, "dg00"}, {"pidfd_getfd", unix.SYS_PIDFD_GETFD, "di0"}, {"prlimit64", unix.SYS_PRLIMIT64, "sib0"},
	{"ptrace", unix.SYS_PTRACE, "is00"}, {"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, "sv1v10"}, {"setpriority", unix.SYS_SETPRIORITY, "0si"},
	{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, "s8b"}, {"sched_setscheduler", unix.SYS_SCHED_SETSCHEDULER, "sib"}, {"ioprio_set", unix.SYS_IOPRIO_SET, "1sr"},
	{"setpgid", unix.SYS_SETPGID, "ss"}, {"shmget", unix.SYS_SHMGET, "knm"}, {"shmctl", unix.SYS_SHMCTL, "oib"}, {"semctl", unix.SYS_SEMCTL, "o0ii"},
	{"msgctl", unix.SYS_MSGCTL, "oib"}, {"msgsnd", unix.SYS_MSGSND, "obn4"}, {"sethostname", unix.SYS_SETHOSTNAME, "b4"}, {"setdomainname", unix.SYS_SETDOMAINNAME, "b4"},
	{"memfd_create", unix.SYS_MEMFD_CREATE, "xi"}, {"execveat", unix.SYS_EXECVEAT, "DP00F"}, {"setuid", unix.SYS_SETUID, "i"}, {"setgid", unix.SYS_SETGID, "i"},
	{"setresuid", unix.SYS_SETRESUID, "iii"}, {"setgroups", unix.SYS_SETGROUPS, "0b"}, {"capset", unix.SYS_CAPSET, "bb"}, {"bpf", unix.SYS_BPF, "ibn"},
	{"io_uring_setup", unix.SYS_IO_URING_SETUP, "ib"}, {"add_key", unix.SYS_ADD_KEY, "xxbnr"}, {"keyctl", unix.SYS_KEYCTL, "irrrr"},
	{"swapon", unix.SYS_SWAPON, "Pi"}, {"acct", unix.SYS_ACCT, "P"}, {"quotactl", unix.SYS_QUOTACTL, "iPib"}, {"fanotify_mark", unix.SYS_FANOTIFY_MARK, "diiDP"},
	{"inotify_add_watch", unix.SYS_INOTIFY_ADD_WATCH, "dPi"}, {"personality", unix.SYS_PERSONALITY, "i"}, {"umask", unix.SYS_UMASK, "m"},
	{"clock_settime", unix.SYS_CLOCK_SETTIME, "0t"}, {"seccomp", unix.SYS_SECCOMP, "iib"}, {"landlock_restrict_self", unix.SYS_LANDLOCK_RESTRICT_SELF, "di"},
}

// fuzzWorld is what the arguments of random programs are made of.
type fuzzWorld struct {
	paths [][]byte
	pids  []int
	key   int
	ids   []int
}

// fuzzer makes the arguments of one program. It keeps what the kernel is given the address of.
type fuzzer struct {
	*rand.Rand
	w    *fuzzWorld
	kept []any
}

func keep[T any](f *fuzzer, v *T) uintptr {
	f.kept = append(f.kept, v)
	return uintptr(unsafe.Pointer(v))
}

func oneOf[T any](f *fuzzer, of ...T) T { return of[f.IntN(len(of))] }

// argument is a plausible one of the kind.
func (f *fuzzer) argument(kind byte) uintptr {
	switch kind {
	case 'D':
		return oneOf(f, ^uintptr(99), ^uintptr(99), uintptr(3+f.IntN(9))) // AT_FDCWD
	case 'P':
		return keep(f, &f.w.paths[f.IntN(len(f.w.paths))][0])
	case 'd':
		return uintptr(3 + f.IntN(14))
	case 'f':
		return oneOf[uintptr](f, 0, 1, 2, unix.O_CREAT|unix.O_RDWR, unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY, unix.O_PATH, unix.O_DIRECTORY, unix.O_TMPFILE|unix.O_RDWR, unix.O_APPEND|1) | unix.O_NONBLOCK
	case 'm':
		return uintptr(oneOf(f, 0o644, 0o755, 0o4755, 0o777, 0))
	case 'M':
		return uintptr(oneOf(f, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR)) | 0o666
	case 'R':
		return unix.AT_REMOVEDIR
	case 'F':
		return uintptr(oneOf(f, 0, unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH, unix.AT_SYMLINK_FOLLOW))
	case 'i':
		return uintptr(f.IntN(40))
	case 'I':
		return uintptr(oneOf(f, unix.TIOCSTI, unix.TIOCSCTTY, 0x5451, 0x8901, 0x8902, 0x5411, 0x40086602, 0xff01+f.IntN(10)))
	case 'r':
		return uintptr(f.Uint64()) >> f.IntN(64)
	case 'b':
		b := new([4096]byte)
		for i := range 64 {
			b[i] = byte(f.IntN(256) * f.IntN(2))
		}
		return keep(f, b)
	case 'n':
		return uintptr(1 + f.IntN(64))
	case 's':
		return uintptr(oneOf(f, f.w.pids...))
	case 'g':
		return uintptr(oneOf(f, 0, 1, 9, 15, 19, 10, 12))
	case 't':
		now := unix.NsecToTimespec(time.Now().UnixNano())
		return keep(f, &[2]unix.Timespec{now, now})
	case 'v':
		b := new([64]byte)
		f.kept = append(f.kept, b)
		return keep(f, &[8]unix.Iovec{{Base: &b[0], Len: 32}})
	case 'a':
		a := new([110]byte)
		a[0] = byte(oneOf(f, unix.AF_UNIX, unix.AF_UNIX, unix.AF_INET))
		copy(a[2:], f.w.paths[f.IntN(len(f.w.paths))])
		return keep(f, a)
	case 'z':
		return 110
	case 'x', 'T':
		b := []byte(oneOf(f, "user.x", "user.y", "security.x", "trusted.x", "tmpfs", "proc", "overlay", "keyring", "user") + "\x00")
		f.kept = append(f.kept, b)
		return keep(f, &b[0])
	case 'c':
		flags := uintptr(unix.SIGCHLD)
		for range f.IntN(3) {
			flags |= oneOf[uintptr](f, unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC, unix.CLONE_NEWUTS, unix.CLONE_FILES, unix.CLONE_FS, unix.CLONE_PARENT)
		}
		return flags
	case 'k':
		return uintptr(f.w.key)
	case 'o':
		return uintptr(oneOf(f, f.w.ids...))
	case '1', '4', '8':
		return map[byte]uintptr{'1': 1, '4': 4, '8': 24}[kind]
	}
	return 0
}

// program runs the one of a seed, a few calls.
func (w *fuzzWorld) program(seed uint64) {
	f := &fuzzer{Rand: rand.New(rand.NewPCG(seed, 1)), w: w}
	for range 1 + f.IntN(8) {
		c := fuzzed[f.IntN(len(fuzzed))]
		var a [6]uintptr
		for i := range c.kinds {
			a[i] = f.argument(c.kinds[i])
		}
		r, _, errno := unix.RawSyscall6(c.number, a[0], a[1], a[2], a[3], a[4], a[5])
		if c.name == "clone" && errno == 0 && r == 0 { // the child
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
}

// runPrograms runs those from a seed to another and says which is next; one of them may end it.
func runPrograms(args []string) {
	from, _ := strconv.ParseUint(args[0], 10, 64)
	to, _ := strconv.ParseUint(args[1], 10, 64)
	w := &fuzzWorld{}
	for i, list := range strings.Split(args[2], ",") {
		n, _ := strconv.Atoi(list)
		switch {
		case i == 0:
			w.key = n
		case i <= 3:
			w.ids = append(w.ids, n)
		default:
			w.pids = append(w.pids, n)
		}
	}
	w.pids = append(w.pids, os.Getpid(), unix.Gettid())
	w.pids = slices.DeleteFunc(w.pids, func(pid int) bool { return pid < 2 })
	for _, path := range args[3:] {
		w.paths = append(w.paths, append([]byte(path), 0))
		for range 3 { // own descriptors
			_, _ = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		}
	}
	for seed := from; seed < to; seed++ {
		fmt.Println("next", seed)
		w.program(seed)
	}
	fmt.Println("next", to)
}

// fuzz runs random programs from a seed to another, however often they end or hang the process that runs them.
func fuzz(args []string) {
	from, _ := strconv.ParseUint(args[0], 10, 64)
	to, _ := strconv.ParseUint(args[1], 10, 64)
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	starts := 0
	for ; from < to; starts++ {
		cmd := exec.Command(self, append([]string{"programs", strconv.FormatUint(from, 10), args[1]}, args[2:]...)...)
		cmd.Args[0] = attackProgram
		_ = os.MkdirAll("scratch", 0o700)
		cmd.Dir = "scratch"
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		alarm := time.AfterFunc(time.Second, func() { _ = cmd.Process.Kill() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, ok := strings.CutPrefix(lines.Text(), "next "); ok {
				from, _ = strconv.ParseUint(n, 10, 64)
				alarm.Reset(time.Second)
			}
		}
		_ = cmd.Process.Kill() // its output has ended
		_ = cmd.Wait()
		alarm.Stop()
		if from < to {
			from++ // the next one ended it
		}
	}
	fmt.Println("programs", args[0], "to", args[1], "in", starts, "processes")
}

// programs is how many random programs are run on each stance; MCP_ATTACK_PROGRAMS says another number, as scripts/soak does.
func programs() int {
	if n, err := strconv.Atoi(os.Getenv("MCP_ATTACK_PROGRAMS")); err == nil {
		return n
	}
	return 250
}

// fuzzLine is the command for programs of a fixture, which it is told all about.
func (s *siege) fuzzLine(from uint64, count int) string {
	known := []string{strconv.Itoa(s.key)}
	for _, id := range s.objects {
		known = append(known, strconv.Itoa(id))
	}
	known = append(known, strings.Fields(s.pids())...)
	line := fmt.Sprintf("fuzz %d %d %s", from, from+uint64(count), strings.Join(known, ","))
	for _, path := range []string{
		// None that could lead above this fixture: at level 1 modes may be changed, and for root those of everything.
		s.out, s.out + "/file", s.out + "/dir", s.out + "/dir/new", s.out + "/new", s.out + "/stream", s.out + "/datagram", s.home, s.home + "/.ssh/id", s.home + "/new",
		"file", "dir", "dir/file", "link", ".", "/proc/self/root" + s.out + "/file",
		fmt.Sprintf("/proc/%d/mem", s.stranger.Process.Pid), fmt.Sprintf("/proc/%d/root%s/file", s.stranger.Process.Pid, s.out),
	} {
		line += " " + path
	}
	return line
}

// mend gives the files outside their modes again, which are needed to look at them.
func (s *siege) mend() {
	for _, dir := range []string{s.home, s.home + "/.ssh", s.ws, s.out, s.out + "/dir"} {
		_ = os.Chmod(dir, 0o755)
	}
	for _, file := range []string{s.home + "/.ssh/id", s.out + "/file"} {
		_ = os.Chmod(file, 0o644)
	}
}

// machine is what a program could change of the whole machine. Of mounts those count that it has names for: other tests mount, too.
func (s *siege) machine() []string {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	swaps, _ := os.ReadFile("/proc/swaps")
	out := []string{unix.ByteSliceToString(uts.Nodename[:]), unix.ByteSliceToString(uts.Domainname[:]), string(swaps)}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, filepath.Dir(s.home)) || strings.Contains(line, " /proc") {
			out = append(out, line)
		}
	}
	return out
}

// clocks guards against another's setting of the time.
var clocks = sync.OnceValue(func() time.Time { return time.Now() })

// clockMoved says how far the clock is from the time that has gone by.
func clockMoved() time.Duration {
	begun := clocks()
	now := time.Now()
	return (now.Round(0).Sub(begun.Round(0)) - now.Sub(begun)).Abs()
}

func TestNoAttackOfRandomCallsReachesAnything(t *testing.T) {
	first := uint64(time.Now().UnixNano()) % 1e12
	clocks()
	for _, how := range stances {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			s := newSiege(t)
			g := s.garrison(how)
			before := s.machine()
			count := programs()
			for from := first; from < first+uint64(count); from += 250 {
				line := s.fuzzLine(from, min(250, int(first+uint64(count)-from)))
				level1 := strings.HasPrefix(how.name, "level 1")
				if level1 {
					g.first = g.mend
				}
				harm := g.under(line)
				if level1 { // modes, owners and times of what the user may change are open there
					harm = slices.DeleteFunc(harm, func(line string) bool { return strings.HasPrefix(line, "attributes of ") })
				}
				if !slices.Equal(before, s.machine()) || clockMoved() > 10*time.Second {
					harm = append(harm, "the machine is another")
				}
				if len(harm) > 0 {
					t.Errorf("a command %s:\n\t%s", line, strings.Join(harm, "\n\t"))
					g.fall()
					return
				}
			}
			t.Logf("%d programs from seed %d", count, first)
		})
	}
}

// TestAttacksOfRandomCallsWorkWithoutProtection is for an ordinary user, who can do little harm.
func TestAttacksOfRandomCallsWorkWithoutProtection(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("never as root; TestSiegeByAnOrdinaryUser does it")
	}
	s := newSiege(t)
	s.proves([]string{"file " + s.out, "stranger: ", "shared "}, s.unprotected(s.fuzzLine(1, 300)))
}
