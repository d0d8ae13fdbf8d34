package restrict

import (
	"context"
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

// order is what a child is to do, each deed in a fixture of its own.
type order struct {
	Rules  Rules
	Deeds  []string
	Worlds []fixture
}

// told is what a child saw. An empty string is success.
type told struct {
	Before []string   // by deed
	After  [][]string // by deed, on every thread
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

// perKind is how many threads of each kind, old and new, do the deeds.
const perKind = 3

// obey does the deeds, gives up rights, and does them again: on threads that
// were there before and on new ones, all at once.
func (o order) obey() told {
	out := told{Before: o.do(0)}
	var after [2 * perKind][]string
	var ready, done sync.WaitGroup
	now := make(chan struct{})
	start := func(first int) {
		for n := range perKind {
			ready.Add(1)
			done.Go(func() {
				runtime.LockOSThread() // so each of them has a thread of its own
				ready.Done()
				<-now
				after[first+n] = o.do(1 + first + n)
			})
		}
		ready.Wait()
	}
	start(0)
	report, err := Self(o.Rules)
	start(perKind)
	close(now)
	done.Wait()
	for d := range o.Deeds {
		var results []string
		for _, thread := range after {
			results = append(results, thread[d])
		}
		out.After = append(out.After, results)
	}
	out.Report, out.Error = report, say(err)
	return out
}

// do does every deed for the n-th time.
func (o order) do(n int) []string {
	var out []string
	for i, deed := range o.Deeds {
		out = append(out, say(deeds[deed](o.Worlds[i], n)))
	}
	return out
}

func say(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// fixture is a few directories with one set of everything for each time that a
// deed is done.
type fixture struct{ Readable, Writable, Other, Outside string }

// newFixture is the n-th fixture under root: all that is readable stands under
// one directory, and so on.
func newFixture(t *testing.T, root string, n int) fixture {
	in := func(dir string) string { return filepath.Join(root, dir, fmt.Sprint(n)) }
	w := fixture{in("readable"), in("writable"), in("writable") + "/other", in("outside")}
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
var deeds = func() map[string]func(fixture, int) error {
	all := map[string]func(fixture, int) error{}
	for name, dir := range map[string]func(fixture) string{
		"readable": func(w fixture) string { return w.Readable },
		"writable": func(w fixture) string { return w.Writable },
		"outside":  func(w fixture) string { return w.Outside },
	} {
		for verb, do := range fileDeeds {
			all[verb+" "+name] = func(w fixture, n int) error { return do(dir(w), n) }
		}
	}
	for name, do := range otherDeeds {
		all[name] = do
	}
	for name, do := range hallDeeds {
		all[name] = inHall(do)
	}
	for family := range families {
		all[fmt.Sprint("socket of family ", family)] = func(fixture, int) error { return anySocket(family) }
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

var otherDeeds = map[string]func(fixture, int) error{
	"move within writable":        func(w fixture, n int) error { return os.Rename(file(w.Writable, n), made(w.Other, n)) },
	"move out of readable":        func(w fixture, n int) error { return os.Rename(file(w.Readable, n), made(w.Writable, n)) },
	"move out of writable":        func(w fixture, n int) error { return os.Rename(file(w.Writable, n), made(w.Outside, n)) },
	"link readable into writable": func(w fixture, n int) error { return os.Link(file(w.Readable, n), made(w.Writable, n)) },
	"read a file of the system":   func(fixture, int) error { _, err := os.ReadFile("/etc/passwd"); return err },
	"list the root":               func(fixture, int) error { _, err := os.ReadDir("/"); return err },
	"read memory of the process":  func(fixture, int) error { return open1("/proc/self/mem", os.O_RDWR) },
	"write to /dev/null":          func(fixture, int) error { return open1("/dev/null", os.O_WRONLY) },
	"run a program":               func(fixture, int) error { return exec.Command("/bin/true").Run() },
	"execve":                      func(fixture, int) error { return tolerate(execNothing(), unix.ENOENT) },
	"execveat":                    func(fixture, int) error { return tolerate(execNothingAt(), unix.ENOENT) },
	"socketpair": func(fixture, int) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			unix.Close(fds[0])
			unix.Close(fds[1])
		}
		return err
	},
	"listen on TCP": func(fixture, int) error {
		var c net.ListenConfig
		c.SetMultipathTCP(false) // which Landlock does not know
		l, err := c.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	},
	"connect to a port":       func(fixture, int) error { return reach(unix.IPPROTO_TCP, discard) },
	"connect to another port": func(fixture, int) error { return reach(unix.IPPROTO_TCP, tcpmux) },
	"connect by MPTCP":        func(fixture, int) error { return reach(unix.IPPROTO_MPTCP, discard) },
	"connect by sending":      func(fixture, int) error { return connectBySending(tcpmux) },
	"make a datagram socket":  func(fixture, int) error { return socketOf(unix.AF_INET, unix.SOCK_DGRAM) },
	"make a local socket":     func(fixture, int) error { return socketOf(unix.AF_UNIX, unix.SOCK_STREAM) },
	"be traced":               func(fixture, int) error { return tolerate(unix.PtraceDetach(1<<30), unix.ESRCH) },
	"unshare":                 func(fixture, int) error { return unix.Unshare(0) },
	"use io_uring":            func(fixture, int) error { return tolerate(ring(), unix.EINVAL, unix.EFAULT) },
	"use open files":          func(fixture, int) error { _, err := os.Stdout.Stat(); return err },
	"start threads":           startThreads,
	"send a signal":           func(fixture, int) error { return unix.Kill(os.Getpid(), unix.SIGWINCH) },
	"know local time":         localTime,
}

// families is more than Linux has.
const families = 50

// anySocket makes a socket of whatever type the family has.
func anySocket(family int) (err error) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
		if err = socketOf(family, kind); err == nil {
			return nil
		}
	}
	return err
}

// Two ports that nothing listens at.
const (
	tcpmux  = 1
	discard = 9
)

// reach gets as far as the machine's own refusal.
func reach(protocol, port int) error { return tolerate(connect(protocol, port), unix.ECONNREFUSED) }

// connectBySending is TCP Fast Open.
func connectBySending(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return tolerate(unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}), unix.ECONNREFUSED)
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

func startThreads(fixture, int) error {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { runtime.LockOSThread(); time.Sleep(time.Millisecond) })
	}
	wg.Wait()
	return nil
}

