package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supervised skips where nobody judges who may be connected to.
func supervised(t *testing.T) {
	t.Helper()
	if m := inspect(); !m.supervisor {
		t.Skip("SKIPPED: calls cannot be supervised here")
	}
}

// serveAt listens at a local socket and greets whoever connects.
func serveAt(t testing.TB, network, name string) *atomic.Int32 {
	t.Helper()
	l, err := net.Listen(network, name)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	var came atomic.Int32
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			came.Add(1)
			c.Close()
		}
	}()
	return &came
}

func TestLocalSocketsOfOtherProgramsAreOutOfReach(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := openBox(t, w.Home)
	abstract := "@mcp-sandbox-foreign-" + strconv.Itoa(os.Getpid())
	must(t, os.Mkdir(w.Work+"/dir", 0o755))
	must(t, os.Symlink(w.Outside+"/outside", w.Work+"/link"))
	came := map[string]*atomic.Int32{}
	for _, name := range []string{w.Outside + "/outside", w.Work + "/inside", w.Work + "/dir/deeper", abstract} {
		came[name] = serveAt(t, "unix", name)
	}
	packets := serveAt(t, "unixpacket", w.Work+"/packets")
	datagrams, err := net.ListenPacket("unixgram", w.Work+"/datagrams")
	must(t, err)
	defer datagrams.Close()
	for _, a := range [][2]string{
		{"unix", w.Outside + "/outside"}, {"unix", w.Work + "/inside"}, {"unix", "inside"}, {"unix", "./dir/../inside"},
		{"unix", "dir/deeper"}, {"unix", "link"}, {"unix", abstract}, {"unixpacket", "packets"},
		{"unix", "/proc/self/cwd/inside"}, {"unix", "/proc/self/root" + w.Outside + "/outside"},
		{"unixgram", w.Work + "/datagrams"},
	} {
		if len(a[1]) > 107 {
			continue // no address has room for it
		}
		for _, network := range []bool{false, true} {
			c := w.deed(t, a[0], a[1])
			c.Rules.Network = network
			if got := run(t, s, free(c)); !got.ok() {
				t.Errorf("%v: does not work outside of the sandbox either, and so says nothing: %+v", a, got)
			}
			if got := run(t, s, c); got.ok() {
				t.Errorf("%v, network %t: connected", a, network)
			}
		}
	}
	eventually(t, "all that came from outside of the sandbox", func() bool { return packets.Load() == 2 && came[abstract].Load() == 2 })
}

// servesItself listens and connects to that, in many ways.
func servesItself(dir string) error {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(os.Chdir(dir))
	for network, name := range map[string]string{"unix": "own", "unixpacket": "packets"} {
		l, err := net.Listen(network, name)
		must(err)
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				// The kernel may tell a reader of packets that the other end is closed before it
				// gives it the last one: the reader closes first.
				fmt.Fprint(c, "hello")
				c.Read(make([]byte, 1))
				c.Close()
			}
		}()
		for _, name := range []string{name, "./" + name, dir + "/" + name} {
			c, err := net.Dial(network, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			buf := make([]byte, 10)
			if n, err := c.Read(buf); string(buf[:n]) != "hello" {
				return fmt.Errorf("%s: %q, %v", name, buf[:n], err)
			}
			c.Close()
		}
	}
	abstract, err := net.Listen("unix", "@mcp-sandbox-own-"+strconv.Itoa(os.Getpid()))
	must(err)
	if c, err := net.Dial("unix", abstract.Addr().String()); err != nil {
		return fmt.Errorf("abstract: %w", err)
	} else if c.RemoteAddr().String() != abstract.Addr().String() {
		return fmt.Errorf("abstract: connected to %s", c.RemoteAddr())
	}
	for name, want := range map[string]error{"nothing": unix.ENOENT, "file": unix.ECONNREFUSED, "dead": unix.ECONNREFUSED, "own/x": unix.ENOTDIR} {
		os.WriteFile("file", nil, 0o600)
		if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "dead"}); err == nil {
			l.SetUnlinkOnClose(false)
			l.Close()
		}
		if _, err := net.Dial("unix", name); !errors.Is(err, want) {
			return fmt.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	return errnos()
}

