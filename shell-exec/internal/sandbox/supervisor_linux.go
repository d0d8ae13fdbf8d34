package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listener is asked about the calls that a filter answers with Notify, one by one:
// the caller waits meanwhile. Of the arguments only values are what the caller gave;
// what they point to it can change as long as it likes, also after it was looked at.
type listener struct {
	file *os.File
	conn syscall.RawConn
}

// notification is a call of a thread, which waits for an answer.
type notification struct {
	ID     uint64
	Thread uint32 // its number, as this process sees it
	_      uint32
	Number int32
	Arch   uint32
	_      uint64
	Args   [6]uint64
}

// receive is the next call; io.EOF after the end of all that have the filter. One
// goroutine receives.
func (l *listener) receive() (n notification, err error) {
	for n.ID == 0 && err == nil {
		e := l.conn.Read(func(fd uintptr) bool {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if got, _ := unix.Poll(ready, 0); got <= 0 {
				return false
			}
			if ready[0].Revents&unix.POLLIN == 0 {
				err = io.EOF
				return true
			}
			n = notification{}
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
			switch errno {
			case 0:
			case unix.ENOENT, unix.EINTR: // the caller was interrupted before it was heard
				n.ID = 0
			default:
				err = errno
			}
			return true
		})
		if err == nil {
			err = e
		}
	}
	return n, err
}

func (l *listener) ioctl(request uintptr, arg unsafe.Pointer) error {
	var errno unix.Errno
	if err := l.conn.Control(func(fd uintptr) { _, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg)) }); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// waits reports whether the caller still waits: until then its number is its own.
func (l *listener) waits(n notification) bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.ID)) == nil
}

// answer ends the call, with 0 for success. With flags SECCOMP_USER_NOTIF_FLAG_CONTINUE the kernel does the
// call, with what its pointers point to by then. An error says that the caller waits no more.
func (l *listener) answer(n notification, errno unix.Errno, flags uint32) error {
	r := struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}{n.ID, 0, -int32(errno), flags}
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// supervisor answers the calls of one command that a filter cannot judge, for what
// counts is in memory or behind a number: where a socket is connected to, whose
// number it is, and, where Landlock does not see signals, which process gets one.
//
// It never lets the kernel continue with what another thread of the command could have
// changed meanwhile: it takes the descriptor, copies the memory, and does the call by
// itself. The kernel continues only with what is the caller's own for as long as it waits.
type supervisor struct {
	s        *Sandbox
	thread   *thread
	rules    Rules
	listener *listener

	mu         sync.Mutex
	connecting int
	connects   map[int]int      // sockets that are being connected, and the thread that does it
	over       bool             // nobody is left
	calls      map[uint32]*call // by thread
}

// call is one whose result did not reach its thread yet. A signal interrupts the caller, which then
// calls again. The call may be under way or done by then; it is not made twice.
type call struct {
	what string
	done chan struct{}
	err  error // to be read after that
}

const (
	maxConnects = 64 // at once, of one command; each has a thread of this process
	maxCalls    = 1000
)

// newSupervisor takes the listener that the child has sent to ours before it became a program. Until serve runs,
// a call that the filter asks about waits.
func (l *launch) newSupervisor(ours *os.File) (*supervisor, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(ours.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, fmt.Errorf("listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("listener: %d messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("listener: %w", err)
	}
	const (
		setFlags     = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
		wakeTogether = 1          // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: on the same processor, since Linux 6.6
	)
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fds[0]), setFlags, wakeTogether)
	err = unix.SetNonblock(fds[0], true)
	listener := &listener{file: os.NewFile(uintptr(fds[0]), "seccomp")}
	if err == nil {
		listener.conn, err = listener.file.SyscallConn()
	}
	if err != nil {
		listener.file.Close()
		return nil, err
	}
	return &supervisor{
		s: l.s, thread: l.thread, rules: l.c.Rules, listener: listener,
		connects: map[int]int{}, calls: map[uint32]*call{},
	}, nil
}

