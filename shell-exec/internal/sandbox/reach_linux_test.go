package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reached is everything that the calling process may do to another one and to each
// of its threads, of what could be of use: to look into it, to signal it, to bind or
// slow it. None of it does harm. It is "kind" or "kind: what".
func reached(pid int) (out []string) {
	seen := map[string]bool{}
	hit := func(what string, err error) {
		if err == nil && !seen[what] {
			seen[what] = true
			out = append(out, what)
		}
	}
	ids := []int{pid}
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		id, _ := strconv.Atoi(e.Name())
		ids = append(ids, id)
	}
	for _, id := range ids {
		for name, c := range numberedAttacks(pid, id) {
			_, _, e := unix.RawSyscall6(c[0], c[1], c[2], c[3], c[4], c[5], 0)
			hit(name, errOf(e))
		}
		for _, dir := range []string{fmt.Sprintf("/proc/%d/task/%d/", pid, id), fmt.Sprintf("/proc/%d/", id)} {
			fileAttacks(dir, hit)
		}
		for name, flags := range map[string]int{"pidfd": 0, "thread pidfd": unix.PIDFD_THREAD} {
			fd, err := unix.PidfdOpen(id, flags)
			if err != nil {
				continue
			}
			hit(name+": signal", unix.PidfdSendSignal(fd, 0, nil, 0))
			got, err := unix.PidfdGetfd(fd, 0, 0)
			hit(name+": getfd", err)
			unix.Close(got)
			for _, request := range []uint{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} { // PIDFD_GET_*_NAMESPACE
				ns, err := unix.IoctlRetInt(fd, 0xFF00|request)
				hit(name+": namespace", err)
				unix.Close(ns)
			}
			unix.Close(fd)
		}
	}
	if group, err := unix.Getpgid(pid); err == nil && group != unix.Getpgrp() {
		hit("signal: its group", unix.Kill(-group, 0))
	}
	slices.Sort(out)
	return out
}

func errOf(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// given is what system calls get a pointer to; it may not move.
var given struct {
	words [16]uint64
	cpus  unix.CPUSet
	limit unix.Rlimit
	param int32
	attr  unix.SchedAttr
	local unix.Iovec
	info  [16]uint64
	node  uint64
	owner [2]int32
}

// numberedAttacks are calls and their arguments: what is set is what is there already.
func numberedAttacks(pid, id int) map[string][6]uintptr {
	p, t := uintptr(pid), uintptr(id)
	_ = unix.SchedGetaffinity(id, &given.cpus)
	_ = unix.Prlimit(id, unix.RLIMIT_FSIZE, nil, &given.limit)
	given.attr.Size = unix.SizeofSchedAttr
	given.local.Base = (*byte)(unsafe.Pointer(&given.words))
	given.local.SetLen(8)
	given.node = 1
	*(*int32)(unsafe.Add(unsafe.Pointer(&given.info), 8)) = -1 // SI_QUEUE
	buf := uintptr(unsafe.Pointer(&given.words))
	keep := uintptr(unsafe.Pointer(&given.local))
	const ptraceSeize = 0x4206
	return map[string][6]uintptr{
		"signal: kill":            {unix.SYS_KILL, t, 0},
		"signal: tkill":           {unix.SYS_TKILL, t, 0},
		"signal: tgkill":          {unix.SYS_TGKILL, p, t, 0},
		"signal: rt_sigqueueinfo": {unix.SYS_RT_SIGQUEUEINFO, t, 0, uintptr(unsafe.Pointer(&given.info))},
		"signal: rt_tgsigqueue":   {unix.SYS_RT_TGSIGQUEUEINFO, p, t, 0, uintptr(unsafe.Pointer(&given.info))},
		"look: ptrace":            {unix.SYS_PTRACE, ptraceSeize, t, 0, 0},
		"look: process_vm_readv":  {unix.SYS_PROCESS_VM_READV, t, keep, 0, 0, 0},
		"look: process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, t, keep, 0, 0, 0},
		"look: kcmp":              {unix.SYS_KCMP, uintptr(os.Getpid()), t, 1, 0, 0},
		"look: get_robust_list":   {unix.SYS_GET_ROBUST_LIST, t, buf, buf + 8},
		"number: migrate_pages":   {unix.SYS_MIGRATE_PAGES, t, 1, uintptr(unsafe.Pointer(&given.node)), uintptr(unsafe.Pointer(&given.node))},
		"number: move_pages":      {unix.SYS_MOVE_PAGES, t, 0, 0, 0, 0},
		"number: prlimit":         {unix.SYS_PRLIMIT64, t, unix.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&given.limit)), 0},
		"number: setaffinity":     {unix.SYS_SCHED_SETAFFINITY, t, unsafe.Sizeof(given.cpus), uintptr(unsafe.Pointer(&given.cpus))},
		"number: setscheduler":    {unix.SYS_SCHED_SETSCHEDULER, t, unix.SCHED_NORMAL, uintptr(unsafe.Pointer(&given.param))},
		"number: setparam":        {unix.SYS_SCHED_SETPARAM, t, uintptr(unsafe.Pointer(&given.param))},
		"number: setattr":         {unix.SYS_SCHED_SETATTR, t, uintptr(unsafe.Pointer(&given.attr)), 0},
		"number: setpriority":     {unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, t, 0},
		"number: ioprio_set":      {unix.SYS_IOPRIO_SET, 1, t, 2<<13 | 4},
		"number: core scheduling": {unix.SYS_PRCTL, unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_SHARE_TO, t, 0},
	}
}

