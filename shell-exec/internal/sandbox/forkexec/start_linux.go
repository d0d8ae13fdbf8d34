//go:build linux && (amd64 || arm64)

package forkexec

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Available reports whether this processor is one that Start knows.
const Available = true

// The runtime keeps these for packages that fork: signals are blocked meanwhile,
// and the child gets the handlers back that a program begins with.
//
//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

//go:noescape
func vfork(trap, flags uintptr) (pid, errno uintptr)

// child is all that the child needs, made beforehand: it may not allocate. It
// lives on the heap, for the child must not touch a stack that the parent uses.
type child struct {
	path       *byte
	argv, envv []*byte
	dir        *byte
	namespaces []namespace
	keep       uint64 // capabilities
	header     unix.CapUserHeader
	data       [2]unix.CapUserData
	files      []int // none of them is in the way of another
	death      uintptr
	terminal   bool
	limits     []Limit
	ruleset    int // -1 for none
	filter     *unix.SockFprog
	listening  uintptr // SECCOMP_FILTER_FLAG_NEW_LISTENER, or 0
	patient    uintptr // waitKillable, or 0
	socket     int
	message    message

	// What it says in return.
	pid   uintptr // of the child in namespaces, whom the first child has started
	stage stage
	errno syscall.Errno
}

// message brings one descriptor (SCM_RIGHTS).
type message struct {
	head    unix.Msghdr
	part    unix.Iovec
	byte    byte
	control struct {
		head unix.Cmsghdr
		fd   int32
		_    int32
	}
}

type namespace struct{ fd, kind uintptr }

const waitKillable = 1 << 5 // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

type stage uintptr

const (
	forking stage = iota
	entering
	again
	session
	capabilities
	death
	files
	terminal
	limits
	directory
	landlock
	filter
	listener
	exec
)

// calls are the system calls that fail at a stage.
var calls = [...]string{
	forking: "clone", entering: "setns", again: "clone", session: "setsid", capabilities: "capset", death: "prctl", files: "dup3",
	terminal: "ioctl", limits: "prlimit", directory: "chdir", landlock: "landlock_restrict_self", filter: "seccomp",
	listener: "sendmsg", exec: "exec",
}

