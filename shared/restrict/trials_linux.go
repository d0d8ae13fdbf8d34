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
		all = append(all, networkActs(r)...)
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

// networkActs make sockets, and ask for what the rules do not keep with one that there is
// not. Nothing can listen at port 0.
func networkActs(r Rules) []act {
	var all []act
	add := func(name string, gives error, try func() error) { all = append(all, act{"network", name, gives, try}) }
	for _, family := range []struct {
		name   string
		number int
	}{{"AF_UNIX", unix.AF_UNIX}, {"AF_INET", unix.AF_INET}, {"AF_INET6", unix.AF_INET6}, {"AF_NETLINK", unix.AF_NETLINK}} {
		add("a socket of "+family.name, nil, func() error { return socketOf(family.number, unix.SOCK_DGRAM) })
	}
	add("bind", unix.EBADF, onNoSocket(unix.SYS_BIND, 0))
	add("listen", unix.EBADF, onNoSocket(unix.SYS_LISTEN, 0))
	add("connecting by sending", unix.EBADF, onNoSocket(unix.SYS_SENDTO, unix.MSG_FASTOPEN))
	if !r.Accept {
		add("accept4", unix.EBADF, onNoSocket(unix.SYS_ACCEPT4, 0))
	}
	if len(r.Connect) > 0 {
		add("a connection to port 0", unix.ECONNREFUSED, func() error { return connect(unix.IPPROTO_IP, 0) })
	} else {
		add("connect", unix.EBADF, onNoSocket(unix.SYS_CONNECT, 0))
	}
	return all
}

// socketOf makes a socket and closes it.
func socketOf(family, kind int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// connect asks for a connection to a port of this machine.
func connect(protocol, port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
}

// onNoSocket makes a system call on a socket that there is not: if the call gets as far as
// looking, it says EBADF.
func onNoSocket(call, flags uintptr) func() error {
	return func() error {
		_, _, e := unix.RawSyscall6(call, ^uintptr(0), 0, 0, flags, 0, 0)
		return asError(e)
	}
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
