package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// processCall is a system call about a process or a thread, which must be refused.
type processCall struct {
	name string
	do   func(t target) unix.Errno
	root bool // it takes root, also on a child
}

// processCalls are the system calls that take the number of a process or a thread and do more than tell what everybody
// may know.
func processCalls() []processCall {
	all := []processCall{}
	add := func(name string, do func(t target, tid uintptr) unix.Errno) {
		all = append(all, processCall{name: name, do: func(t target) unix.Errno { return do(t, uintptr(t.tid)) }})
	}
	for _, way := range []string{"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"} {
		add(way, func(t target, _ uintptr) unix.Errno { return sendBy(way, t, 0) })
	}
	buffer := make([]byte, 4096)
	local := &unix.Iovec{Base: &buffer[0], Len: 64}
	remote := &unix.RemoteIovec{Base: 4096, Len: 64} // nothing is there: past the check it is EFAULT
	add("process_vm_readv", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_PROCESS_VM_READV, tid, ptr(local), 1, ptr(remote), 1, 0)
	})
	add("process_vm_writev", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_PROCESS_VM_WRITEV, tid, ptr(local), 1, ptr(remote), 1, 0)
	})
	add("kcmp", func(_ target, tid uintptr) unix.Errno { return call(unix.SYS_KCMP, uintptr(os.Getpid()), tid, 2, 0, 0) })
	add("get_robust_list", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_GET_ROBUST_LIST, tid, ptr(&buffer[0]), ptr(&buffer[8]))
	})
	add("move_pages", func(_ target, tid uintptr) unix.Errno { return call(unix.SYS_MOVE_PAGES, tid, 0, 0, 0, 0, 0) })
	add("migrate_pages", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_MIGRATE_PAGES, tid, 1, ptr(&[1]uint64{1}), ptr(&[1]uint64{1}))
	})
	add("prlimit64", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_PRLIMIT64, tid, unix.RLIMIT_CORE, ptr(&unix.Rlimit{}), 0)
	})
	add("sched_setscheduler", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_SCHED_SETSCHEDULER, tid, 3, ptr(&[1]int32{0}))
	})
	add("sched_setparam", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_SCHED_SETPARAM, tid, ptr(&[1]int32{0}))
	})
	add("sched_setattr", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_SCHED_SETATTR, tid, ptr(schedAttr()), 0)
	})
	add("sched_setaffinity", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_SCHED_SETAFFINITY, tid, 8, ptr(&[1]uint64{^uint64(0)}))
	})
	add("setpriority", func(_ target, tid uintptr) unix.Errno { return call(unix.SYS_SETPRIORITY, 0, tid, 19) })
	add("ioprio_set", func(_ target, tid uintptr) unix.Errno { return call(unix.SYS_IOPRIO_SET, 1, tid, 2<<13|7) })
	add("setpgid", func(_ target, tid uintptr) unix.Errno {
		switch errno := call(unix.SYS_SETPGID, tid, 0); errno {
		case unix.EINVAL: // not the first thread of its process
			return unix.EPERM
		case unix.EACCES: // a child, but it runs another program by now
			return 0
		default:
			return errno
		}
	})
	add("waitid", func(_ target, tid uintptr) unix.Errno {
		return call(unix.SYS_WAITID, 1, tid, 0, unix.WNOHANG|unix.WNOWAIT|unix.WEXITED|unix.WALL, 0)
	})
	add("perf_event_open", func(_ target, tid uintptr) unix.Errno {
		attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: 112, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: 1 << 5}
		fd, _, errno := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, ptr(attr), tid, ^uintptr(0), ^uintptr(0), 0, 0)
		if errno == 0 {
			unix.Close(int(fd))
		}
		return errno
	})
	for name, with := range map[string]func(fd uintptr) unix.Errno{
		"pidfd_getfd":     func(fd uintptr) unix.Errno { return call(unix.SYS_PIDFD_GETFD, fd, 0, 0) },
		"process_madvise": func(fd uintptr) unix.Errno { return call(unix.SYS_PROCESS_MADVISE, fd, ptr(remote), 1, 20, 0) },
		"setns":           func(fd uintptr) unix.Errno { return call(unix.SYS_SETNS, fd, unix.CLONE_NEWUTS) },
	} {
		all = append(all, processCall{name, func(t target) unix.Errno { return pidfd(t, with) }, name != "pidfd_getfd"})
	}
	for n := range uintptr(10) {
		add(fmt.Sprintf("ioctl of a namespace %d", n+1), func(t target, _ uintptr) unix.Errno {
			return pidfd(t, func(fd uintptr) unix.Errno {
				errno := call(unix.SYS_IOCTL, fd, 0xff01+n, 0)
				if errno == unix.ENOTTY || errno == unix.EOPNOTSUPP { // this kernel has none
					return unix.EPERM
				}
				return errno
			})
		})
	}
	// the last: it stays so
	add("ptrace", func(_ target, tid uintptr) unix.Errno { return call(unix.SYS_PTRACE, 0x4206, tid, 0, 0) }) // SEIZE
	return all
}