// Start starts the program on the calling thread. An *os.PathError says in Op what the child
// could not do; "exec" and "chdir" are about the path in it.
func Start(path string, args []string, a *Attr) (*os.Process, error) {
	c, moved, err := a.child(path, args)
	defer func() {
		for _, fd := range moved {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return nil, err
	}
	syscall.ForkLock.Lock()
	pid, errno := c.fork()
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(a)
	if errno != 0 {
		return nil, os.NewSyscallError("clone", syscall.Errno(errno))
	}
	if len(c.namespaces) > 0 {
		bury(pid) // the one that only entered the namespaces
		pid = c.pid
	}
	if c.errno != 0 {
		bury(pid)
		about := path
		if c.stage == directory {
			about = a.Dir
		}
		return nil, &os.PathError{Op: calls[c.stage], Path: about, Err: c.errno}
	}
	return os.FindProcess(int(pid))
}

// bury waits for a child that has exited, or is about to.
func bury(pid uintptr) {
	for pid != 0 {
		if _, err := syscall.Wait4(int(pid), nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}

// child makes everything beforehand. moved are duplicates to be closed.
func (a *Attr) child(path string, args []string) (c *child, moved []int, err error) {
	c = &child{keep: a.Capabilities, death: uintptr(a.Pdeathsig), terminal: a.Terminal, limits: a.Limits, ruleset: -1}
	c.header.Version = unix.LINUX_CAPABILITY_VERSION_3
	if c.path, err = syscall.BytePtrFromString(path); err != nil {
		return nil, nil, err
	}
	if c.argv, err = syscall.SlicePtrFromStrings(args); err != nil {
		return nil, nil, err
	}
	if c.envv, err = syscall.SlicePtrFromStrings(a.Env); err != nil {
		return nil, nil, err
	}
	if c.dir, err = syscall.BytePtrFromString(a.Dir); err != nil {
		return nil, nil, err
	}
	// above moves a descriptor out of the way of those that the child makes.
	above := func(fd int) int {
		if fd >= len(a.Files) || err != nil {
			return fd
		}
		if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, len(a.Files)); err == nil {
			moved = append(moved, fd)
		}
		return fd
	}
	for _, n := range a.Namespaces {
		c.namespaces = append(c.namespaces, namespace{n.File.Fd(), uintptr(n.Kind)})
	}
	for _, f := range a.Files {
		c.files = append(c.files, above(int(f.Fd())))
	}
	if a.Ruleset != nil {
		c.ruleset = above(int(a.Ruleset.Fd()))
	}
	if len(a.Filter) > 0 {
		c.filter = &unix.SockFprog{Len: uint16(len(a.Filter)), Filter: &a.Filter[0]}
	}
	if a.Listener != nil {
		c.listening, c.socket = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, above(int(a.Listener.Fd()))
		m := &c.message
		m.part.Base = &m.byte
		m.part.SetLen(1)
		m.head.Iov = &m.part
		m.head.SetIovlen(1)
		m.control.head.Level, m.control.head.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
		m.control.head.SetLen(unix.CmsgLen(4))
		m.head.Control = (*byte)(unsafe.Pointer(&m.control))
		m.head.SetControllen(unix.CmsgSpace(4))
		if a.Patient {
			c.patient = waitKillable
		}
	}
	return c, moved, err
}

// fork follows syscall.forkAndExecInChild1: the child works in this frame until it
// execs, and only then the parent returns from it, at once. Nothing allocates
// after runtimeBeforeFork, and only what does not split the stack is called.
//
//go:noinline
//go:norace
//go:nocheckptr
func (c *child) fork() (pid, errno uintptr) {
	var (
		e      syscall.Errno
		i      int
		parent = uintptr(syscall.Getpid())
		r, n   uintptr
	)
	runtimeBeforeFork()
	pid, errno = vfork(syscall.SYS_CLONE, syscall.CLONE_VFORK|syscall.CLONE_VM|uintptr(syscall.SIGCHLD))
	if errno != 0 || pid != 0 {
		runtimeAfterFork()
		return pid, errno
	}

	runtimeAfterForkInChild()
	if len(c.namespaces) > 0 {
		c.stage = entering
		for i = 0; i < len(c.namespaces); i++ {
			if _, _, e = syscall.RawSyscall(unix.SYS_SETNS, c.namespaces[i].fd, c.namespaces[i].kind, 0); e != 0 {
				goto failed
			}
		}
		// Only a child of this one is in the PID namespace. Its parent is this one's.
		c.stage = again
		r, n = vfork(syscall.SYS_CLONE, syscall.CLONE_VFORK|syscall.CLONE_VM|syscall.CLONE_PARENT|uintptr(syscall.SIGCHLD))
		if n != 0 {
			e = syscall.Errno(n)
			goto failed
		}
		if r != 0 {
			c.pid = r
			for {
				_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
			}
		}
	}
	c.stage = session
	if _, _, e = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); e != 0 {
		goto failed
	}
	c.stage = capabilities
	for n = 0; n < 64; n++ {
		if c.keep&(1<<n) == 0 {
			// Who may not drop it from the bounding set does not get it from there either.
			if _, _, e = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_CAPBSET_DROP, n, 0); e != 0 {
				break
			}
		}
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0) // who has none
	if _, _, e = syscall.RawSyscall(unix.SYS_CAPGET, uintptr(unsafe.Pointer(&c.header)), uintptr(unsafe.Pointer(&c.data)), 0); e != 0 {
		goto failed
	}
	for i = 0; i < len(c.data); i++ {
		c.data[i].Effective &= uint32(c.keep >> (32 * i))
		c.data[i].Permitted &= uint32(c.keep >> (32 * i))
		c.data[i].Inheritable = 0
	}
	if _, _, e = syscall.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&c.header)), uintptr(unsafe.Pointer(&c.data)), 0); e != 0 {
		goto failed
	}
	c.stage = death
	if c.death != 0 {
		if _, _, e = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, c.death, 0); e != 0 {
			goto failed
		}
		if r, _, _ = syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0); r != parent && r != 0 { // 0: it is outside of the PID namespace
			e = syscall.ESRCH // it has died already
			goto failed
		}
	}
	c.stage = files
	for i = 0; i < len(c.files); i++ {
		if _, _, e = syscall.RawSyscall(syscall.SYS_DUP3, uintptr(c.files[i]), uintptr(i), 0); e != 0 {
			goto failed
		}
	}
	c.stage = terminal
	if c.terminal {
		if _, _, e = syscall.RawSyscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 1); e != 0 {
			goto failed
		}
	}
	c.stage = directory
	if _, _, e = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(c.dir)), 0, 0); e != 0 {
		goto failed
	}
	c.stage = landlock
	if c.ruleset >= 0 {
		if _, _, e = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(c.ruleset), 0, 0); e != 0 {
			goto failed
		}
	}
	c.stage = filter
	if c.filter != nil {
		n = unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW | c.listening | c.patient
		r, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, n, uintptr(unsafe.Pointer(c.filter)))
		if e == syscall.EINVAL && c.patient != 0 {
			r, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, n&^c.patient, uintptr(unsafe.Pointer(c.filter)))
		}
		if e != 0 {
			goto failed
		}
	}
	c.stage = listener
	if c.listening != 0 {
		c.message.control.fd = int32(r)
		if _, _, e = syscall.RawSyscall(syscall.SYS_SENDMSG, uintptr(c.socket), uintptr(unsafe.Pointer(&c.message.head)), 0); e != 0 {
			goto failed
		}
	}
	// The listener was one more descriptor, and what this process has open counts until exec.
	c.stage = limits
	for i = 0; i < len(c.limits); i++ {
		_, _, e = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(c.limits[i].Resource),
			uintptr(unsafe.Pointer(&c.limits[i].Rlimit)), 0, 0, 0)
		if e != 0 {
			goto failed
		}
	}
	c.stage = exec
	_, _, e = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(c.path)),
		uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.envv[0])))
failed:
	c.errno = e
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 253, 0, 0)
	}
}