// fileAttacks tries the files of a process or of a thread.
func fileAttacks(dir string, hit func(string, error)) {
	open := func(name string, flags int) error {
		fd, err := unix.Open(dir+name, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	for _, name := range []string{"environ", "mem", "maps", "smaps", "smaps_rollup", "numa_maps", "pagemap", "auxv", "io", "syscall", "stack", "personality"} {
		fd, err := unix.Open(dir+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if name != "mem" { // some are opened by all, and read by nobody
			n, e := unix.Read(fd, make([]byte, 100))
			if err = e; n == 0 {
				err = errors.New("empty")
			}
		}
		hit("look: "+name, err)
		unix.Close(fd)
	}
	if maps, _ := os.ReadDir(dir + "map_files"); len(maps) > 0 {
		hit("look: map_files", nil)
	}
	for _, name := range []string{"mem", "oom_score_adj", "clear_refs", "coredump_filter", "timerslack_ns", "autogroup", "comm", "sched", "attr/current", "setgroups", "uid_map"} {
		if name != "comm" && name != "sched" {
			hit("write: "+name, open(name, unix.O_WRONLY))
		}
	}
	for _, name := range []string{"cwd", "root", "exe", "ns/mnt", "ns/user", "ns/pid"} {
		_, err := os.Readlink(dir + name)
		hit("look: "+name, err)
		hit("open: "+name, open(name, unix.O_RDONLY))
	}
	for fd := range 40 {
		name := fmt.Sprint("fd/", fd)
		_, err := os.Readlink(dir + name)
		hit("look: fd", err)
		for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_PATH} {
			err := open(name, flags)
			if err == unix.ENXIO { // a socket: it was found
				err = nil
			}
			if flags != unix.O_PATH || !strings.Contains(fmt.Sprint(err), "permission") {
				hit("open: fd", err)
			}
		}
		hit("look: fdinfo", open(fmt.Sprint("fdinfo/", fd), unix.O_RDONLY))
	}
}

// signalled has the kernel send a signal on, by every way to own what a file tells.
func signalled(pid int, sig unix.Signal) (worked []string) {
	ids := []int{pid}
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		id, _ := strconv.Atoi(e.Name())
		ids = append(ids, id)
	}
	for _, id := range ids {
		given.owner = [2]int32{0, int32(id)} // the kind, a thread or a process, and who
		both, number := uintptr(unsafe.Pointer(&given.owner)), uintptr(unsafe.Pointer(&given.owner[1]))
		for name, c := range map[string][2]uintptr{
			"F_SETOWN":           {unix.F_SETOWN, uintptr(id)},
			"F_SETOWN_EX thread": {unix.F_SETOWN_EX, both},
			"F_SETOWN_EX":        {unix.F_SETOWN_EX, both},
			"FIOSETOWN":          {0x8901, number},
			"SIOCSPGRP":          {0x8902, number},
		} {
			given.owner[0] = 0
			if name == "F_SETOWN_EX" {
				given.owner[0] = 1
			}
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				continue
			}
			call := uintptr(unix.SYS_FCNTL)
			if c[0] > 0x8000 {
				call = unix.SYS_IOCTL
			}
			_, _, e := unix.RawSyscall(call, uintptr(pair[0]), c[0], c[1])
			if e == 0 {
				worked = append(worked, name)
			}
			_, _ = unix.FcntlInt(uintptr(pair[0]), unix.F_SETSIG, int(sig))
			_, _ = unix.FcntlInt(uintptr(pair[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
			_, _ = unix.Write(pair[1], []byte("x"))
			time.Sleep(2 * time.Millisecond)
			unix.Close(pair[0])
			unix.Close(pair[1])
		}
	}
	return worked
}

// kindsOf are the kinds in what a deed of reached printed.
func kindsOf(out string) (kinds []string) {
	for line := range strings.Lines(out) {
		if kind, _, ok := strings.Cut(line, ": "); ok && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// reachBox is a sandbox of a machine that has all that keeps a command by itself: there the
// tests say whether it does, and not New.
func reachBox(t *testing.T, home string) *Sandbox {
	t.Helper()
	if m := inspect(); !m.scoped() || !m.seccomp {
		t.Skip("SKIPPED: Landlock has no scopes here, or there are no system-call filters")
	}
	s, err := New(Options{Mode: Auto, Level: level(), Home: home})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// TestACommandReachesNothingThatIsNotItsOwn tries all that there is on the threads
// of this process, the one among them that started the command and is bound as it
// is; on the shell that ends the command should this process die; on another command
// and on a stranger.
func TestACommandReachesNothingThatIsNotItsOwn(t *testing.T) {
	w := newFixture(t)
	s := reachBox(t, w.Home)
	stranger, err := newCanary()
	must(t, err)
	defer stranger.close()
	other, err := s.Start(t.Context(), w.shell("exec sleep 100"), Files{})
	must(t, err)
	defer other.Close()
	targets := map[string]string{
		"this process":    strconv.Itoa(os.Getpid()),
		"a stranger":      strconv.Itoa(stranger.process.Pid),
		"another command": strconv.Itoa(other.PID()),
	}
	if level() == 1 {
		targets["its will"] = strconv.Itoa(willOf(t))
	}
	for name, pid := range targets {
		if got := kindsOf(run(t, s, free(w.deed(t, "reach", pid))).out); len(got) < 4 {
			t.Errorf("%s is not reached from outside of the sandbox either, which says nothing: %q", name, got)
		}
		if got := run(t, s, w.deed(t, "reach", pid)); !got.ok() || got.out != "" {
			t.Errorf("%s is reached:\n%s%+v", name, got.out, got.Status)
		}
	}
	if got := kindsOf(run(t, s, w.deed(t, "reach", "self")).out); !slices.Contains(got, "look") || !slices.Contains(got, "signal") {
		t.Errorf("a command does not reach itself: %q", got)
	}
}

// willOf waits for the only will there is.
func willOf(t *testing.T) (pid int) {
	t.Helper()
	eventually(t, "a will", func() bool {
		all, err := processList()
		must(t, err)
		for _, p := range all {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
			if p.parent == os.Getpid() && p.alive() && strings.Contains(string(line), trapped) {
				pid = p.pid
			}
		}
		return pid != 0
	})
	return pid
}

// TestAWillIsOutOfReachOfTheCommandItIsFor lets a command live until there is one.
func TestAWillIsOutOfReachOfTheCommandItIsFor(t *testing.T) {
	if level() == 2 {
		t.Skip("there are none at level 2")
	}
	w := newFixture(t)
	s := reachBox(t, w.Home)
	c := w.deed(t, "await", w.Work+"/go")
	tree, err := s.Start(t.Context(), c, Files{})
	must(t, err)
	defer tree.Close()
	must(t, os.WriteFile(w.Work+"/go.tmp", []byte(strconv.Itoa(willOf(t))), 0o644))
	must(t, os.Rename(w.Work+"/go.tmp", w.Work+"/go"))
	status := tree.Wait()
	said, err := os.ReadFile(w.Work + "/go.said")
	if err != nil || status.Code != 0 || string(said) != "" {
		t.Errorf("%+v, %q, %v", status, said, err)
	}
}

// TestNoFileTellsAnotherProcess has files that tell their owner of what comes, and
// this process or one of its threads as the owner.
func TestNoFileTellsAnotherProcess(t *testing.T) {
	w := newFixture(t)
	s := reachBox(t, w.Home)
	told := make(chan os.Signal, 1000)
	signal.Notify(told, unix.SIGWINCH, unix.SIGUSR2) // one for each try: some come late
	defer signal.Stop(told)
	var outside, inside atomic.Int32
	go func() {
		for sig := range told {
			if sig == unix.SIGWINCH {
				outside.Add(1)
			} else {
				inside.Add(1)
			}
		}
	}()
	if r := run(t, s, free(w.deed(t, "own", fmt.Sprint(os.Getpid(), " ", int(unix.SIGWINCH))))); !r.ok() {
		t.Fatalf("%+v", r)
	}
	eventually(t, "a signal from outside of the sandbox", func() bool { return outside.Load() > 0 })
	if r := run(t, s, w.deed(t, "own", fmt.Sprint(os.Getpid(), " ", int(unix.SIGUSR2)))); !r.ok() {
		t.Fatalf("%+v", r)
	}
	time.Sleep(20 * time.Millisecond)
	if n := inside.Load(); n > 0 {
		t.Errorf("%d signals came", n)
	}
}

// TestAChildOfTheServerIsNotMadeByACommand tries CLONE_PARENT: nobody would wait for
// what ends there.
func TestAChildOfTheServerIsNotMadeByACommand(t *testing.T) {
	w := newFixture(t)
	s := reachBox(t, w.Home)
	if got := run(t, s, free(w.deed(t, "sibling", ""))); !got.ok() {
		t.Errorf("outside of the sandbox: %+v", got)
	}
	if got := run(t, s, w.deed(t, "sibling", "")); got.ok() {
		t.Errorf("%+v", got)
	}
}

// TestNothingThatThisProcessHoldsIsLeftOpen: what a child does not close by itself it hands on.
func TestNothingThatThisProcessHoldsIsLeftOpen(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	tree, err := s.Start(t.Context(), w.shell("exec sleep 100"), Files{})
	must(t, err)
	defer tree.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	looked := 0
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd < 3 || err != nil {
			continue
		}
		looked++
		if flags&unix.FD_CLOEXEC == 0 {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			t.Errorf("descriptor %d (%s) would be inherited", fd, to)
		}
	}
	if looked == 0 {
		t.Error("there was nothing to look at")
	}
}

// TestFilesMoveBetweenDirectories, which every Landlock layer denies at first, by every ABI.
func TestFilesMoveBetweenDirectories(t *testing.T) {
	w := newFixture(t)
	newBox(t, w.Home)
	full := inspect()
	for _, abi := range []int{full.landlock, 5, 3, 2} {
		m := full
		m.landlock = min(full.landlock, abi)
		s, err := m.sandbox(Options{Mode: Auto, Level: level(), Home: w.Home})
		must(t, err)
		if got := run(t, s, w.shell("mkdir -p a b && echo x >a/file && ln a/file b/hard && mv a/file b/ && rm -r a b")); !got.ok() {
			t.Errorf("ABI %d: %+v", abi, got)
		}
		must(t, s.Close())
	}
}

// TestWhatIsBoundByTheNumberOfAProcessStillServesOneself runs what people run.
func TestWhatIsBoundByTheNumberOfAProcessStillServesOneself(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	for _, script := range []string{
		"nice -n 3 true",
		"ulimit -n 512 && ulimit -t 100",
		"taskset -c 0 true",
		"chrt -b 0 true",
		"ionice -c 3 true",
		"prlimit --nofile=300 true",
		"prlimit --pid $$ >/dev/null",
		"python3 -c 'import os; os.sched_setaffinity(0, {0}); os.setpriority(os.PRIO_PROCESS, 0, 3); os.nice(1)'",
		"java -version",
	} {
		if _, err := exec.LookPath(strings.Fields(script)[0]); err != nil && !strings.HasPrefix(script, "ulimit") {
			t.Logf("SKIPPED: %s", err)
			continue
		}
		if got := run(t, s, w.shell(script)); !got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// TestALimitIsThereBeforeTheProgramBegins: it was set by the child.
func TestALimitIsThereBeforeTheProgramBegins(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	c := w.shell("ulimit -f; ulimit -t; ulimit -Hc")
	c.Limits = Limits{FileSize: 1 << 20, CPU: 7 * time.Second}
	for range 20 {
		if got := run(t, s, c); got.out != "2048\n7\n0\n" {
			t.Fatalf("%+v", got)
		}
	}
	before, err := exec.Command("/bin/sh", "-c", "ulimit -Sn; ulimit -Hn").Output()
	must(t, err)
	var soft, hard uint64
	_, err = fmt.Sscan(strings.ReplaceAll(string(before), "unlimited", fmt.Sprint(maxFiles)), &soft, &hard)
	must(t, err)
	want := fmt.Sprintf("%d\n%d\n", min(soft, maxFiles), min(hard, maxFiles))
	if got := run(t, s, w.shell("ulimit -Sn; ulimit -Hn")); got.out != want {
		t.Errorf("open files: %q, and without the sandbox %q", got.out, before)
	}
}

// TestACommandStartsThoughThisProcessMayOpenMoreFilesThanAny: most systems allow half a million.
func TestACommandStartsThoughThisProcessMayOpenMoreFilesThanAny(t *testing.T) {
	w := newFixture(t)
	most := maxFiles
	defer func() { maxFiles = most }()
	maxFiles = 500
	s := newBox(t, w.Home)
	if got := run(t, s, w.shell("ulimit -Sn; ulimit -Hn")); got.out != "500\n500\n" {
		t.Errorf("%+v", got)
	}
}

func awaited(path string) error {
	for {
		text, err := os.ReadFile(path)
		if err == nil {
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Clean(path)+".said", []byte(strings.Join(reached(pid), "\n")), 0o644)
		}
		time.Sleep(time.Millisecond)
	}
}

// sibling makes a child of its parent.
func sibling() error {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	return nil
}
