package restrict

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// act is something the rules forbid. Trying it changes nothing, whether it is
// refused or not.
type act struct {
	part  string
	name  string
	gives error // what it gives while it is not forbidden
	try   func() error
}

// trials are the acts that are sure to tell something: before the rules were
// applied each of them worked, or was forbidden already.
type trials struct {
	acts    []act
	already map[string]bool // names of those that were forbidden already
}

// outcome is what became of the acts of one part.
type outcome struct {
	refused int    // attempts, over all threads, at what worked before
	already int    // attempts at what had been forbidden before
	escaped string // an act that was not refused; "" if there was none
}

// threads is on how many threads every act is tried. The rules must bind them
// all, and the one that applied them says nothing of the others; more than one other
// would have to be made for the trial, and has what its maker has.
const threads = 2

func newTrials(r Rules) *trials {
	t := &trials{already: map[string]bool{}}
	for _, a := range acts(r) {
		err := a.try()
		t.already[a.name] = refused(err)
		if err == a.gives || refused(err) {
			t.acts = append(t.acts, a)
		}
	}
	return t
}

// refused tells the kernel's no from every other error.
func refused(err error) bool {
	return err == unix.EACCES || err == unix.EPERM
}

func acts(r Rules) []act {
	all := fileActs(r)
	if !r.Exec {
		all = append(all, act{"run", "execve", unix.ENOENT, execNothing}, act{"run", "execveat", unix.ENOENT, execNothingAt})
	}
	if !r.Network {
		all = append(all, socketActs()...)
	}
	if !r.Network && !r.Accept {
		all = append(all, act{"network", "accept4", unix.EBADF, acceptNothing})
	}
	if !r.Network && len(r.Connect) == 0 {
		all = append(all, act{"network", "connect", unix.EBADF, connectNothing})
	}
	if !r.Network && len(r.Connect) > 0 {
		all = append(all, act{"network", "a connection to port 0", unix.ECONNREFUSED, connectNowhere})
	}
	if !r.Attributes {
		all = append(all, act{"attributes", "chmod", unix.ENOENT, chmodNothing}, act{"attributes", "utimensat", unix.ENOENT, touchNothing})
	}
	return append(all, act{"kernel", "unshare", nil, unshareNothing}, act{"kernel", "ptrace", unix.ESRCH, traceNothing})
}

// fileActs open what lies outside of the rules. The root directory can be read
// by everybody and is above whatever is allowed; the devices can be written by
// everybody; a directory that may only be read is where a write would hurt.
func fileActs(r Rules) []act {
	var all []act
	for _, path := range []string{"/", "/etc/passwd", "/proc/version"} {
		if !contains(slices.Concat(r.Read, r.Write), path) {
			all = append(all, act{"read", "reading " + path, nil, open(path, unix.O_RDONLY)})
		}
	}
	for _, path := range []string{"/dev/null", "/dev/zero"} {
		if !contains(r.Write, path) {
			all = append(all, act{"write", "writing " + path, nil, open(path, unix.O_WRONLY)})
		}
	}
	for _, dir := range append([]string{os.TempDir()}, r.Read...) {
		if !contains(r.Write, dir) {
			all = append(all, act{"write", "creating a file in " + dir, nil, open(dir, unix.O_WRONLY|unix.O_TMPFILE)})
		}
	}
	return all
}

// open opens and closes. With O_TMPFILE the file has no name and vanishes.
func open(path string, flags int) func() error {
	return func() error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func socketActs() []act {
	var all []act
	for _, family := range []struct {
		name   string
		number int
	}{{"AF_UNIX", unix.AF_UNIX}, {"AF_INET", unix.AF_INET}, {"AF_INET6", unix.AF_INET6}, {"AF_NETLINK", unix.AF_NETLINK}} {
		all = append(all, act{"network", "a socket of " + family.name, nil, func() error {
			fd, err := unix.Socket(family.number, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}})
	}
	return append(all, act{"network", "bind", unix.EBADF, bindNothing},
		act{"network", "listen", unix.EBADF, listenNothing}, act{"network", "connecting by sending", unix.EBADF, fastOpenNothing})
}

// connectNowhere asks for a connection to the port that nothing can listen at.
func connectNowhere() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

// execNothing asks to become the program with the empty name, of which there is
// none: if the call gets as far as looking, it says ENOENT.
func execNothing() error {
	var end byte
	_, _, e := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(&end)), 0, 0)
	return asError(e)
}

func execNothingAt() error {
	var end byte
	_, _, e := unix.RawSyscall6(unix.SYS_EXECVEAT, ^uintptr(0), uintptr(unsafe.Pointer(&end)), 0, 0, 0, 0)
	return asError(e)
}

func chmodNothing() error   { return unix.Chmod("", 0) }
func touchNothing() error   { return unix.UtimesNanoAt(unix.AT_FDCWD, "", make([]unix.Timespec, 2), 0) }
func unshareNothing() error { return unix.Unshare(0) }

// traceNothing detaches from a process that cannot be: ids end at 2^22.
func traceNothing() error { return unix.PtraceDetach(1 << 30) }

// These ask for something with a socket that there is not: if the call gets as far as
// looking, it says EBADF.
func acceptNothing() error  { return onNoSocket(unix.SYS_ACCEPT4, 0) }
func connectNothing() error { return onNoSocket(unix.SYS_CONNECT, 0) }
func bindNothing() error    { return onNoSocket(unix.SYS_BIND, 0) }
func listenNothing() error  { return onNoSocket(unix.SYS_LISTEN, 0) }
func fastOpenNothing() error {
	return onNoSocket(unix.SYS_SENDTO, unix.MSG_FASTOPEN)
}

func onNoSocket(call uintptr, flags uintptr) error {
	_, _, e := unix.RawSyscall6(call, ^uintptr(0), 0, 0, flags, 0, 0)
	return asError(e)
}

func asError(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// run tries every act on several threads at once.
func (t *trials) run() map[string]outcome {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		all  sync.WaitGroup
		seen = map[string]outcome{}
	)
	all.Add(threads)
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // now each of them has a thread of its own
			for _, a := range t.acts {
				err := a.try()
				mu.Lock()
				seen[a.part] = seen[a.part].and(a.name, t.already[a.name], err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return seen
}

func (o outcome) and(name string, already bool, err error) outcome {
	switch {
	case !refused(err):
		o.escaped = fmt.Sprintf("%s (%v)", name, err)
	case already:
		o.already++
	default:
		o.refused++
	}
	return o
}