// errnos are the answers of the kernel that a program may count on.
func errnos() error {
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	os.Remove("full")
	if err := errors.Join(unix.Bind(l, &unix.SockaddrUnix{Name: "full"}), unix.Listen(l, 0)); err != nil {
		return err
	}
	connect := func(kind int) (int, error) {
		fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
		if err != nil {
			return -1, err
		}
		return fd, unix.Connect(fd, &unix.SockaddrUnix{Name: "full"})
	}
	if _, err := connect(unix.SOCK_STREAM); err != nil {
		return fmt.Errorf("the first: %w", err)
	}
	if _, err := connect(unix.SOCK_STREAM | unix.SOCK_NONBLOCK); err != unix.EAGAIN {
		return fmt.Errorf("a full socket, without waiting: %v", err)
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		unix.Accept(l)
	}()
	if _, err := connect(unix.SOCK_STREAM); err != nil {
		return fmt.Errorf("a full socket, with waiting: %w", err)
	}
	fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	address := [130]byte{1}
	for _, w := range []struct {
		fd, size int
		at       unsafe.Pointer
		want     unix.Errno
	}{
		{fd, 0, unsafe.Pointer(&address), unix.EINVAL},
		{fd, 2, unsafe.Pointer(&address), unix.EINVAL},
		{fd, 129, unsafe.Pointer(&address), unix.EINVAL},
		{fd, 20, nil, unix.EFAULT},
		{99, 20, unsafe.Pointer(&address), unix.EBADF},
		{2, 20, unsafe.Pointer(&address), unix.ENOTSOCK},
	} {
		if _, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(w.fd), uintptr(w.at), uintptr(w.size)); e != w.want {
			return fmt.Errorf("descriptor %d, %d bytes: %v, want %v", w.fd, w.size, e, w.want)
		}
	}
	return nil
}

func TestOwnLocalSockets(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	older := inspect()
	older.landlock = min(older.landlock, 5)
	old, err := older.sandbox(Options{Mode: Auto, Level: level(), Home: w.Home})
	must(t, err)
	defer old.Close()
	for name, s := range map[string]*Sandbox{"new": newBox(t, w.Home), "old": old} {
		for _, network := range []bool{false, true} {
			dir := fmt.Sprint(w.Work, "/", name, network)
			must(t, os.Mkdir(dir, 0o755))
			c := w.deed(t, "serves", dir)
			c.Rules.Network = network
			if got := run(t, s, c); !got.ok() {
				t.Errorf("%s kernel, network %t: %+v", name, network, got)
			}
			if got := run(t, s, w.shell("exec prlimit --pid $$ --nofile=300")); !got.ok() {
				t.Errorf("%s kernel, its own number: %+v", name, got)
			}
		}
	}
}

