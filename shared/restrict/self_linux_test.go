package restrict

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inChild makes the test binary restrict itself and try something, as said by
// the order in this variable: what is done to it cannot be undone.
const inChild = "RESTRICT_TEST_ORDER"

// order is what a child is to do, in a world made for it.
type order struct {
	Rules Rules
	Deed  string
	World world
}

// told is what a child saw. An empty string is success.
type told struct {
	Before string
	After  []string
	Report Report
	Error  string
}

func TestMain(m *testing.M) {
	text := os.Getenv(inChild)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(o.obey())
}

// obey does the deed, gives up rights, and does it again: on threads that were
// there before, and on new ones, all at once.
func (o order) obey() told {
	deed := deeds[o.Deed]
	out := told{Before: say(deed(o.World, 0))}
	results := make(chan string)
	now := make(chan struct{})
	var ready sync.WaitGroup
	start := func(first int) {
		ready.Add(perKind)
		for n := range perKind {
			go func() {
				runtime.LockOSThread() // so each of them has a thread of its own
				ready.Done()
				<-now
				results <- say(deed(o.World, first+n))
			}()
		}
		ready.Wait()
	}
	start(1)
	report, err := Self(o.Rules)
	start(1 + perKind)
	close(now)
	for range 2 * perKind {
		out.After = append(out.After, <-results)
	}
	out.Report, out.Error = report, say(err)
	return out
}

// perKind is how many threads of each kind, old and new, do the deed.
const perKind = 3

