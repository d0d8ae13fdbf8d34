package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackProgram is the name under which the test binary is a hostile command, which the tests put into the workspace.
const attackProgram = "attack"

// notice is what hostile commands forge. No program that was not reached writes it.
const notice = `{"jsonrpc":"2.0","method":"notifications/forged"}`

// deeds are what a hostile command does. Those that take processes get their numbers; the parent is one of them always.
var deeds map[string]func(args []string)

func init() {
	deeds = map[string]func([]string){
		"parent": standIn, "wait": func([]string) { busyThreads(); fmt.Println("ready"); select {} },
		"environ": readEnviron, "memory": readMemory, "rewrite": rewriteMemory, "descriptors": readDescriptors,
		"scribble": scribble, "through": through, "inject": inject, "forge": forge,
		"kill": killBy, "owner": signalByOwner, "limits": setLimits, "priority": setPriorities, "procfiles": writeProcFiles,
		"connect": connect, "race": raceConnect, "sysv": useSystemV, "leave": leaveSystemV, "sibling": makeSibling,
		"fill": fill, "everything": tryEverything, "children": overChildren, "fuzz": fuzz, "programs": runPrograms,
	}
	if filepath.Base(os.Args[0]) != attackProgram {
		return
	}
	if len(os.Args) < 2 || deeds[os.Args[1]] == nil {
		fmt.Println("no such deed")
		os.Exit(2)
	}
	deeds[os.Args[1]](os.Args[2:])
	fmt.Println("\ntried", os.Args[1])
	os.Exit(0)
}

// standIn is a server without any protection: it has threads, secrets in its environment, an open file, and does what
// its input says. A command that reaches nothing of it proves nothing.
func standIn(args []string) {
	busyThreads()
	secret, err := os.Open(args[0])
	if err == nil {
		defer secret.Close()
	}
	b := make([]byte, 64<<10)
	fmt.Println("ready")
	_, _ = os.Stdin.Read(b) // until it may begin
	go func() {
		for {
			n, err := os.Stdin.Read(b)
			if n > 0 {
				_ = os.WriteFile("loot", b[:n], 0o600)
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		runtime.LockOSThread()
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=" + os.Getenv("PATH")}, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Run(); err != nil {
			fmt.Println(err)
		}
	}()
	select {}
}

// busyThreads makes sure that the process has threads besides its first.
func busyThreads() {
	for range 3 {
		go func() { runtime.LockOSThread(); select {} }()
	}
}

// target is a thread of a process that is attacked.
type target struct{ pid, tid int }

func (t target) dirs() []string {
	return []string{fmt.Sprintf("/proc/%d/task/%d", t.pid, t.tid), fmt.Sprintf("/proc/%d", t.tid)}
}

// targets are all threads of the parent and of the processes that are named.
func targets(args []string) (out []target) {
	pids := []int{os.Getppid()}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil { // in another PID namespace it has another number
		pids = append(pids, parentIn(string(stat)))
	}
	for _, a := range args {
		pid, _ := strconv.Atoi(a)
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		if pid > 1 { // never everybody
			out = append(out, threads(pid)...)
		}
	}
	return out
}

// parentIn is the parent that a line of /proc/PID/stat tells.
func parentIn(stat string) (pid int) {
	if fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]); len(fields) > 1 {
		pid, _ = strconv.Atoi(fields[1])
	}
	return pid
}

func threads(pid int) (out []target) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil { // they can be guessed
		for tid := pid; tid < pid+30; tid++ {
			out = append(out, target{pid, tid})
		}
		return out
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, target{pid, tid})
		}
	}
	return out
}

// each calls do with every directory of every thread of the targets.
func each(args []string, do func(dir string)) {
	for _, t := range targets(args) {
		for _, dir := range t.dirs() {
			do(dir)
		}
	}
}

func readEnviron(args []string) {
	each(args, func(dir string) {
		b, _ := os.ReadFile(dir + "/environ")
		os.Stdout.Write(bytes.ReplaceAll(b, []byte{0}, []byte{'\n'}))
	})
}

// leaked is what secrets in memory look like.
var leaked = regexp.MustCompile(`leak-[a-z]+-[0-9]+`)