// TestEachOther has one that goes to the background and ends, and is asked
// by another.
func TestEachOther(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	c := w.deed(t, "listens", w.Work+"/service")
	tree, err := s.Start(t.Context(), c, Files{})
	must(t, err)
	defer tree.Close()
	eventually(t, "the service", func() bool { return exists(w.Work + "/service") })
	for range 3 {
		if got := run(t, s, w.deed(t, "unix", w.Work+"/service")); !got.ok() {
			t.Errorf("%+v", got)
		}
	}
	other, err := New(Options{Mode: Auto, Level: level(), Home: w.Home})
	must(t, err)
	defer other.Close()
	if got := run(t, other, w.deed(t, "unix", w.Work+"/service")); got.ok() {
		t.Errorf("a command of another server connected: %+v", got)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestSocketsThatTheRulesNameAreReached(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	must(t, os.Symlink(w.Outside, filepath.Dir(w.Outside)+"/run"))
	came := serveAt(t, "unix", w.Outside+"/agent")
	serveAt(t, "unix", w.Outside+"/other")
	for _, name := range []string{w.Outside + "/agent", filepath.Dir(w.Outside) + "/run/agent"} {
		if level() == 2 {
			t.Skip("at level 2 the mounts decide what is there")
		}
		c := w.deed(t, "unix", w.Outside+"/agent")
		c.Rules.Sockets = []string{name}
		if got := run(t, s, c); !got.ok() || came.Load() == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		c = w.deed(t, "unix", w.Outside+"/other")
		c.Rules.Sockets = []string{name}
		if got := run(t, s, c); got.ok() {
			t.Errorf("%s: another one was reached: %+v", name, got)
		}
	}
	// A name in the workspace that a command made a link of.
	must(t, os.Symlink(w.Outside+"/other", w.Work+"/agent"))
	must(t, os.Symlink(w.Outside, w.Work+"/run"))
	for _, name := range []string{w.Work + "/agent", w.Work + "/run/other"} {
		c := w.deed(t, "unix", w.Outside+"/other")
		c.Rules.Sockets = []string{name}
		if got := run(t, s, c); got.ok() {
			t.Errorf("%s: reached through a link: %+v", name, got)
		}
	}
}

// swaps connects, while another thread changes the address and what the descriptor is. It
// prints how often it reached the first of two sockets, its own, and the second, which it may not.
func swaps(names string) error {
	own, foreign, _ := strings.Cut(names, " ")
	l, err := net.Listen("unix", own)
	if err != nil {
		return err
	}
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for c, err := tcp.Accept(); err == nil; c, err = tcp.Accept() {
			c.Close()
		}
	}()
	const fd = 200
	addresses := [3][112]byte{}
	addresses[0][0], addresses[1][0] = unix.AF_UNIX, unix.AF_UNIX
	copy(addresses[0][2:], own)
	copy(addresses[1][2:], foreign)
	port := tcp.Addr().(*net.TCPAddr).Port
	copy(addresses[2][:], []byte{unix.AF_INET, 0, byte(port >> 8), byte(port), 127, 0, 0, 1})
	shared := new([14]uint64) // written word by word, for the race detector
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			runtime.LockOSThread()
			for i := 0; !done.Load(); i++ {
				family := unix.AF_UNIX
				if i%3 == 2 {
					family = unix.AF_INET
				}
				new, err := unix.Socket(family, unix.SOCK_STREAM, 0)
				if err == nil {
					unix.Dup2(new, fd)
					unix.Close(new)
				}
				for n := range shared {
					atomic.StoreUint64(&shared[n], binary.NativeEndian.Uint64(addresses[i%3][8*n:]))
				}
			}
		})
	}
	reachedOwn := 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		_, _, e := unix.Syscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(shared)), 110)
		if e != 0 {
			continue
		}
		if to, err := unix.Getpeername(fd); err == nil {
			if at, ok := to.(*unix.SockaddrUnix); ok && at.Name == own {
				reachedOwn++
			}
		}
	}
	done.Store(true)
	wg.Wait()
	if reachedOwn == 0 {
		return errors.New("it never connected: the race did not run")
	}
	fmt.Println("reached its own", reachedOwn, "times")
	return nil
}

// TestNoRaceLeadsToAStrangeSocket: what counts is who came there.
func TestNoRaceLeadsToAStrangeSocket(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	came := serveAt(t, "unix", w.Outside+"/foreign")
	c := w.deed(t, "swaps", w.Work+"/own "+w.Outside+"/foreign")
	c.Rules.Network = true
	got := run(t, s, c)
	if !got.ok() || came.Load() > 0 {
		t.Errorf("%d came to the strange socket: %+v", came.Load(), got)
	}
	t.Log(got.out)
}