// localTime fails if the zone that TZ names was not read in time.
func localTime(_ fixture, n int) error {
	if n == 0 {
		return nil // would read it
	}
	if _, offset := time.Unix(0, 0).Zone(); offset != 9*3600 {
		return fmt.Errorf("offset %d", offset)
	}
	return nil
}

// try sends a child out with rules that also keep the readable and the writable
// directories of its fixtures.
func try(t *testing.T, r Rules, names []string) told {
	t.Helper()
	root := t.TempDir()
	o := order{Rules: r, Deeds: names}
	for n, name := range names {
		if deeds[name] == nil {
			t.Fatalf("no deed %q", name)
		}
		o.Worlds = append(o.Worlds, newFixture(t, root, n))
	}
	o.Rules.Read = append(o.Rules.Read, root+"/readable")
	o.Rules.Write = append(o.Rules.Write, root+"/writable")
	text, err := json.Marshal(o)
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), inChild+"="+string(text), "TZ=Asia/Tokyo", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: the child ended with %v", names, err)
	}
	var saw told
	must(t, json.Unmarshal(out, &saw))
	if saw.Error != "" || !saw.Report.Holds() {
		t.Errorf("%v: %s %+v", names, saw.Error, saw.Report)
	}
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
		what  string
		keep  Rules // beside the readable and the writable directory
		not   []string
		maybe bool // a container or the system's settings may forbid it already
	}{
		{"nothing outside can be read or changed", Rules{}, outside("read", "list", "write", "append", "empty", "truncate", "create", "mkdir", "link", "symlink", "rename", "remove", "rmdir", "mkfifo", "tmpfile", "read through a link"), false},
		{"nothing that may only be read can be changed", Rules{}, readable("write", "append", "empty", "truncate", "create", "mkdir", "link", "symlink", "rename", "remove", "rmdir", "mkfifo", "tmpfile"), false},
		{"nothing can be moved across the border", Rules{}, []string{"move out of readable", "move out of writable", "link readable into writable"}, false},
		{"the system cannot be read", Rules{}, []string{"read a file of the system", "list the root", "read memory of the process", "write to /dev/null"}, false},
		{"no attributes can be changed, wherever", Rules{}, []string{"chmod writable", "fchmod writable", "chown writable", "lchown writable", "touch writable", "chmod readable", "fchmod readable", "touch outside", "chmod outside"}, false},
		{"no program can be started", Rules{}, []string{"run a program", "execve", "execveat"}, false},
		{"no program, though all may be read", Rules{Read: []string{"/"}}, []string{"run a program", "execve"}, false},
		{"no socket can be made", Rules{}, []string{"socketpair", "listen on TCP"}, false},
		{"only the ports that are kept can be connected to, and by plain TCP", Rules{Connect: []uint16{discard}},
			[]string{"connect to another port", "connect by MPTCP", "connect by sending", "make a datagram socket", "make a local socket", "listen on TCP", "socketpair"}, true},
		{"nothing can be accepted", Rules{}, []string{"accept what waits"}, false},
		{"what accepts connections makes none", Rules{Accept: true}, []string{"connect anew what was accepted", "connect by sending what listened", "listen anew", "listen on TCP"}, false},
		{"the kernel is left alone", Rules{Exec: true, Network: true, Attributes: true}, []string{"be traced", "unshare", "use io_uring"}, true},
	} {
		saw := try(t, w.keep, w.not)
		for i, deed := range w.not {
			if w.maybe && isRefusal(saw.Before[i]) {
				t.Logf("%q is forbidden here anyway", deed)
			} else if saw.Before[i] != "" {
				t.Errorf("%s: %q does not work anyway, so this proves nothing: %s", w.what, deed, saw.Before[i])
			}
			for _, after := range saw.After[i] {
				if !isRefusal(after) {
					t.Errorf("%s: %q gives %q", w.what, deed, after)
				}
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
		{"connections, where kept", Rules{Accept: true}, []string{"accept what waits"}},
		{"a port, where kept", Rules{Connect: []uint16{discard}}, []string{"connect to a port"}},
		{"everything, where kept", Rules{Read: []string{"/"}}, append(outside("read", "list"), "list the root", "read a file of the system")},
		{"a single file", Rules{Read: []string{"/etc/passwd"}, Write: []string{"/dev/null"}}, []string{"read a file of the system", "write to /dev/null"}},
	} {
		saw := try(t, w.keep, w.can)
		for i, deed := range w.can {
			for _, result := range append(saw.After[i], saw.Before[i]) {
				if result != "" {
					t.Errorf("%s: %q gives %q", w.what, deed, result)
				}
			}
		}
	}
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
	var names []string
	for family := range families {
		names = append(names, fmt.Sprint("socket of family ", family))
	}
	saw := try(t, Rules{}, names)
	if saw.Before[unix.AF_UNIX] != "" || saw.Before[unix.AF_INET] != "" {
		t.Errorf("not even these work without the rules: %v", saw.Before)
	}
	for i, name := range names {
		for _, after := range saw.After[i] {
			if after != "operation not permitted" {
				t.Errorf("%s: %q", name, after)
			}
		}
	}
}

func TestAnAttemptThatWorksIsSeen(t *testing.T) {
	needLinuxWithAll(t)
	r := Rules{Read: []string{t.TempDir()}}
	saw := newTrials(r).run() // and nothing is restricted
	for _, p := range inspect().promises(r) {
		part := p.part(saw)
		if part.Holds || saw[p.name].escaped == "" || saw[p.name].refused > 0 {
			t.Errorf("%+v from %+v", part, saw[p.name])
		}
	}
	if len(saw) != len(Probe()) {
		t.Errorf("%d parts were tried", len(saw))
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
		{"a part of it is left", promise{name: "network", enforced: true, by: "Landlock", except: "port 9"}, map[string]outcome{"network": {refused: 4}}, Part{"network", true, "Landlock forbids all but port 9: all 4 attempts were refused", ""}},
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
		keep Rules
		not  string // parts that do not hold
	}{
		{"a kernel with nothing", machine{}, Rules{}, "read write run network attributes kernel"},
		{"a kernel without Landlock", machine{seccomp: true}, Rules{}, "read write"},
		{"a processor without filters", machine{landlock: 7}, Rules{}, "run network attributes kernel"},
		{"truncation left to nobody", machine{landlock: 2}, Rules{}, "write run network attributes kernel"},
		{"truncation left to the filter", machine{landlock: 2, seccomp: true}, Rules{}, ""},
		{"a kernel that knows no ports", machine{landlock: 3, seccomp: true}, Rules{Connect: []uint16{discard}}, "network"},
		{"a kernel that knows ports", machine{landlock: 4, seccomp: true}, Rules{Connect: []uint16{discard}}, ""},
	} {
		var not []string
		for _, part := range w.m.report(w.keep, nil) {
			if !part.Holds {
				not = append(not, part.Name)
			}
		}
		if got := strings.Join(not, " "); got != w.not {
			t.Errorf("%s: %q does not hold", w.what, got)
		}
	}
}