// mapped calls do with the parts of a process's memory that may be written.
func mapped(dir string, do func(mem *os.File, at int64, content []byte)) {
	mem, err := os.OpenFile(dir+"/mem", os.O_RDWR, 0)
	if err != nil {
		if mem, err = os.Open(dir + "/mem"); err != nil {
			return
		}
	}
	defer mem.Close()
	maps, _ := os.ReadFile(dir + "/maps")
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var rights string
		_, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights)
		if err != nil || !strings.HasPrefix(rights, "rw") || to-from > 64<<20 {
			continue
		}
		content := make([]byte, to-from)
		n, _ := mem.ReadAt(content, from)
		do(mem, from, content[:n])
	}
}

func readMemory(args []string) {
	each(args, func(dir string) {
		mapped(dir, func(_ *os.File, _ int64, content []byte) {
			for _, found := range leaked.FindAll(content, 20) {
				fmt.Printf("%s\n", found)
			}
		})
	})
}

func rewriteMemory(args []string) {
	each(args, func(dir string) {
		mapped(dir, func(mem *os.File, at int64, content []byte) {
			for _, found := range leaked.FindAllIndex(content, -1) {
				_, _ = mem.WriteAt([]byte("peak"), at+int64(found[0]))
			}
		})
	})
}

// openDescriptors calls do with what the descriptors of the targets are opened as.
func openDescriptors(args []string, flags int, do func(*os.File)) {
	each(args, func(dir string) {
		for n := range 64 {
			fd, err := unix.Open(fmt.Sprintf("%s/fd/%d", dir, n), flags|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
			if err != nil {
				continue
			}
			f := os.NewFile(uintptr(fd), "descriptor")
			do(f)
			f.Close()
		}
	})
}

func readDescriptors(args []string) {
	openDescriptors(args, unix.O_RDONLY, func(f *os.File) {
		_ = f.SetReadDeadline(time.Now().Add(time.Millisecond))
		b := make([]byte, 64<<10)
		n, _ := f.Read(b)
		os.Stdout.Write(b[:max(n, 0)])
	})
}

func scribble(args []string) {
	openDescriptors(args, unix.O_WRONLY, func(f *os.File) {
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			_ = unix.SetNonblock(int(f.Fd()), true)
			_, _ = unix.Write(int(f.Fd()), []byte(notice+"\n"))
		}
	})
}

// through reads a file by way of the directories that the targets hold.
func through(args []string) {
	path, args := args[0], args[1:]
	each(args, func(dir string) {
		links := []string{"cwd", "root", "exe"}
		for n := range 64 {
			links = append(links, fmt.Sprintf("fd/%d", n))
		}
		for _, link := range links {
			if to, err := os.Readlink(dir + "/" + link); err == nil && !strings.HasPrefix(to, "pipe:") {
				for _, way := range []string{dir + "/" + link + path, dir + "/" + link + strings.Repeat("/..", 12) + path} {
					b, _ := os.ReadFile(way)
					os.Stdout.Write(b)
				}
			}
		}
	})
}

// toDescriptor writes to a descriptor of the targets, which is a pipe.
func toDescriptor(args []string, n int, text string) {
	for _, t := range targets(args) {
		for _, dir := range t.dirs() {
			fd, err := unix.Open(fmt.Sprintf("%s/fd/%d", dir, n), unix.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				continue
			}
			var st unix.Stat_t
			err = unix.Fstat(fd, &st)
			if err == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
				_, err = unix.Write(fd, []byte(text))
			}
			unix.Close(fd)
			if err == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
				return // once is enough
			}
		}
	}
}

// inject makes a wish of the client's for it, and its consent. A file says what is wished.
func inject(args []string) {
	wish, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Println(err)
	}
	toDescriptor(args[1:], 0, string(wish))
	time.Sleep(200 * time.Millisecond) // so that a question was asked
	var yes strings.Builder
	for id := 1; id <= 30; id++ {
		fmt.Fprintf(&yes, `{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"agree":true}}}`+"\n", id)
	}
	toDescriptor(args[1:], 0, yes.String())
	time.Sleep(200 * time.Millisecond)
}