// serve answers until no process with the filter is left. connect may block, and so has a goroutine; all
// other calls are judged one after the other.
func (v *supervisor) serve() {
	defer v.close()
	for {
		n, err := v.listener.receive()
		if err != nil {
			return
		}
		if n.Number != unix.SYS_CONNECT {
			v.once(n, fmt.Sprint(n.Number, n.Args), func() error { return v.judge(n) })
			continue
		}
		v.mu.Lock()
		busy := v.connecting >= maxConnects
		if !busy {
			v.connecting++
		}
		v.mu.Unlock()
		if busy {
			_ = v.listener.answer(n, unix.EAGAIN, 0)
			continue
		}
		go func() {
			v.connect(n)
			v.mu.Lock()
			defer v.mu.Unlock()
			v.connecting--
		}()
	}
}

// close also gives up the connects that still wait for their other end, which may be of another
// command and outlive this one. Calls that are asked about from now on fail (ENOSYS).
func (v *supervisor) close() {
	v.mu.Lock()
	v.over = true
	for fd := range v.connects {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	_ = v.listener.file.Close()
	v.mu.Unlock()
	go func() {
		// A thread that was not waiting in connect yet is woken the next time.
		for pause := time.Millisecond; ; pause = min(2*pause, longPause) {
			v.mu.Lock()
			left := len(v.connects)
			for _, thread := range v.connects {
				_ = unix.Tgkill(unix.Getpid(), thread, wakes)
			}
			v.mu.Unlock()
			if left == 0 {
				return
			}
			time.Sleep(pause)
		}
	}()
}

// errPass is an error that is none: the kernel shall do the call.
var errPass = errors.New("pass")

// once does a call and answers. what tells it from others of the same thread.
func (v *supervisor) once(n notification, what string, do func() error) {
	v.mu.Lock()
	if !v.listener.waits(n) { // what it calls again may have been answered by now
		v.mu.Unlock()
		return
	}
	c := v.calls[n.Thread]
	again := c != nil && c.what == what
	if !again {
		if len(v.calls) >= maxCalls { // of threads that are gone
			clear(v.calls)
		}
		c = &call{what: what, done: make(chan struct{})}
		v.calls[n.Thread] = c
	}
	v.mu.Unlock()
	if again {
		<-c.done
	} else {
		c.err = do()
		close(c.done)
	}
	errno := unix.Errno(0)
	var failed error
	switch {
	case c.err == errPass:
		_ = v.listener.answer(n, 0, unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
	case c.err != nil && !errors.As(c.err, &errno):
		failed = v.listener.answer(n, unix.EPERM, 0)
	default:
		failed = v.listener.answer(n, errno, 0)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if failed == nil && v.calls[n.Thread] == c {
		delete(v.calls, n.Thread)
	}
}

// judge is for calls with numbers of processes. What passes is the caller's own number: as
// long as the caller waits nobody else can get it.
func (v *supervisor) judge(n notification) error {
	who := callerOf(int(n.Thread))
	arg := func(i int) int { return int(int32(n.Args[i])) }
	switch n.Number {
	case unix.SYS_KILL:
		return v.kill(who, arg(0), unix.Signal(arg(1)))
	case unix.SYS_TGKILL:
		if who.owns(arg(0)) == errPass {
			return errPass // the kernel looks that the thread is of the process
		}
		return v.tgkill(arg(0), arg(1), unix.Signal(arg(2)))
	case unix.SYS_TKILL:
		return v.tgkill(callerOf(arg(0)).process, arg(0), unix.Signal(arg(1)))
	case unix.SYS_PIDFD_SEND_SIGNAL:
		return v.pidfdSignal(n, arg(0), unix.Signal(arg(1)))
	case unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PRLIMIT64:
		return who.owns(arg(0))
	case unix.SYS_FCNTL: // F_SETOWN
		return who.owns(arg(2))
	}
	if i, known := numbered[uintptr(n.Number)]; known {
		if number := arg(i); who.owns(number) == errPass || who.hasThread(number) {
			return errPass // a thread that is gone meanwhile leaves its number to a stranger: one's nice value, at the worst
		}
	}
	return unix.EPERM
}

// caller is a thread: its process as this process numbers it, and as itself does,
// which differs in a PID namespace; and the thread as itself numbers it.
type caller struct{ process, inside, thread int }

func callerOf(thread int) caller {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return caller{}
	}
	field := func(name string) (n int) {
		for line := range bytes.Lines(status) {
			if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == name {
				n, _ = strconv.Atoi(string(f[len(f)-1]))
			}
		}
		return n
	}
	return caller{field("Tgid:"), field("NStgid:"), field("NSpid:")}
}

// owns passes the number of the caller's own process.
func (c caller) owns(number int) error {
	if number != 0 && number == c.inside {
		return errPass
	}
	return unix.EPERM
}

func (c caller) hasThread(number int) bool {
	if c.process == c.inside {
		_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", c.process, number))
		return number > 0 && err == nil
	}
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.process))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		id, err := strconv.Atoi(e.Name())
		return err == nil && callerOf(id).thread == number
	})
}