// refusals are the errors that say no. Any other is of somebody who looked at more.
var refusals = []unix.Errno{unix.EPERM, unix.EACCES, unix.ESRCH, unix.ENOSYS, unix.ECHILD, unix.EBADF}

// tryEverything tells what of the targets is open, a line each: "open PID: what".
func tryEverything(args []string) { everything(targets(args)) }

func everything(targets []target) {
	open := map[string]bool{}
	var names []string
	for _, dir := range []string{"/proc/self", "/proc/self/task/" + strconv.Itoa(unix.Gettid())} {
		names = append(names, below(dir, "")...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	tries := 0
	for _, t := range targets {
		say := func(what string) { open[fmt.Sprintf("open %d: %s", t.pid, what)] = true }
		for _, dir := range []string{fmt.Sprintf("/proc/%d", t.pid), fmt.Sprintf("/proc/%d/task/%d", t.pid, t.tid), fmt.Sprintf("/proc/%d", t.tid)} {
			if dir == fmt.Sprintf("/proc/%d", t.tid) && t.pid == t.tid {
				continue
			}
			for _, name := range names {
				tries++
				tryFile(dir, name, say)
			}
		}
		for _, c := range processCalls() {
			tries++
			if errno := c.do(t); !slices.Contains(refusals, errno) {
				say(c.name)
			}
		}
	}
	for line := range open {
		fmt.Println(line)
	}
	fmt.Println("tries", tries)
}

// below are the names in a directory of a process: of descriptors, so many numbers.
func below(dir, prefix string) (out []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := prefix + e.Name()
		switch {
		case e.IsDir() && (e.Name() == "task" || e.Name() == "net"):
		case e.Name() == "fd" || e.Name() == "fdinfo":
			out = append(out, name)
			for n := range 48 {
				out = append(out, fmt.Sprintf("%s/%d", name, n))
			}
		case e.Name() == "map_files":
			out = append(out, name)
		case e.IsDir():
			out = append(out, name)
			out = append(out, below(dir+"/"+e.Name(), name+"/")...)
		default:
			out = append(out, name)
		}
	}
	return out
}

// tryFile tries to read, to write, to follow and to list.
func tryFile(dir, name string, say func(string)) {
	at := dir + "/" + name
	kind := name // one for all descriptors
	if strings.HasPrefix(name, "fd") && path.Dir(name) != "." {
		kind = path.Dir(name) + "/N"
	}
	if _, err := os.Readlink(at); err == nil {
		say("link " + kind)
	}
	if entries, err := os.ReadDir(at); err == nil && len(entries) > 0 {
		say("list " + kind)
	}
	if fd, err := unix.Open(at, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0); err == nil {
		b := make([]byte, 64)
		n, err := unix.Read(fd, b)
		switch {
		case kind == "mem" || strings.HasPrefix(kind, "fd/") || strings.HasPrefix(kind, "ns/") || kind == "exe":
			say("read " + kind)
		case kind == "wchan" && string(b[:max(n, 0)]) == "0":
		case n > 0 && err == nil:
			say("read " + kind)
		}
		unix.Close(fd)
	}
	if fd, err := unix.Open(at, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0); err == nil {
		say("write " + kind)
		unix.Close(fd)
	}
}

// tellsNothing is what may be read of others at level 1: everybody on the machine may, and none of it is a secret.
var tellsNothing = []string{
	"read stat", "read statm", "read status", "read cmdline", "read comm", "read limits", "read cgroup", "read cpuset", "read arch_status",
	"read sched", "read schedstat", "read autogroup", "read oom_adj", "read oom_score", "read oom_score_adj", "read coredump_filter",
	"read loginuid", "read sessionid", "read setgroups", "read uid_map", "read gid_map", "read projid_map", "read timens_offsets",
	"read mounts", "read mountinfo", "read mountstats", "read children", "read timers", "read ksm_stat", "read ksm_merging_pages", "read attr/current", "read attr/prev",
	"list attr", "list fd", "list ns", "read make-it-fail", "read fail-nth", "read latency", "read cpu_resctrl_groups",
}

// secretive is what a process without protection lets its own parent do, among much else.
var secretive = []string{
	"read environ", "read mem", "read maps", "read smaps", "read auxv", "read io", "read pagemap", "read stack", "read syscall", "read personality", "read fd/N",
	"read ns/net", "read ns/pid", "read exe", "link cwd", "link root", "link exe", "link fd/N", "list fd", "list fdinfo", "list cwd", "list root",
	"write mem", "write oom_score_adj", "write clear_refs", "write coredump_filter", "write comm", "write autogroup", "write timerslack_ns", "write fd/N",
}

// opened are the lines of what is open, by process.
func opened(heard string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.SplitSeq(strings.ReplaceAll(heard, `\n`, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "open "); ok {
			pid, what, _ := strings.Cut(rest, ": ")
			if !slices.Contains(out[pid], what) {
				out[pid] = append(out[pid], what)
			}
		}
	}
	return out
}

func TestAttacksOnProcessesWorkOnAChild(t *testing.T) {
	s := newSiege(t)
	cmd := exec.Command(s.program, "children")
	out, err := cmd.CombinedOutput()
	must(t, err)
	all := opened(string(out))
	if len(all) != 1 {
		t.Fatalf("%d processes: %.2000s", len(all), out)
	}
	wanted := slices.Clone(secretive)
	for _, c := range processCalls() {
		if !c.root || os.Getuid() == 0 {
			wanted = append(wanted, c.name)
		}
	}
	for _, what := range all {
		for _, w := range wanted {
			if w == "read stack" && os.Getuid() != 0 {
				continue // for root only
			}
			if !slices.Contains(what, w) {
				t.Errorf("%q does not work on a child either, and so says nothing", w)
			}
		}
	}
}

// overChildren tries everything on a child with several threads.
func overChildren([]string) {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	child := exec.Command(self, "wait")
	child.Args[0] = attackProgram
	ready, err := child.StdoutPipe()
	if err == nil {
		_, err = child.StdinPipe()
	}
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer child.Process.Kill()
	_, _ = ready.Read(make([]byte, 10))
	everything(threads(child.Process.Pid))
}

func TestNoAttackReachesAnotherProcess(t *testing.T) {
	for _, how := range stances {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			g := newSiege(t).garrison(how)
			heard := g.run(g.program + " everything " + g.pids())
			if !strings.Contains(heard, "tried everything") {
				t.Fatalf("not everything was tried: %.3000s", heard)
			}
			hidden := strings.HasPrefix(how.name, "level 2")
			for pid, all := range opened(heard) {
				n, _ := strconv.Atoi(pid)
				tells := func(what string) bool { return slices.Contains(tellsNothing, what) && !(hidden && g.watched[n] != "") }
				if all = slices.DeleteFunc(all, tells); len(all) > 0 {
					slices.Sort(all)
					t.Errorf("of %s (%s): %s", pid, g.watched[n], strings.Join(all, ", "))
				}
			}
		})
	}
}