func say(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// world is a few directories with one set of everything for each time that a
// deed is done.
type world struct{ Readable, Writable, Other, Outside string }

func newWorld(t *testing.T) world {
	root := t.TempDir()
	w := world{root + "/readable", root + "/writable", root + "/writable/other", root + "/outside"}
	for _, dir := range []string{w.Readable, w.Writable, w.Other, w.Outside} {
		for n := range 1 + 2*perKind {
			must(t, os.MkdirAll(filepath.Join(dir, fmt.Sprint("dir", n)), 0o777))
			must(t, os.WriteFile(file(dir, n), []byte("content"), 0o666))
		}
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func file(dir string, n int) string { return filepath.Join(dir, fmt.Sprint("file", n)) }
func made(dir string, n int) string { return filepath.Join(dir, fmt.Sprint("made", n)) }

func open1(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o666)
	if err == nil {
		f.Close()
	}
	return err
}

// deeds are what children try. Each takes the number of its time, so that it
// can be done as often as there are threads.
var deeds = func() map[string]func(world, int) error {
	all := map[string]func(world, int) error{}
	for name, dir := range map[string]func(world) string{
		"readable": func(w world) string { return w.Readable },
		"writable": func(w world) string { return w.Writable },
		"outside":  func(w world) string { return w.Outside },
	} {
		for verb, do := range fileDeeds {
			all[verb+" "+name] = func(w world, n int) error { return do(dir(w), n) }
		}
	}
	for name, do := range otherDeeds {
		all[name] = do
	}
	for family := range families {
		all[fmt.Sprint("socket of family ", family)] = func(world, int) error { return anySocket(family) }
	}
	return all
}()

var fileDeeds = map[string]func(dir string, n int) error{
	"read":     func(dir string, n int) error { _, err := os.ReadFile(file(dir, n)); return err },
	"list":     func(dir string, _ int) error { _, err := os.ReadDir(dir); return err },
	"write":    func(dir string, n int) error { return open1(file(dir, n), os.O_WRONLY) },
	"append":   func(dir string, n int) error { return open1(file(dir, n), os.O_WRONLY|os.O_APPEND) },
	"empty":    func(dir string, n int) error { return open1(file(dir, n), os.O_RDONLY|os.O_TRUNC) },
	"truncate": func(dir string, n int) error { return os.Truncate(file(dir, n), 1) },
	"create":   func(dir string, n int) error { return open1(made(dir, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL) },
	"mkdir":    func(dir string, n int) error { return os.Mkdir(made(dir, n), 0o777) },
	"link":     func(dir string, n int) error { return os.Link(file(dir, n), made(dir, n)) },
	"symlink":  func(dir string, n int) error { return os.Symlink("x", made(dir, n)) },
	"rename":   func(dir string, n int) error { return os.Rename(file(dir, n), made(dir, n)) },
	"remove":   func(dir string, n int) error { return os.Remove(file(dir, n)) },
	"rmdir":    func(dir string, n int) error { return os.Remove(filepath.Join(dir, fmt.Sprint("dir", n))) },
	"mkfifo":   func(dir string, n int) error { return unix.Mkfifo(made(dir, n), 0o666) },
	"tmpfile":  tmpfile,
	"chmod":    func(dir string, n int) error { return os.Chmod(file(dir, n), 0o600) },
	"fchmod":   withFile(func(f *os.File) error { return f.Chmod(0o600) }),
	"chown":    func(dir string, n int) error { return os.Chown(file(dir, n), os.Getuid(), os.Getgid()) },
	"lchown":   func(dir string, n int) error { return os.Lchown(file(dir, n), os.Getuid(), os.Getgid()) },
	"touch":    func(dir string, n int) error { return os.Chtimes(file(dir, n), time.Time{}, time.Unix(1, 0)) },
	"read through a link": func(dir string, n int) error {
		_, err := os.ReadFile("/proc/self/root" + file(dir, n))
		return err
	},
}

// tmpfile makes a file without a name and then gives it one: how a file is
// replaced in one step.
func tmpfile(dir string, n int) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(fd, "", unix.AT_FDCWD, made(dir, n), unix.AT_EMPTY_PATH)
}

func withFile(do func(*os.File) error) func(string, int) error {
	return func(dir string, n int) error {
		f, err := os.Open(file(dir, n))
		if err != nil {
			return err
		}
		defer f.Close()
		return do(f)
	}
}

var otherDeeds = map[string]func(world, int) error{
	"move within writable":        func(w world, n int) error { return os.Rename(file(w.Writable, n), made(w.Other, n)) },
	"move out of readable":        func(w world, n int) error { return os.Rename(file(w.Readable, n), made(w.Writable, n)) },
	"move out of writable":        func(w world, n int) error { return os.Rename(file(w.Writable, n), made(w.Outside, n)) },
	"link readable into writable": func(w world, n int) error { return os.Link(file(w.Readable, n), made(w.Writable, n)) },
	"read a file of the system":   func(world, int) error { _, err := os.ReadFile("/etc/passwd"); return err },
	"list the root":               func(world, int) error { _, err := os.ReadDir("/"); return err },
	"read memory of the process":  func(world, int) error { return open1("/proc/self/mem", os.O_RDWR) },
	"write to /dev/null":          func(world, int) error { return open1("/dev/null", os.O_WRONLY) },
	"run a program":               func(world, int) error { return exec.Command("/bin/true").Run() },
	"execve":                      func(world, int) error { return tolerate(execNothing(), unix.ENOENT) },
	"execveat":                    func(world, int) error { return tolerate(execNothingAt(), unix.ENOENT) },
	"socketpair": func(world, int) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		unix.Close(fds[0])
		unix.Close(fds[1])
		return err
	},
	"listen on TCP": func(world, int) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	},
	"be traced":       func(world, int) error { return tolerate(traceNothing(), unix.ESRCH) },
	"unshare":         func(world, int) error { return unshareNothing() },
	"use io_uring":    func(world, int) error { return tolerate(ring(), unix.EINVAL, unix.EFAULT) },
	"use open files":  func(world, int) error { _, err := os.Stdout.Stat(); return err },
	"start threads":   startThreads,
	"send a signal":   func(world, int) error { return unix.Kill(os.Getpid(), unix.SIGWINCH) },
	"know local time": localTime,
}

// families is more than Linux has.
const families = 50

// anySocket makes a socket of whatever type the family has.
func anySocket(family int) (err error) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
		var fd int
		if fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0); err == nil {
			return unix.Close(fd)
		}
	}
	return err
}

func tolerate(err error, expected ...error) error {
	for _, e := range expected {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

func ring() error {
	_, _, e := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
	return asError(e)
}

func startThreads(world, int) error {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { runtime.LockOSThread(); time.Sleep(time.Millisecond) })
	}
	wg.Wait()
	return nil
}

// localTime fails if the zone that TZ names was not read in time.
func localTime(_ world, n int) error {
	if n == 0 {
		return nil // would read it
	}
	if _, offset := time.Unix(0, 0).Zone(); offset != 9*3600 {
		return fmt.Errorf("offset %d", offset)
	}
	return nil
}