// duplicate is a duplicate of a descriptor of the caller.
func duplicate(thread int, fd int) (int, error) {
	own, err := unix.PidfdOpen(thread, unix.PIDFD_THREAD)
	if err == unix.EINVAL { // before Linux 6.9
		own, err = unix.PidfdOpen(callerOf(thread).process, 0)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(own)
	return unix.PidfdGetfd(own, fd, 0)
}

// The rest is for where Landlock has no scope for signals.

// within reports whether a process is of the command: its thread may look into that, and
// into no others (Landlock, every ABI), but for this process, whose thread it is.
func (v *supervisor) within(process int) bool {
	return process > 0 && process != unix.Getpid() && v.thread.run(func() error {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", process))
		if errors.Is(err, unix.ENOENT) {
			return nil // it may be looked into, and has ended
		}
		return err
	}) == nil
}

func (v *supervisor) kill(who caller, number int, sig unix.Signal) error {
	signal := func(fd int) error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
	switch {
	case number == -1 || number == -1<<31:
		return unix.EPERM // everybody
	case number >= 0:
		if who.owns(number) == errPass {
			return errPass
		}
		return v.send(callerOf(number).process, signal)
	}
	if group, err := unix.Getpgid(who.process); err == nil && group == -number {
		return errPass // the caller is in it
	}

	// A group: nil if one of it could be signalled, as kill is.
	all, err := processList()
	if err != nil {
		return unix.EPERM
	}
	failed := error(unix.ESRCH)
	for _, p := range all {
		if in, err := unix.Getpgid(p.pid); err == nil && in == -number {
			if err := v.send(p.pid, signal); failed != nil {
				failed = err
			}
		}
	}
	return failed
}

// send does something to a process of the command while it is held on to.
func (v *supervisor) send(process int, do func(pidfd int) error) error {
	if process == 0 {
		return unix.ESRCH
	}
	fd, err := unix.PidfdOpen(process, 0)
	if err != nil {
		return unix.ESRCH
	}
	defer unix.Close(fd)
	if !v.within(process) {
		return unix.EPERM
	}
	if err := do(fd); err != nil {
		return err
	}
	// The process gets a moment to take its signals. The caller is often its parent, and is told by
	// SIGCHLD what came of them. While it waits for its answer, that does not interrupt it. At its next
	// call it could: that would fail with EINTR, which kill never does (Linux, kill(2)).
	for range 20 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
		if err != nil || bytes.Contains(status, []byte("\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n")) {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(500 * time.Microsecond) // from taking it to telling the parent, which may take an exit
	return nil
}

func (v *supervisor) tgkill(process, thread int, sig unix.Signal) error {
	return v.send(process, func(fd int) error {
		if err := unix.PidfdSendSignal(fd, 0, nil, 0); err != nil {
			return err // it has ended, and its number may be another's
		}
		return unix.Tgkill(process, thread, sig)
	})
}

func (v *supervisor) pidfdSignal(n notification, fd int, sig unix.Signal) error {
	if n.Args[2] != 0 || n.Args[3] != 0 {
		return unix.EPERM // what it should say is in memory; flags may mean a group
	}
	pidfd, err := duplicate(int(n.Thread), fd)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	number := func() int {
		pid, _ := strconv.Atoi(fdinfo(pidfd, "Pid"))
		return pid
	}
	// -1 after its end; still the same after the look, so that was it.
	process := callerOf(number()).process
	if process == 0 || !v.within(process) || number() <= 0 {
		return unix.EPERM
	}
	return unix.PidfdSendSignal(pidfd, sig, nil, 0)
}