// forge answers in the server's place.
func forge(args []string) {
	var text strings.Builder
	for id := 1; id <= 300; id++ {
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"notifications/forged"}]}}`+"\n", id)
	}
	toDescriptor(args, 1, text.String())
}

// call is a system call of which only the error counts.
func call(number uintptr, args ...uintptr) unix.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

func ptr[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// queued is a siginfo that a program may send.
func queued(sig unix.Signal) *[128]byte {
	b := new([128]byte)
	b[0] = byte(sig)
	copy(b[8:], []byte{0xff, 0xff, 0xff, 0xff}) // SI_QUEUE
	return b
}

// sendBy are the ways to send a signal to a thread.
func sendBy(way string, t target, sig unix.Signal) unix.Errno {
	pid, tid, s := uintptr(t.pid), uintptr(t.tid), uintptr(sig)
	switch way {
	case "kill":
		return call(unix.SYS_KILL, tid, s)
	case "tkill":
		return call(unix.SYS_TKILL, tid, s)
	case "tgkill":
		return call(unix.SYS_TGKILL, pid, tid, s)
	case "rt_sigqueueinfo":
		return call(unix.SYS_RT_SIGQUEUEINFO, tid, s, ptr(queued(sig)))
	case "rt_tgsigqueueinfo":
		return call(unix.SYS_RT_TGSIGQUEUEINFO, pid, tid, s, ptr(queued(sig)))
	}
	return pidfd(t, func(fd uintptr) unix.Errno { return call(unix.SYS_PIDFD_SEND_SIGNAL, fd, s) })
}

// pidfd tries something with descriptors of the process and of the thread.
func pidfd(t target, do func(fd uintptr) unix.Errno) unix.Errno {
	errno := unix.ESRCH
	for _, flags := range []uintptr{0, unix.O_EXCL} { // PIDFD_THREAD
		fd, _, err := unix.Syscall(unix.SYS_PIDFD_OPEN, uintptr(t.tid), flags, 0)
		if err != 0 {
			continue
		}
		if e := do(fd); e == 0 || errno == unix.ESRCH {
			errno = e
		}
		unix.Close(int(fd))
		if errno == 0 {
			return 0
		}
	}
	return errno
}

func killBy(args []string) {
	way, args := args[0], args[1:]
	for _, t := range targets(args) {
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			_ = sendBy(way, t, sig)
		}
	}
}

// signalByOwner has the kernel send the signal that tells of a pipe, a socket, a directory or a lease.
func signalByOwner(args []string) {
	for _, t := range targets(args) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		var pipe [2]int
		if err := unix.Pipe(pipe[:]); err != nil {
			fmt.Println(err)
			return
		}
		dir, _ := unix.Open(".", unix.O_RDONLY, 0)
		for _, ends := range [][2]int{pair, pipe, {dir, -1}} {
			for _, own := range []func(fd uintptr) unix.Errno{
				func(fd uintptr) unix.Errno {
					return call(unix.SYS_FCNTL, fd, unix.F_SETOWN_EX, ptr(&[2]int32{0, int32(t.tid)}))
				},
				func(fd uintptr) unix.Errno {
					return call(unix.SYS_FCNTL, fd, unix.F_SETOWN_EX, ptr(&[2]int32{1, int32(t.pid)}))
				},
				func(fd uintptr) unix.Errno { return call(unix.SYS_FCNTL, fd, unix.F_SETOWN, uintptr(t.tid)) },
				func(fd uintptr) unix.Errno { return call(unix.SYS_IOCTL, fd, 0x8901, ptr(&[1]int32{int32(t.tid)})) },
				func(fd uintptr) unix.Errno { return call(unix.SYS_IOCTL, fd, 0x8902, ptr(&[1]int32{int32(t.tid)})) },
			} {
				fd := uintptr(ends[0])
				if ends[1] < 0 {
					call(unix.SYS_FCNTL, fd, unix.F_NOTIFY, 0x80000004) // DN_CREATE, DN_MULTISHOT
				}
				if own(fd) != 0 {
					continue // or the signal comes here
				}
				call(unix.SYS_FCNTL, fd, unix.F_SETSIG, uintptr(unix.SIGKILL))
				call(unix.SYS_FCNTL, fd, unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
				if ends[1] < 0 {
					_ = os.WriteFile("dnotify", nil, 0o600)
					_ = os.Remove("dnotify")
				} else {
					_, _ = unix.Write(ends[1], []byte("x"))
				}
			}
		}
		for _, fd := range []int{pair[0], pair[1], pipe[0], pipe[1], dir} {
			unix.Close(fd)
		}
	}
}

func setLimits(args []string) {
	for _, t := range targets(args) {
		for resource, n := range map[uintptr]uint64{unix.RLIMIT_CPU: 9999, unix.RLIMIT_FSIZE: 1 << 40, unix.RLIMIT_NOFILE: 200} {
			call(unix.SYS_PRLIMIT64, uintptr(t.tid), resource, ptr(&unix.Rlimit{Cur: n, Max: n}))
		}
	}
}

// schedAttr is struct sched_attr for a batch process.
func schedAttr() *[48]byte {
	b := new([48]byte)
	b[0], b[4], b[16] = 48, 3, 7
	return b
}

func setPriorities(args []string) {
	for _, t := range targets(args) {
		tid := uintptr(t.tid)
		switch args[len(args)-1] { // the last is the way; it is no process
		case "renice":
			call(unix.SYS_SETPRIORITY, 0, tid, 7)
		case "renice-group":
			if group, err := unix.Getpgid(t.pid); err == nil && group == t.pid { // nobody else's
				call(unix.SYS_SETPRIORITY, 1, uintptr(group), 7)
			}
		case "chrt":
			call(unix.SYS_SCHED_SETSCHEDULER, tid, 3, ptr(&[1]int32{0}))
		case "sched_setattr":
			call(unix.SYS_SCHED_SETATTR, tid, ptr(schedAttr()), 0)
		case "taskset":
			call(unix.SYS_SCHED_SETAFFINITY, tid, 8, ptr(&[1]uint64{1}))
		case "ionice":
			call(unix.SYS_IOPRIO_SET, 1, tid, 2<<13|7)
		}
	}
}

func writeProcFiles(args []string) {
	each(args, func(dir string) {
		for name, text := range map[string]string{"oom_score_adj": "500", "coredump_filter": "0x7f", "autogroup": "9", "timerslack_ns": "77777", "comm": "hacked"} {
			_ = os.WriteFile(dir+"/"+name, []byte(text), 0)
		}
	})
}

// connect reaches a local socket of somebody else's in the way that is named.
func connect(args []string) {
	way, path := args[0], args[1]
	kind := map[string]int{"stream": unix.SOCK_STREAM, "seqpacket": unix.SOCK_SEQPACKET}[way]
	switch way {
	case "link":
		_ = os.Symlink(path, "link")
		path, kind = "link", unix.SOCK_STREAM
	case "beneath":
		_ = os.Symlink(filepath.Dir(path), "beneath")
		path, kind = "/proc/self/cwd/beneath/"+filepath.Base(path), unix.SOCK_STREAM
	case "hardlink":
		if err := os.Link(path, "hard"); err != nil {
			fmt.Println(err)
			return
		}
		path, kind = "hard", unix.SOCK_STREAM
	case "abstract":
		path, kind = "@"+path, unix.SOCK_STREAM
	case "handle":
		fd, err := unix.Open(path, unix.O_PATH, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		path, kind = fmt.Sprintf("/proc/self/fd/%d", fd), unix.SOCK_STREAM
	case "sendto", "sendmsg", "datagram", "pair":
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if way == "pair" { // a pair is connected already, and sends elsewhere all the same
		var pair [2]int
		pair, err = unix.Socketpair(unix.AF_UNIX, kind, 0)
		fd = pair[0]
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	to := &unix.SockaddrUnix{Name: path}
	text := []byte("knock " + way)
	switch way {
	case "sendto", "pair":
		err = unix.Sendto(fd, text, 0, to)
	case "sendmsg":
		err = unix.Sendmsg(fd, text, nil, to, 0)
	default:
		if err = unix.Connect(fd, to); err == nil {
			_, err = unix.Write(fd, text)
		}
	}
	fmt.Println(way, err)
}

// raceConnect connects while another thread changes both the socket and the name, for whoever looks at them first.
func raceConnect(args []string) {
	outside := unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	inside := outside
	put := func(to *unix.RawSockaddrUnix, name string) {
		for i := range name {
			to.Path[i] = int8(name[i])
		}
	}
	put(&outside, args[0])
	put(&inside, "own")
	_ = os.Remove("own")
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Bind(listener, &unix.SockaddrUnix{Name: "own"})
	}
	if err == nil {
		err = unix.Listen(listener, 4096)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for {
			if c, _, err := unix.Accept(listener); err == nil {
				unix.Close(c)
			}
		}
	}()
	name := &inside
	end := time.Now().Add(400 * time.Millisecond)
	seen := map[unix.Errno]int{}
	defer func() { fmt.Println("race", seen) }()
	var turns atomic.Int64
	own := inside.Path
	go func() {
		for {
			if turns.Add(1)%2 == 0 {
				copy(name.Path[:], outside.Path[:])
			} else {
				copy(name.Path[:], own[:])
			}
		}
	}()
	for time.Now().Before(end) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return
		}
		e := call(unix.SYS_CONNECT, uintptr(fd), ptr(name), unsafe.Sizeof(*name))
		seen[e]++
		if e == 0 {
			_, _ = unix.Write(fd, []byte("knock race"))
		}
		unix.Close(fd)
	}
}

// useSystemV reads and changes what a stranger shares: a segment, a queue and a set of semaphores by their key, or by
// their place. What other fixtures share is left alone.
func useSystemV(args []string) {
	key, _ := strconv.Atoi(args[0])
	for id := range uintptr(64) { // without the key, by their place
		index, _, errno := unix.Syscall(unix.SYS_SHMCTL, id, 13, ptr(new([256]byte))) // SHM_STAT
		if errno == 0 {
			peek(index, args[1])
		}
	}
	if id, _, errno := unix.Syscall(unix.SYS_SHMGET, uintptr(key), 0, 0); errno == 0 {
		peek(id, args[1])
	}
	if id, _, errno := unix.Syscall(unix.SYS_SEMGET, uintptr(key), 0, 0); errno == 0 {
		call(unix.SYS_SEMCTL, id, 0, 16, 5) // SETVAL
	}
	if id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(key), 0, 0); errno == 0 {
		message := append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, "forged"...)
		call(unix.SYS_MSGSND, id, ptr(&message[0]), 6, 0o4000)
	}
}

// peek reads a segment and writes to it, if it is of the fixture with this number.
func peek(id uintptr, number string) {
	at, _, errno := unix.Syscall(unix.SYS_SHMAT, id, 0, 0)
	if errno != 0 {
		return
	}
	segment := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), 64)
	if bytes.HasPrefix(segment, []byte("leak-segment-"+number)) {
		fmt.Printf("%s\n", leaked.Find(segment))
		segment[60] = '!'
	}
	call(unix.SYS_SHMDT, at)
}

// leaveSystemV makes objects that would outlive the command and its server.
func leaveSystemV(args []string) {
	key, _ := strconv.Atoi(args[0])
	for _, number := range []uintptr{unix.SYS_SHMGET, unix.SYS_SEMGET} {
		call(number, uintptr(key), 1, 0o1600)
	}
	call(unix.SYS_MSGGET, uintptr(key), 0o1600)
}

// makeSibling makes a process whose parent is the command's own.
func makeSibling([]string) {
	for range 3 {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.CLONE_PARENT)|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
}

// fill takes much memory of a kind and says so if it can keep it for a while.
func fill(args []string) {
	kind := args[0]
	seconds, _ := strconv.Atoi(args[1])
	for n := range 384 {
		if err := take(kind, n); err != nil {
			fmt.Println(kind, n, err)
			return
		}
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	fmt.Println("kept", kind)
}

// taken keeps what was taken.
var taken []any

// take takes one MiB.
func take(kind string, n int) error {
	mib := bytes.Repeat([]byte{byte(n) | 1}, 1<<20)
	switch kind {
	case "nothing":
		return nil
	case "heap":
		taken = append(taken, mib)
		return nil
	case "memfd":
		fd, err := unix.MemfdCreate("fill", 0)
		if err == nil {
			_, err = unix.Write(fd, mib)
		}
		return err
	case "shared":
		at, err := unix.Mmap(-1, 0, len(mib), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
		if err == nil {
			copy(at, mib)
		}
		return err
	case "sysv":
		id, _, errno := unix.Syscall(unix.SYS_SHMGET, 0, 1<<20, 0o1600)
		if errno != 0 {
			return errno
		}
		at, _, errno := unix.Syscall(unix.SYS_SHMAT, id, 0, 0)
		call(unix.SYS_SHMCTL, id, 0) // it goes with the last that has it
		if errno != 0 {
			return errno
		}
		copy(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), 1<<20), mib)
		return nil
	case "pipes":
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_NONBLOCK); err != nil {
			return err
		}
		_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, 1<<20)
		if n, err := unix.Write(p[1], mib); n < 1<<19 {
			return fmt.Errorf("%d bytes: %w", n, err)
		}
		return nil
	case "sockets":
		for range 5 {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			_ = unix.SetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20)
			if _, err := unix.Write(p[0], mib); err != nil {
				return err
			}
		}
		return nil
	case "scratch":
		return os.WriteFile(fmt.Sprintf("/dev/shm/fill-%d-%d", os.Getpid(), n), mib, 0o600)
	case "threads":
		for range 4 {
			busyThreads()
		}
		return nil
	}
	return errors.ErrUnsupported
}

// wished is what a client would send to run a command.
func wished(command string) string {
	message, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": "forged", "method": "tools/call",
		"params": map[string]any{"name": "shell_execute", "arguments": map[string]any{"command": command}},
	})
	return string(message) + "\n"
}