// try sends a child out.
func try(t *testing.T, r Rules, deed string, w world) told {
	t.Helper()
	if deeds[deed] == nil {
		t.Fatalf("no deed %q", deed)
	}
	text, err := json.Marshal(order{r, deed, w})
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), inChild+"="+string(text), "TZ=Asia/Tokyo")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: the child ended with %v", deed, err)
	}
	var saw told
	must(t, json.Unmarshal(out, &saw))
	return saw
}

func needLinuxWithAll(t *testing.T) {
	t.Helper()
	if m := inspect(); m.landlock < 3 || !m.seccomp {
		t.Skipf("this kernel has Landlock ABI %d (3 is needed) and system-call filters: %v", m.landlock, m.seccomp)
	}
}

func TestWhatTheRulesForbidFailsOnEveryThread(t *testing.T) {
	needLinuxWithAll(t)
	for _, w := range []struct {
		what string
		keep Rules // beside the readable and the writable directory
		not  []string
	}{
		{"nothing outside can be read or changed", Rules{}, outside("read", "list", "write", "append", "empty", "truncate", "create", "mkdir", "link", "symlink", "rename", "remove", "rmdir", "mkfifo", "tmpfile", "read through a link")},
		{"nothing that may only be read can be changed", Rules{}, readable("write", "append", "empty", "truncate", "create", "mkdir", "link", "symlink", "rename", "remove", "rmdir", "mkfifo", "tmpfile")},
		{"nothing can be moved across the border", Rules{}, []string{"move out of readable", "move out of writable", "link readable into writable"}},
		{"the system cannot be read", Rules{}, []string{"read a file of the system", "list the root", "read memory of the process", "write to /dev/null"}},
		{"no attributes can be changed, wherever", Rules{}, []string{"chmod writable", "fchmod writable", "chown writable", "lchown writable", "touch writable", "chmod readable", "fchmod readable", "touch outside", "chmod outside"}},
		{"no program can be started", Rules{}, []string{"run a program", "execve", "execveat"}},
		{"no program, though all may be read", Rules{Read: []string{"/"}}, []string{"run a program", "execve"}},
		{"no socket can be made", Rules{}, []string{"socketpair", "listen on TCP"}},
		{"the kernel is left alone", Rules{Exec: true, Network: true, Attributes: true}, []string{"be traced", "unshare", "use io_uring"}},
	} {
		for _, deed := range w.not {
			world := newWorld(t)
			saw := try(t, with(w.keep, world), deed, world)
			if saw.Before != "" {
				t.Errorf("%s: %q does not work anyway, so this proves nothing: %s", w.what, deed, saw.Before)
			}
			for _, after := range saw.After {
				if !isRefusal(after) {
					t.Errorf("%s: %q gives %q", w.what, deed, after)
				}
			}
			if saw.Error != "" || !saw.Report.Holds() {
				t.Errorf("%s: %q: %s %+v", w.what, deed, saw.Error, saw.Report)
			}
		}
	}
}

func isRefusal(text string) bool {
	for _, no := range []string{"permission denied", "operation not permitted", "invalid cross-device link"} {
		if strings.HasSuffix(text, no) {
			return true
		}
	}
	return false
}

func TestWhatTheRulesKeepWorksOnEveryThread(t *testing.T) {
	needLinuxWithAll(t)
	for _, w := range []struct {
		what string
		keep Rules
		can  []string
	}{
		{"readable can be read", Rules{}, readable("read", "list")},
		{"writable can be read and changed", Rules{}, writable("read", "list", "write", "append", "empty", "truncate", "create", "mkdir", "link", "symlink", "rename", "remove", "rmdir", "mkfifo", "tmpfile")},
		{"files can be moved within writable", Rules{}, []string{"move within writable"}},
		{"the Go runtime goes on", Rules{}, []string{"use open files", "start threads", "send a signal", "know local time"}},
		{"attributes, where kept", Rules{Attributes: true}, writable("chmod", "fchmod", "chown", "lchown", "touch")},
		{"programs, where kept", Rules{Exec: true, Read: []string{"/"}, Write: []string{"/dev/null"}}, []string{"run a program"}},
		{"sockets, where kept", Rules{Network: true}, []string{"socketpair", "listen on TCP"}},
		{"everything, where kept", Rules{Read: []string{"/"}}, append(outside("read", "list"), "list the root", "read a file of the system")},
		{"a single file", Rules{Read: []string{"/etc/passwd"}, Write: []string{"/dev/null"}}, []string{"read a file of the system", "write to /dev/null"}},
	} {
		for _, deed := range w.can {
			world := newWorld(t)
			saw := try(t, with(w.keep, world), deed, world)
			for _, result := range append(saw.After, saw.Before, saw.Error) {
				if result != "" {
					t.Errorf("%s: %q gives %q", w.what, deed, result)
				}
			}
			if !saw.Report.Holds() {
				t.Errorf("%s: %q: %+v", w.what, deed, saw.Report)
			}
		}
	}
}