// waits connects without end, with signals coming all the time: nothing may be lost, and
// nothing done twice.
func waits(addr string) error {
	c := make(chan os.Signal, 100)
	signal.Notify(c, unix.SIGALRM, unix.SIGUSR1)
	var timer [4]int64
	timer[1], timer[3] = 300, 300 // microseconds
	if _, _, e := unix.Syscall(unix.SYS_SETITIMER, 0, uintptr(unsafe.Pointer(&timer)), 0); e != 0 {
		return e
	}
	to, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return err
	}
	at := &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte{127, 0, 0, 1}}
	for i := range 1000 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, at); err != nil {
			return fmt.Errorf("after %d: %w", i, err)
		}
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		unix.Close(fd)
	}
	return nil
}

func TestSignalsDoNotDisturbAConnect(t *testing.T) {
	supervised(t)
	if level() == 2 {
		t.Skip("a command has its own network")
	}
	w := newFixture(t)
	s := newBox(t, w.Home)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	c := w.deed(t, "waits", l.Addr().String())
	c.Rules.Network = true
	if got := run(t, s, c); !got.ok() {
		t.Errorf("%+v", got)
	}
}

// openSockets counts the sockets of this process. Other descriptors come and go with plans.
func openSockets() (n int) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range all {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// TestABlockedConnectIsGivenUpWithItsCommand counts what this process holds before and after.
func TestABlockedConnectIsGivenUpWithItsCommand(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	if got := run(t, s, w.shell("true")); !got.ok() {
		t.Fatalf("%+v", got)
	}
	before, goroutines := openSockets(), runtime.NumGoroutine()
	c := w.deed(t, "blocks", w.Work+"/full")
	tree, err := s.Start(t.Context(), c, Files{})
	must(t, err)
	eventually(t, "blocked connects", func() bool { return openSockets() >= before+10 })
	must(t, tree.Kill())
	must(t, tree.Close())
	eventually(t, "the end of them", func() bool { return openSockets() <= before && runtime.NumGoroutine() <= goroutines+2 })
}

// TestABlockedConnectIsGivenUpThoughTheListenerLivesOn is the same for a socket of another command.
func TestABlockedConnectIsGivenUpThoughTheListenerLivesOn(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	blocked := func() int {
		stacks := make([]byte, 4<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*supervisor).perform(")
	}
	for _, name := range []string{w.Work + "/full", "@mcp-sandbox-full-" + strconv.Itoa(os.Getpid())} {
		const first, more = 19, 20 // one of the first waits in the queue, and no more can
		other, err := s.Start(t.Context(), w.deed(t, "blocks", name), Files{})
		must(t, err)
		eventually(t, "blocked connects", func() bool { return blocked() == first })
		for range 3 {
			tree, err := s.Start(t.Context(), w.deed(t, "joins", name), Files{})
			must(t, err)
			eventually(t, "more blocked connects", func() bool { return blocked() == first+more })
			must(t, tree.Kill())
			must(t, tree.Close())
			eventually(t, "the end of those", func() bool { return blocked() == first })
		}
		must(t, other.Kill())
		must(t, other.Close())
		eventually(t, "the end of all", func() bool { return blocked() == 0 })
	}
}

// blocks has threads that wait for a socket at which nobody accepts.
func blocks(name string) error {
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(l, &unix.SockaddrUnix{Name: name}), unix.Listen(l, 0)); err != nil {
		return err
	}
	return joins(name)
}

// joins is the same at a socket that is there.
func joins(name string) error {
	for range 20 {
		go func() {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err == nil {
				_ = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
			}
		}()
	}
	time.Sleep(time.Minute)
	return nil
}

// multicasts becomes one whose messages go to all programs that listen to udev.
func multicasts() error {
	const uevent, udev = 15, 2
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, uevent)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: udev})
}

