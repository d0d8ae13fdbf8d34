package replace_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// calls are the system calls of a change that may fail. write and fsync of the
// descriptors 0 to 2 are the test's own.
var calls = map[int32]string{
	unix.SYS_OPENAT: "openat", unix.SYS_WRITE: "write", unix.SYS_FSYNC: "fsync", unix.SYS_FSTAT: "fstat",
	unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHOWN: "fchown", unix.SYS_LINKAT: "linkat", unix.SYS_RENAMEAT: "renameat",
	unix.SYS_RENAMEAT2: "renameat2", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_FLOCK: "flock", unix.SYS_MKDIRAT: "mkdirat",
	unix.SYS_FLISTXATTR: "flistxattr", unix.SYS_FGETXATTR: "fgetxattr", unix.SYS_FSETXATTR: "fsetxattr", unix.SYS_OPENAT2: "openat2",
}

// injection lets the calls of one thread through but some (seccomp_unotify(2)).
type injection struct {
	first int // number of the first call that fails, from 0
	times int // how many fail
	errno unix.Errno
	seen  []string // the calls so far
	fired []string // those that failed
}

type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// failing runs do on a thread of its own, which ends with it and on which the
// injection's calls fail.
func failing(t *testing.T, in *injection, do func()) {
	t.Helper()
	// Some calls of confine are ones that Go's scheduler is not told of. While such a one
	// waits for an answer from here, a collection would wait for it, and all else for that.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // one that was about to begin has ended then
	listener := make(chan int, 1)
	var work, watch sync.WaitGroup
	work.Go(func() {
		runtime.LockOSThread() // and never unlocked: the filter stays with the thread
		fd, err := filtered()
		if err != nil {
			t.Logf("seccomp: %v", err)
			listener <- -1
			return
		}
		listener <- fd
		do()
	})
	fd := <-listener
	if fd < 0 {
		work.Wait()
		t.Skip("SKIPPED: faults cannot be injected here (seccomp_unotify)")
	}
	ended, end, err := os.Pipe()
	must(t, err)
	watch.Go(func() { in.serve(t, fd, int(ended.Fd())) })
	work.Wait()
	must(t, end.Close())
	watch.Wait()
	must(t, errors.Join(ended.Close(), unix.Close(fd)))
}

// filtered restricts the calling thread and tells the descriptor that its calls show at.
func filtered() (int, error) {
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	prog := []unix.SockFilter{{Code: load, K: 0}} // the call's number
	for nr := range calls {
		prog = append(prog, unix.SockFilter{Code: equal, Jf: 1, K: uint32(nr)}, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	prog = append(prog, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (in *injection) serve(t *testing.T, listener, ended int) {
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(ended), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err == unix.EINTR {
			continue
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			return // do has ended
		}
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		if errno == unix.EINTR || errno == unix.ENOENT {
			continue
		}
		if errno != 0 {
			t.Errorf("listening: %v", errno)
			return
		}
		a := in.answer(&n)
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
		if errno != 0 && errno != unix.ENOENT {
			t.Errorf("answering: %v", errno)
			return
		}
	}
}

func (in *injection) answer(n *notification) answer {
	own := (n.nr == unix.SYS_WRITE || n.nr == unix.SYS_FSYNC) && n.args[0] <= 2
	if k := len(in.seen); !own {
		in.seen = append(in.seen, calls[n.nr])
		if k >= in.first && k < in.first+in.times {
			in.fired = append(in.fired, calls[n.nr])
			return answer{id: n.id, errno: -int32(in.errno)}
		}
	}
	return answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
}

// changes is every kind of change, in a fixture with f in it or without.
var changes = []struct {
	name string
	old  string // "" for no file before
	do   act
}{
	{"create", "", creating("new")},
	{"create from", "", streaming("new")},
	{"replace", "old", replacing("new", replace.Options{})},
	{"with a hash", "old", replacing("new", expecting("old"))},
	{"update", "old", updating("new")},
}

// outcome is what an injected fault led to.
type outcome struct {
	err   error
	res   replace.Result
	holds string // "" where there is no file
	left  string
}

// injected makes one change with a fault in a fixture of its own.
func injected(t *testing.T, w *replace.Writer, old string, do act, in *injection) outcome {
	t.Helper()
	var tree []string
	if old != "" {
		tree = []string{"allow/f: " + old}
	}
	base, p := only(t, "f", tree...)
	var out outcome
	failing(t, in, func() { out.res, out.err = do(w, p) })
	if out.left = names(t, base+"/allow"); out.left != "" {
		out.holds = content(base + "/allow/f")
	}
	return out
}

// Every system call of every kind of change fails once with every error: the file is
// the old or the new one, whole, the call says which, and nothing is left over.
func TestAFaultAtAnyStepLeavesTheOldFileOrTheNewOne(t *testing.T) {
	codes := map[unix.Errno]fault.Code{
		unix.EIO: fault.Unavailable, unix.ENOSPC: fault.DiskFull, unix.EDQUOT: fault.DiskFull,
		unix.EROFS: fault.PermissionDenied, unix.EACCES: fault.PermissionDenied,
	}
	for errno, code := range codes {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			told := 0
			for _, c := range changes {
				for step := 0; ; step++ {
					in := &injection{first: step, times: 1, errno: errno}
					out := injected(t, w.Alike(), c.old, c.do, in)
					if len(in.fired) == 0 {
						break
					}
					where := fmt.Sprintf("%s: %v at %s, call %d", c.name, errno, in.fired[0], step)
					if out.err != nil {
						told++
					}
					checkOutcome(t, where, c.old, out, in, code)
				}
			}
			if t.Logf("%v: %d faults were told", errno, told); told < len(changes)*4 {
				t.Error("hardly any fault was told: they did not happen")
			}
		})
	}
}

func checkOutcome(t *testing.T, where, old string, out outcome, in *injection, code fault.Code) {
	t.Helper()
	want := old
	if out.err == nil || detail(out.err, "changed") == true {
		want = "new"
	}
	if out.holds != want {
		t.Errorf("%s: %v; the file holds %q, want %q", where, out.err, out.holds, want)
	}
	attributes := in.fired[0] == "flistxattr" || in.fired[0] == "fgetxattr" || in.fired[0] == "fsetxattr"
	if out.err != nil && !errors.Is(out.err, code) && !(attributes && errors.Is(out.err, fault.PermissionDenied)) {
		t.Errorf("%s: %v, want %s", where, out.err, code)
	}
	name := ""
	if want != "" {
		name = "f"
	}
	if out.left != name && in.fired[0] != "unlinkat" { // a draft that cannot be removed stays, for Sweep
		t.Errorf("%s: %v; left are %q", where, out.err, out.left)
	}
}

// A call that a signal interrupts is made again, wherever that happens.
func TestAnInterruptedSystemCallIsMadeAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		interrupted := map[string]int{}
		for _, c := range changes {
			for step := 0; ; step++ {
				in := &injection{first: step, times: 3, errno: unix.EINTR}
				out := injected(t, w.Alike(), c.old, c.do, in)
				if len(in.fired) == 0 {
					break
				}
				interrupted[in.fired[0]]++
				if out.err != nil || out.holds != "new" || out.left != "f" || out.res.SHA256 != hash("new") {
					t.Errorf("%s: EINTR at %q: %v, the file holds %q, left are %q", c.name, in.fired, out.err, out.holds, out.left)
				}
			}
		}
		if t.Logf("interrupted: %v", interrupted); interrupted["write"] == 0 || interrupted["fsync"] == 0 || interrupted["openat"] == 0 {
			t.Error("not every kind of call was interrupted")
		}
	})
}