func with(r Rules, w world) Rules {
	r.Read = append(r.Read, w.Readable)
	r.Write = append(r.Write, w.Writable)
	return r
}

func outside(verbs ...string) []string  { return in("outside", verbs) }
func readable(verbs ...string) []string { return in("readable", verbs) }
func writable(verbs ...string) []string { return in("writable", verbs) }

func in(dir string, verbs []string) []string {
	var out []string
	for _, verb := range verbs {
		out = append(out, verb+" "+dir)
	}
	return out
}

func TestNoFamilyOfSocketsIsForgotten(t *testing.T) {
	needLinuxWithAll(t)
	for family := range families {
		deed := fmt.Sprint("socket of family ", family)
		world := newWorld(t)
		saw := try(t, with(Rules{}, world), deed, world)
		if family == unix.AF_UNIX && saw.Before != "" {
			t.Errorf("not even AF_UNIX works: %s", saw.Before)
		}
		for _, after := range saw.After {
			if after != "operation not permitted" {
				t.Errorf("%s: %q", deed, after)
			}
		}
	}
}

func TestAReportTellsWhatWasSeen(t *testing.T) {
	can := promise{name: "read", enforced: true, by: "Landlock", fix: "fix"}
	for _, w := range []struct {
		what string
		p    promise
		saw  map[string]outcome
		want Part
	}{
		{"all attempts failed", can, map[string]outcome{"read": {refused: 4}}, Part{"read", true, "Landlock forbids it: all 4 attempts were refused", ""}},
		{"one attempt worked", can, map[string]outcome{"read": {refused: 3, escaped: "reading /"}}, Part{"read", false, "Landlock should forbid it, yet reading / worked", "Do not rely on it; report this with the kernel's version"}},
		{"there was nothing to attempt", can, map[string]outcome{}, Part{"read", false, "Landlock is in force, but there was nothing to try it on", "Run the server where something exists that it may not touch"}},
		{"somebody else forbids it already", can, map[string]outcome{"read": {already: 4}}, Part{"read", true, "it was forbidden before, and still is", ""}},
		{"the kernel cannot", promise{name: "read", fix: "fix"}, map[string]outcome{}, Part{"read", false, "this kernel cannot forbid it", "fix"}},
		{"the rules allow it", promise{name: "read", permitted: "as configured"}, map[string]outcome{}, Part{"read", true, "as configured", ""}},
	} {
		if got := w.p.part(w.saw); got != w.want {
			t.Errorf("%s: %+v", w.what, got)
		}
	}
}

func TestOldKernelsPromiseLess(t *testing.T) {
	for _, w := range []struct {
		what string
		m    machine
		not  string // parts that do not hold
	}{
		{"a kernel with nothing", machine{}, "read write run network attributes kernel"},
		{"a kernel without Landlock", machine{seccomp: true}, "read write"},
		{"a processor without filters", machine{landlock: 7}, "run network attributes kernel"},
		{"truncation left to nobody", machine{landlock: 2}, "write run network attributes kernel"},
		{"truncation left to the filter", machine{landlock: 2, seccomp: true}, ""},
	} {
		var not []string
		for _, part := range w.m.report(Rules{}, nil) {
			if !part.Holds {
				not = append(not, part.Name)
			}
		}
		if got := strings.Join(not, " "); got != w.not {
			t.Errorf("%s: %q does not hold", w.what, got)
		}
	}
}