// TestWhatIsConnectedForACommandHasNoMoreRightsThanThat: this process, as root, may send such messages.
func TestWhatIsConnectedForACommandHasNoMoreRightsThanThat(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := openBox(t, w.Home)
	c := w.deed(t, "multicast", "")
	c.Rules.Network = true
	if got := run(t, s, c); got.ok() {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, free(c)); !got.ok() && os.Geteuid() == 0 {
		t.Logf("does not work outside of the sandbox either, and so says nothing: %+v", got)
	}
}

// TestADetachedCommandHasNoLocalSockets: nobody would judge them after the end of this process.
func TestADetachedCommandHasNoLocalSockets(t *testing.T) {
	if inspect().landlock >= 9 {
		t.Skip("Landlock judges them here")
	}
	w := newFixture(t)
	s := newBox(t, w.Home)
	c := w.deed(t, "serves", w.Work)
	if got := run(t, s, c); !got.ok() {
		t.Fatalf("%+v", got)
	}
	c.Detached = true
	if got := run(t, s, c); got.ok() || !strings.Contains(got.out, "operation not permitted") {
		t.Errorf("%+v", got)
	}
	c = w.shell("exit 0")
	c.Detached = true
	if got := run(t, s, c); !got.ok() {
		t.Errorf("%+v", got)
	}
}

// TestOwnServersWork runs what people run.
func TestOwnServersWork(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	s := newBox(t, w.Home)
	for _, script := range []string{
		`python3 -c '
import multiprocessing as mp
def f(d): d["x"] = 1
if __name__ == "__main__":
    mp.set_start_method("fork")
    with mp.Manager() as m:
        d = m.dict(); p = mp.Process(target=f, args=(d,)); p.start(); p.join(); assert d["x"] == 1
'`,
		`node -e 'const n=require("net");const s=n.createServer(c=>c.end()).listen("./node.sock",()=>n.connect("./node.sock").on("close",()=>process.exit(0)).on("error",()=>process.exit(1)))'`,
		`python3 -c 'import os, threading; os.sched_setaffinity(threading.get_native_id(), {0}); os.sched_setaffinity(os.getpid(), {0})'`,
		`node -e 'require("os").setPriority(process.pid, 5)'`,
		`sh -c 'exec prlimit --pid $$ --nofile=300'`,
	} {
		if _, err := exec.LookPath(strings.Fields(script)[0]); err != nil {
			t.Logf("SKIPPED: %s", err)
			continue
		}
		c := w.shell(script)
		c.Rules.Network = true
		if got := run(t, s, c); !got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
	for _, script := range []string{"renice -n 5 -p $$", "taskset -p 1 $$", "prlimit --pid $$ --cpu=100"} { // of the shell, which is another process
		if got := run(t, s, w.shell(script+" && true")); got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// listens has another process serve until that is ended.
func listens(name string) error {
	if os.Getenv("LISTENS") != "" {
		l, err := net.Listen("unix", name)
		for err == nil {
			var c net.Conn
			if c, err = l.Accept(); err == nil {
				c.Close()
			}
		}
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "listens", name)
	cmd.Env = append(os.Environ(), "LISTENS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// TestOrphansAreBuriedWhereTheyComeToThisProcess is for where only descendants may be looked
// into (Yama): a daemon is one then, and connects too.
func TestOrphansAreBuriedWhereTheyComeToThisProcess(t *testing.T) {
	supervised(t)
	w := newFixture(t)
	m := inspect()
	m.adopts = true
	s, err := m.sandbox(Options{Mode: Auto, Level: level(), Home: w.Home})
	must(t, err)
	defer s.Close()
	orphan := 0
	tree, err := s.Start(t.Context(), w.shell("setsid sh -c 'setsid sleep 0.3 & echo $! >orphan' & sleep 0.6"), Files{})
	must(t, err)
	defer tree.Close()
	eventually(t, "an orphan", func() bool {
		text, _ := os.ReadFile(w.Work + "/orphan")
		orphan, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		p, ok := readProcess(orphan)
		return ok && p.parent == os.Getpid()
	})
	eventually(t, "its burial", func() bool { _, ok := readProcess(orphan); return !ok })
}