// Making directories, where the first call that makes one fails, or a later one.
func TestAFaultAtAnyStepLeavesNoDirectoryBehind(t *testing.T) {
	for errno, code := range map[unix.Errno]fault.Code{
		unix.EIO: fault.Unavailable, unix.ENOSPC: fault.DiskFull, unix.EDQUOT: fault.DiskFull, unix.EROFS: fault.PermissionDenied, unix.EACCES: fault.PermissionDenied, unix.EINTR: "",
	} {
		failed := 0
		for step := 0; ; step++ {
			base, p := only(t, "a/b/c")
			in := &injection{first: step, times: 1, errno: errno}
			var made []confine.Path
			var err error
			failing(t, in, func() {
				var w replace.Writer
				made, err = w.MakeDirs(background, p)
			})
			if len(in.fired) == 0 {
				break
			}
			left := names(t, base+"/allow")
			switch {
			case err == nil && (lies(made) != "a a/b a/b/c" || left != "a"):
				t.Errorf("%v at %s: made %q, left are %q", errno, in.fired[0], lies(made), left)
			case err != nil && (!errors.Is(err, code) || left != "" || made != nil):
				t.Errorf("%v at %s: %v, left are %q", errno, in.fired[0], err, left)
			}
			if err != nil {
				failed++
			}
		}
		if code != "" && failed < 6 {
			t.Errorf("%v: %d calls failed, want one per mkdirat and fsync at least", errno, failed)
		}
	}
}

// Where a file without a name cannot be given one, what was read of a stream is not lost.
func TestAStreamIsWrittenOnceMoreWhereItsDraftCannotBeNamed(t *testing.T) {
	named := 0
	for step := 0; ; step++ {
		in := &injection{first: step, times: 2, errno: unix.ENOENT} // by descriptor and by /proc
		out := injected(t, &replace.Writer{}, "", streaming("new"), in)
		if len(in.fired) == 0 {
			break
		}
		if in.fired[0] != "linkat" || len(in.fired) < 2 || in.fired[1] != "linkat" {
			continue
		}
		if named++; out.err != nil || out.holds != "new" || out.left != "f" || out.res.SHA256 != hash("new") {
			t.Errorf("%v, the file holds %q, left are %q", out.err, out.holds, out.left)
		}
	}
	if named == 0 {
		t.Skip("SKIPPED: this file system has no unnamed files")
	}
}

// Wherever a move fails, the file is under one of its two names, whole: what is only under
// the name of a draft would be swept.
func TestAFaultAtAnyStepOfAMoveLosesNothing(t *testing.T) {
	for _, far := range []bool{false, true} {
		unlinks := 0
		for step := 0; ; step++ {
			base, there, r := twoFileSystems(t, "allow/f: new", "allow/d/")
			var w replace.Writer
			if !far {
				there = base + "/allow/d"
				w.Without(false, true, false) // else the file is never under two names
			}
			from, to := path(t, r, base+"/allow/f"), path(t, r, there+"/g")
			in := &injection{first: step, times: 1, errno: unix.EIO}
			var err error
			failing(t, in, func() { _, err = w.Move(background, from, to, replace.MoveOptions{}) })
			if len(in.fired) == 0 {
				break
			}
			if in.fired[0] == "unlinkat" {
				unlinks++
			}
			if content(base+"/allow/f") != "new" && content(there+"/g") != "new" {
				t.Errorf("far %t: EIO at %s, call %d: %v; left are %q and %q", far, in.fired[0], step, err, names(t, base+"/allow"), names(t, there))
			}
		}
		if unlinks == 0 {
			t.Errorf("far %t: no unlinkat failed", far)
		}
	}
}
