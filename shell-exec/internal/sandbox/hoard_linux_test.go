package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

const (
	hoardLimit = 160 << 20
	hoardSize  = 320 << 20
	piece      = 4 << 20
)

// raced says that the race detector is in this binary, which as a command takes more memory than the limits here.
var raced bool

func skipRaced(t *testing.T) {
	if raced {
		t.Skip("SKIPPED: the race detector takes more memory than the limit of this test")
	}
}

// hoards are ways to fill memory. Each returns once all of size is taken, or an error if that is refused.
var hoards = map[string]func(size int, dir string) error{
	"files without a name": func(size int, _ string) error {
		return pieces(size, func() error { _, err := memfd(); return err })
	},
	"a file that is only mapped": func(size int, _ string) error {
		return pieces(size, func() error {
			fd, err := memfd()
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.Mmap(fd, 0, piece, unix.PROT_READ, unix.MAP_SHARED)
			return err
		})
	},
	"shared memory that is not in the page tables": func(size int, _ string) error {
		return pieces(size, func() error {
			b, err := unix.Mmap(-1, 0, piece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
			if err != nil {
				return err
			}
			fill(b)
			return unix.Madvise(b, unix.MADV_DONTNEED)
		})
	},
	"files on their way through a socket": func(size int, _ string) error {
		return pieces(size, func() error {
			fd, err := memfd()
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0)
		})
	},
	"sockets on their way through a socket": func(size int, _ string) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		for n := 0; err == nil && n < size; {
			var full [2]int
			var took int
			if full, took, err = socketsFull(); err == nil {
				n += took
				err = unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(full[0], full[1]), nil, unix.MSG_DONTWAIT)
				unix.Close(full[0])
				unix.Close(full[1])
			}
			if err == unix.EAGAIN {
				pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			}
		}
		return err
	},
	"files in memory": func(size int, dir string) error {
		n := 0
		return pieces(size, func() error {
			n++
			return os.WriteFile(fmt.Sprintf("%s/%d.%d", dir, os.Getpid(), n), fill(make([]byte, piece)), 0o600)
		})
	},
	"files in memory that were removed": func(size int, dir string) error {
		return pieces(size, func() error {
			f, err := os.CreateTemp(dir, "")
			if err != nil {
				return err
			}
			if err := os.Remove(f.Name()); err != nil {
				return err
			}
			_, err = f.Write(fill(make([]byte, piece)))
			kept = append(kept, f)
			return err
		})
	},
	"many empty files in memory": func(size int, dir string) error {
		for n := range size / (1 << 10) {
			fd, err := unix.Open(fmt.Sprintf("%s/%d", dir, n), unix.O_CREAT|unix.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			unix.Close(fd)
		}
		return nil
	},
	"sockets": func(size int, _ string) error {
		for n := 0; n < size; {
			_, took, err := socketsFull()
			if err != nil {
				return err
			}
			n += took
		}
		return nil
	},
	"sockets whose other end is closed": func(size int, _ string) error {
		for n := 0; n < size; {
			pair, took, err := socketsFull()
			if err != nil {
				return err
			}
			unix.Close(pair[0])
			n += took / 2
		}
		return nil
	},
	"connections that nobody accepts": func(size int, dir string) error {
		address := &unix.SockaddrUnix{}
		for n := 0; n < size; {
			if n%(64<<20) < 1<<20 { // few wait at a socket
				fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
				if err != nil {
					return err
				}
				address.Name = fmt.Sprintf("%s/%d", dir, n)
				if err := errors.Join(unix.Bind(fd, address), unix.Listen(fd, 1000)); err != nil {
					return err
				}
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err == nil {
				err = unix.Connect(fd, address)
			}
			if err != nil {
				return err
			}
			for err == nil {
				var k int
				k, err = unix.Write(fd, junk[:])
				n += max(0, k)
			}
			unix.Close(fd)
		}
		return nil
	},
	"mappings": func(size int, _ string) error {
		const page = 4096
		b, err := unix.Mmap(-1, 0, size/200*page, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		for at := 0; err == nil && at < len(b); at += 2 * page {
			err = unix.Mprotect(b[at:at+page], unix.PROT_NONE)
		}
		return err
	},
	"pipes": func(size int, _ string) error {
		b := make([]byte, 64<<10)
		for n := 0; n < size*2/3; { // a pipe of an ordinary user gets two pages, after a thousand
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_NONBLOCK); err != nil {
				return err
			}
			took := 0
			for err := error(nil); err == nil; {
				var k int
				k, err = unix.Write(p[1], b)
				took += max(0, k)
			}
			n += took
			unix.Close(p[1])
		}
		return nil
	},
	"page tables": func(size int, _ string) error {
		const covered = 2 << 20 // by a page of a table
		b, err := unix.Mmap(-1, 0, size/4096*covered, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err != nil {
			return err
		}
		_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
		sum := byte(0)
		for at := 0; at < len(b); at += covered {
			sum += b[at]
		}
		runtime.KeepAlive(sum)
		return nil
	},
	"rules of Landlock": func(size int, _ string) error {
		const ports, rule = 1 << 16, 64
		for n := 0; n < size; n += ports * rule {
			fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessNet: ll.AccessNetBindTCP}, 0)
			for port := uint64(0); port < ports && err == nil; port++ {
				err = ll.LandlockAddNetPortRule(fd, &ll.NetPortAttr{AllowedAccess: ll.AccessNetBindTCP, Port: port}, 0)
			}
			if err != nil {
				return err
			}
		}
		return nil
	},
	"files that are waited for": func(size int, _ string) error {
		const each, entry = 2000, 128
		var files []int
		for range each {
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
			if err != nil {
				return err
			}
			files = append(files, fd)
		}
		for n := 0; n < size; n += each * entry {
			waits, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
			for i := 0; i < each && err == nil; i++ {
				err = unix.EpollCtl(waits, unix.EPOLL_CTL_ADD, files[i], &unix.EpollEvent{Events: unix.EPOLLIN})
			}
			if err != nil {
				return err
			}
		}
		return nil
	},
	"a process that hides": func(size int, dir string) error {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err
		}
		return pieces(size, func() error { _, err := memfd(); return err })
	},
	"sockets of a process that hides": func(size int, _ string) error {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err
		}
		for n := 0; n < size; {
			_, took, err := socketsFull()
			if err != nil {
				return err
			}
			n += took
		}
		return nil
	},
	"processes without a first thread": func(size int, _ string) error {
		return pieces(size, func() error { // several at once, each within what one may have
			b, err := unix.Mmap(-1, 0, piece, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			fill(b)
			return err
		})
	},
	"System V shared memory": func(size int, _ string) error {
		return pieces(size, func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, piece, unix.IPC_CREAT|0o600)
			if err != nil {
				return err
			}
			b, err := unix.SysvShmAttach(id, 0, 0)
			if err != nil {
				return err
			}
			fill(b)
			return unix.SysvShmDetach(b)
		})
	},
	"System V message queues": func(size int, _ string) error {
		message := make([]byte, 8+8192)
		message[0] = 1
		for n := 0; n < size; n += 8192 {
			q, _, e := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600, 0)
			for err := e; err == 0; n += 8192 {
				_, _, err = unix.Syscall6(unix.SYS_MSGSND, q, uintptr(unsafe.Pointer(&message[0])), 8192, unix.IPC_NOWAIT, 0, 0)
			}
			if e != 0 {
				return e
			}
		}
		return nil
	},
	"System V semaphores": func(size int, _ string) error {
		for n := 0; n < size; n += 64 * 32000 {
			if _, _, e := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 32000, unix.IPC_CREAT|0o600); e != 0 {
				return e
			}
		}
		return nil
	},
	"threads": func(int, string) error {
		for range 3000 {
			go func() {
				runtime.LockOSThread()
				time.Sleep(time.Nanosecond)
				_ = unix.Nanosleep(&unix.Timespec{Sec: 600}, nil)
			}()
		}
		for range 2000 {
			if p, ok := readProcess(os.Getpid()); ok && p.threads >= 3000 {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return errors.New("too few threads")
	},
}

var kept []*os.File // open until the end

func pieces(size int, take func() error) error {
	for range size / piece {
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

// fill writes to every page.
func fill(b []byte) []byte {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

// memfd is a file of one piece without a name.
func memfd() (int, error) {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return -1, err
	}
	for n := 0; n < piece; n += len(junk) {
		if _, err := unix.Write(fd, junk[:]); err != nil {
			return -1, err
		}
	}
	return fd, nil
}

var junk [256 << 10]byte

// socketsFull are two sockets, and how many bytes wait between them.
func socketsFull() (pair [2]int, n int, err error) {
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0); err != nil {
		return pair, 0, err
	}
	for _, fd := range pair {
		for err := error(nil); err == nil; {
			var k int
			k, err = unix.Write(fd, junk[:])
			n += max(0, k)
		}
	}
	return pair, n, nil
}

// hoard fills memory in the way of that name, says so, and keeps it.
func hoard(name, dir string) error {
	kind, size, _ := strings.Cut(name, ":")
	n, _ := strconv.Atoi(size)
	if err := hoards[kind](n, dir); err != nil {
		return err
	}
	fmt.Println("all of it is taken")
	time.Sleep(10 * time.Minute)
	return nil
}

// hoarding is a command that fills memory with so many processes.
func (w fixture) hoarding(t *testing.T, kind, dir string, processes int) Command {
	size := hoardSize
	switch kind { // known only by what the machine has more, and others may free some meanwhile
	case "connections that nobody accepts", "sockets on their way through a socket", "sockets of a process that hides":
		size *= 2
	}
	c := w.deed(t, fmt.Sprintf("hoard %s:%d", kind, size/processes), dir)
	script := strings.Repeat(`"$0" "$@" & `, processes) + "wait"
	c.Args = append([]string{"sh", "-c", script, c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
	if kind == "processes without a first thread" {
		c.Env = append(c.Env, headless+"=1")
	}
	return c
}

// TestNoKindOfMemoryGetsPastTheLimit fills memory in every way that the size of a process does not show.
func TestNoKindOfMemoryGetsPastTheLimit(t *testing.T) {
	skipRaced(t)
	w := newFixture(t)
	inMemory, err := os.MkdirTemp("/dev/shm", "mcp-test-")
	must(t, err)
	defer os.RemoveAll(inMemory)
	s := newBox(t, w.Home)
	for kind := range hoards {
		if level() == 1 && (strings.HasPrefix(kind, "System V") || kind == "many empty files in memory") {
			continue // they are not the command's alone: the kernel does not tell whose they are
		}
		if kind == "rules of Landlock" && s.machine.landlock < 4 {
			continue // there are none about ports, and those about files take files
		}
		if level() == 2 && kind == "mappings" {
			continue // as at level 1, and it takes long
		}
		t.Run(strings.ReplaceAll(kind, " ", "-"), func(t *testing.T) {
			dir, processes := inMemory, 1
			if level() == 2 {
				dir = "/dev/shm"
			}
			switch kind { // where one may have too little of something else
			case "pipes", "processes without a first thread":
				processes = 8
			case "mappings":
				processes = 30
			}
			c := w.hoarding(t, kind, dir, processes)
			c.Rules.Network = kind == "connections that nobody accepts"
			if level() == 1 {
				c.Rules.Write = append(c.Rules.Write, mcptest.Grant(inMemory))
			}
			if free := hoarded(t, s, c, processes); free.Signal != "" || free.taken != processes {
				t.Fatalf("without a limit it does not work, and so says nothing: %+v", free)
			}
			emptied(t, inMemory)
			if level() == 2 {
				run(t, s, w.shell("find /dev/shm /tmp -mindepth 1 -delete")) // what commands share
			}
			c.Limits = Limits{Memory: hoardLimit, Processes: 50}
			if kind == "threads" {
				c.Limits.Memory = 0 // their stacks would be refused
			}
			var bound hoardings
			for range 5 { // what others free at the same time hides some kinds
				settle()
				bound = hoarded(t, s, c, processes)
				emptied(t, inMemory)
				if level() == 2 {
					run(t, s, w.shell("find /dev/shm /tmp -mindepth 1 -delete"))
				}
				if bound.ProcessesExceeded || bound.MemoryExceeded {
					break
				}
			}
			if kind == "threads" && !bound.ProcessesExceeded || kind != "threads" && !bound.MemoryExceeded {
				t.Errorf("%+v", bound)
			}
		})
	}
}

// settle waits until the kernel has freed what a command left: what it frees while another one fills
// memory hides some of that.
func settle() {
	for last, rounds := machinePool(), 0; rounds < 50; rounds++ {
		time.Sleep(200 * time.Millisecond)
		now := machinePool()
		if freed := last.since(now); freed.kernel+freed.shared < piece {
			return
		}
		last = now
	}
}

func emptied(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		must(t, os.Remove(dir+"/"+e.Name()))
	}
}

// hoardings is how a command ended, and how many of its processes had taken all they wanted.
type hoardings struct {
	Status
	taken int
	out   string
}

// looks is how often the memory of a tree was looked at.
func (t *Tree) looks() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.account.looks
}

// hoarded runs a command until it has ended, or was looked at closely after all is taken.
func hoarded(t *testing.T, s *Sandbox, c Command, processes int) hoardings {
	out, err := os.Create(t.TempDir() + "/out")
	must(t, err)
	defer out.Close()
	tree, err := s.Start(t.Context(), c, Files{Stdout: out, Stderr: out})
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	h := hoardings{}
	told := func() {
		text, err := os.ReadFile(out.Name())
		must(t, err)
		h.out, h.taken = string(text), strings.Count(string(text), "all of it is taken")
	}
	ended := func() bool {
		select {
		case <-tree.Exited():
			return true
		default:
			told()
			return h.taken == processes
		}
	}
	within(5*time.Minute, ended)
	if c.Limits != (Limits{}) {
		seen := tree.looks() + often + 1 // one of them is close
		within(5*time.Minute, func() bool {
			select {
			case <-tree.Exited():
				return true
			default:
				return tree.looks() > seen
			}
		})
	}
	select {
	case <-tree.Exited():
		h.Status = tree.Wait()
	default:
	}
	told()
	return h
}

// TestWhatHasNoFirstThreadIsNotGone leaves a process behind that looks like one that has ended.
func TestWhatHasNoFirstThreadIsNotGone(t *testing.T) {
	w := newFixture(t)
	for name, s := range boxes(t, w.Home) {
		c := w.hoarding(t, "processes without a first thread", "", 1)
		c.Args[2] = `"$0" "$@" & sleep 1`
		c.Env = append(c.Env, headless+"=1")
		tree, err := s.Start(t.Context(), c, Files{})
		must(t, err)
		select {
		case <-tree.Gone():
			t.Errorf("%s: it is taken for gone", name)
		case <-tree.Outlived():
		}
		if err := tree.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is a list of mappings that has no end, or a name that has none.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// TestALookAtMappingsEndsThoughTheyDoNot: meanwhile no limit would be applied.
func TestALookAtMappingsEndsThoughTheyDoNot(t *testing.T) {
	for what, maps := range map[string]endless{
		"mappings": "7f0000000000-7f0000001000 rw-s 00000000 00:01 1024 /dev/zero (deleted)\n",
		"a name":   "x",
	} {
		h := &holdings{until: time.Now().Add(10 * time.Millisecond), memory: map[uint64]bool{unix.Mkdev(0, 1): true}, seen: map[file]bool{}}
		h.mappingsOf(maps)
		if h.maybeFiles != hidden {
			t.Errorf("%s: what was not seen counts as %d bytes", what, h.maybeFiles)
		}
	}
}

// TestAProcessThatEndedHidesNothing: for one that hides its memory, what the whole machine has more may be its own.
func TestAProcessThatEndedHidesNothing(t *testing.T) {
	c := exec.Command("/bin/true")
	must(t, c.Start())
	must(t, unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)) // it stays as a zombie
	h := &holdings{until: time.Now().Add(time.Minute), seen: map[file]bool{}}
	h.process(process{pid: c.Process.Pid, via: c.Process.Pid, threads: 1}, false)
	if h.maybeFiles != 0 || h.maybeBuffers != 0 {
		t.Errorf("it may hold %d and %d bytes", h.maybeFiles, h.maybeBuffers)
	}
	must(t, c.Wait())
	h.process(process{pid: c.Process.Pid, via: c.Process.Pid, threads: 1}, false)
	if h.maybeFiles != 0 || h.maybeBuffers != 0 {
		t.Errorf("once it is gone it may hold %d and %d bytes", h.maybeFiles, h.maybeBuffers)
	}
}

// TestMemoryThatIsSharedCountsOnce has a command of two thirds of the limit start others, which have its memory
// until they become another program, and map one file twice.
func TestMemoryThatIsSharedCountsOnce(t *testing.T) {
	skipRaced(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	c := w.deed(t, "share", "")
	c.Limits = Limits{Memory: 3 * shareSize / 2, Processes: 50}
	var got result
	for range 5 { // what others take at the same time may count as the command's
		settle()
		if got = run(t, s, c); got.ok() {
			return
		}
	}
	t.Errorf("%+v", got)
}

const shareSize = 160 << 20

// share is the deed of that test. It waits where the watch should look.
func share() error {
	b, err := unix.Mmap(-1, 0, shareSize/2, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	fill(b)
	fd, err := unix.MemfdCreate("x", 0)
	if err == nil {
		err = unix.Ftruncate(fd, shareSize/2)
	}
	for range 2 {
		var b []byte
		if err == nil {
			b, err = unix.Mmap(fd, 0, shareSize/2, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			fill(b)
		}
	}
	for end := time.Now().Add(2 * time.Second); err == nil && time.Now().Before(end); {
		var p *os.Process
		if p, err = os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{}); err == nil {
			_, err = p.Wait()
		}
	}
	return err
}

func TestAnOrdinaryUserHoardsNoMemory(t *testing.T) {
	skipRaced(t)
	if level() == 1 {
		mcptest.AsOrdinaryUser(t, "NoKindOfMemory/(hides|pipes|way)") // where it matters who one is
	}
}
