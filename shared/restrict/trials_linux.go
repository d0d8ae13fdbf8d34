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

// acts are those that r forbids. Most of them are about nothing: a file with the empty name, a socket that is
// not there. If such a call gets as far as looking, it says so.
func acts(r Rules) (all []act) {
	add := func(forbidden bool, part, name string, gives error, try func() error) {
		if forbidden {
			all = append(all, act{part, name, gives, try})
		}
	}

	// The root directory can be read by everybody and is above whatever is allowed; the devices can
	// be written by everybody; a directory that may only be read is where a write would hurt.
	for _, path := range []string{"/", "/etc/passwd", "/proc/version"} {
		add(!contains(slices.Concat(r.Read, r.Write), path), "read", "reading "+path, nil, open(path, unix.O_RDONLY))
	}
	for _, path := range []string{"/dev/null", "/dev/zero"} {
		add(!contains(r.Write, path), "write", "writing "+path, nil, open(path, unix.O_WRONLY))
	}
	for _, dir := range append([]string{os.TempDir()}, r.Read...) {
		add(!contains(r.Write, dir), "write", "creating a file in "+dir, nil, open(dir, unix.O_WRONLY|unix.O_TMPFILE))
	}

	add(!r.Exec, "run", "execve", unix.ENOENT, execNothing)
	add(!r.Exec, "run", "execveat", unix.ENOENT, execNothingAt)

	for _, family := range []struct {
		name   string
		number int
	}{{"AF_UNIX", unix.AF_UNIX}, {"AF_INET", unix.AF_INET}, {"AF_INET6", unix.AF_INET6}, {"AF_NETLINK", unix.AF_NETLINK}} {
		add(!r.Network, "network", "a socket of "+family.name, nil, func() error { return socketOf(family.number, unix.SOCK_DGRAM) })
	}
	const none = ^uintptr(0) // a socket that is not there
	add(!r.Network, "network", "bind", unix.EBADF, call(unix.SYS_BIND, none))
	add(!r.Network, "network", "listen", unix.EBADF, call(unix.SYS_LISTEN, none))
	add(!r.Network, "network", "connecting by sending", unix.EBADF, call(unix.SYS_SENDTO, none, 0, 0, unix.MSG_FASTOPEN))
	add(!r.Network && !r.Accept, "network", "accept4", unix.EBADF, call(unix.SYS_ACCEPT4, none))
	if len(r.Connect) > 0 { // nothing can listen at port 0
		try := func() error { return connect(unix.IPPROTO_IP, 0) }
		add(!r.Network, "network", "a connection to port 0", unix.ECONNREFUSED, try)
	} else {
		add(!r.Network, "network", "connect", unix.EBADF, call(unix.SYS_CONNECT, none))
	}

	add(!r.Attributes, "attributes", "chmod", unix.ENOENT, func() error { return unix.Chmod("", 0) })
	add(!r.Attributes, "attributes", "utimensat", unix.ENOENT, func() error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, "", make([]unix.Timespec, 2), 0)
	})
	add(true, "kernel", "unshare", nil, func() error { return unix.Unshare(0) })
	add(true, "kernel", "ptrace", unix.ESRCH, func() error { return unix.PtraceDetach(1 << 30) }) // ids end at 2^22
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

// emptyName is that of no program. It is a variable of the package: those stay where they are.
var emptyName byte

var (
	execNothing   = call(unix.SYS_EXECVE, uintptr(unsafe.Pointer(&emptyName)))
	execNothingAt = call(unix.SYS_EXECVEAT, ^uintptr(0), uintptr(unsafe.Pointer(&emptyName)))
)

// call makes a system call.
func call(number uintptr, args ...uintptr) func() error {
	var a [6]uintptr
	copy(a[:], args)
	return func() error {
		_, _, e := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		return asError(e)
	}
}

func asError(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// run tries every act on two threads at once. The rules must bind all threads, and the one that applied
// them says nothing of the others; a third would have to be made for the trial, and has what its maker has.
func (t *trials) run() map[string]outcome {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		all  sync.WaitGroup
		seen = map[string]outcome{}
	)
	const threads = 2
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
				o := seen[a.part]
				switch {
				case !refused(err):
					o.escaped = fmt.Sprintf("%s (%v)", a.name, err)
				case t.already[a.name]:
					o.already++
				default:
					o.refused++
				}
				seen[a.part] = o
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return seen
}
