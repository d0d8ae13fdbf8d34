package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// supervisor answers the calls of one command that a filter cannot judge, for what
// counts is in memory or behind a number: where a socket is connected to, whose
// number it is, and, where Landlock does not see signals, who gets one.
//
// It never lets the kernel go on with what another thread of the command could have
// changed meanwhile: it takes the descriptor, copies the memory, and does the call by
// itself. The kernel goes on only with what is the caller's own for as long as it waits.
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

// call is one that its thread was not told the end of. A signal interrupts the caller, who then
// calls again: it may still be done, or have been done already, and is not done twice.
type call struct {
	what string
	done chan struct{}
	err  error // to be read after that
}

const (
	maxConnects = 64 // at once, of one command; each has a thread of this process
	maxCalls    = 1000
)

// supervision is how a child gets a supervisor: its filter, and the two ends of what it
// sends the listener through.
type supervision struct{ ours, theirs *os.File }

func newSupervision() (*supervision, error) {
	if err := letWake(); err != nil {
		return nil, fmt.Errorf("signal %d: %w", wakes, err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &supervision{os.NewFile(uintptr(pair[0]), "supervisor"), os.NewFile(uintptr(pair[1]), "command")}, nil
}

func (v *supervision) close() {
	v.ours.Close()
	v.theirs.Close()
}

// listener is what the child has sent, which has become a program since.
func (v *supervision) listener() (*listener, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(v.ours.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
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
	return newListener(fds[0])
}

// startSupervised starts what the supervisor is for. The caller lets it serve.
func (l *launch) startSupervised(path string, args []string, attr *forkexec.Attr) (*os.Process, error) {
	v, err := newSupervision()
	if err != nil {
		return nil, err
	}
	defer v.close()
	attr.Listener = v.theirs
	attr.Patient = l.s.machine.judgesSignals(l.s.level) // what one signals may answer with a signal, at once
	p, err := forkexec.Start(path, args, attr)
	if err != nil {
		return nil, err
	}
	listener, err := v.listener()
	if err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		return nil, err
	}
	l.supervisor = &supervisor{
		s: l.s, thread: l.thread, rules: l.c.Rules, listener: listener,
		connects: map[int]int{}, calls: map[uint32]*call{},
	}
	return p, nil
}

// serve answers until nobody is left. Without that what asks waits.
func (v *supervisor) serve() {
	defer v.close()
	for {
		n, err := v.listener.Receive()
		if err != nil {
			return
		}
		v.answer(n)
	}
}

// close also gives up the connects that still wait for their other end, which may be of another
// command and outlive this one.
func (v *supervisor) close() {
	v.mu.Lock()
	v.over = true
	for fd := range v.connects {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	_ = v.listener.Close()
	v.mu.Unlock()
	go func() {
		for pause := time.Millisecond; v.interrupt(); pause = min(2*pause, seldom) {
			time.Sleep(pause)
		}
	}()
}

// interrupt wakes the threads that connect, and reports whether there were any. One that was not
// waiting yet is woken the next time.
func (v *supervisor) interrupt() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, thread := range v.connects {
		_ = unix.Tgkill(unix.Getpid(), thread, wakes)
	}
	return len(v.connects) > 0
}

func (v *supervisor) answer(n notification) {
	if n.Number != unix.SYS_CONNECT {
		v.tell(n, fmt.Sprint(n.Number, n.Args), func() error { return v.judge(n) })
		return
	}
	v.mu.Lock()
	busy := v.connecting >= maxConnects
	if !busy {
		v.connecting++
	}
	v.mu.Unlock()
	if busy {
		_ = v.listener.Answer(n, unix.EAGAIN)
		return
	}
	go func() {
		v.connect(n)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.connecting--
	}()
}

// errPass is an error that is none: the kernel shall do it.
var errPass = errors.New("pass")

// tell does a call and answers. what tells it from others of the same thread.
func (v *supervisor) tell(n notification, what string, do func() error) {
	v.mu.Lock()
	if !v.listener.Waits(n) { // what it calls again may have been answered by now
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
		_ = v.listener.Pass(n)
	case c.err != nil && !errors.As(c.err, &errno):
		failed = v.listener.Answer(n, unix.EPERM)
	default:
		failed = v.listener.Answer(n, errno)
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
	who := whoIs(int(n.Thread))
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
		return v.tgkill(whoIs(arg(0)).process, arg(0), unix.Signal(arg(1)))
	case unix.SYS_PIDFD_SEND_SIGNAL:
		return v.pidfdSignal(n, arg(0), unix.Signal(arg(1)))
	case unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PRLIMIT64:
		return who.owns(arg(0))
	case unix.SYS_FCNTL: // F_SETOWN
		return who.owns(arg(2))
	}
	if i, known := numbered[uintptr(n.Number)]; known {
		number := arg(i)
		if who.owns(number) == errPass || who.hasThread(number) {
			return errPass // a thread that is gone meanwhile leaves its number to a stranger: one's nice value, at the worst
		}
	}
	return unix.EPERM
}

// caller is a thread: its process as this process numbers it, and as itself does,
// which differs in a PID namespace; and the thread as itself numbers it.
type caller struct{ process, inside, thread int }

func whoIs(thread int) caller {
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
		return err == nil && whoIs(id).thread == number
	})
}

// takes is a duplicate of a descriptor of the caller.
func takes(thread int, fd int) (int, error) {
	own, err := unix.PidfdOpen(thread, unix.PIDFD_THREAD)
	if err == unix.EINVAL { // before Linux 6.9
		own, err = unix.PidfdOpen(whoIs(thread).process, 0)
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
	switch {
	case number == -1 || number == -1<<31:
		return unix.EPERM // everybody
	case number < 0:
		if group, err := unix.Getpgid(who.process); err == nil && group == -number {
			return errPass // the caller is in it
		}
		return v.killGroup(-number, sig)
	case who.owns(number) == errPass:
		return errPass
	}
	return v.send(whoIs(number).process, func(fd int) error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
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
	awaitDelivery(process)
	return nil
}

// awaitDelivery waits a moment until a process has taken its signals. The caller is often its parent, and
// is told by SIGCHLD what came of them. While it waits for its answer, that does not interrupt it. At its
// next call it could: that would fail with EINTR, which kill never does (Linux, kill(2)).
func awaitDelivery(process int) {
	for range 20 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
		if err != nil || bytes.Contains(status, []byte("\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n")) {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(500 * time.Microsecond) // from taking it to telling the parent, which may take an exit
}

// killGroup is nil if one of the group could be signalled, as kill is.
func (v *supervisor) killGroup(group int, sig unix.Signal) error {
	all, err := census()
	if err != nil {
		return unix.EPERM
	}
	failed := error(unix.ESRCH)
	for _, p := range all {
		if in, err := unix.Getpgid(p.pid); err != nil || in != group {
			continue
		}
		err := v.send(p.pid, func(fd int) error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
		if failed != nil {
			failed = err
		}
	}
	return failed
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
	pidfd, err := takes(int(n.Thread), fd)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	number := func() int {
		pid, _ := strconv.Atoi(fdinfo(pidfd, "Pid"))
		return pid
	}
	// -1 after its end; still the same after the look, so that was it.
	process := whoIs(number()).process
	if process == 0 || !v.within(process) || number() <= 0 {
		return unix.EPERM
	}
	return unix.PidfdSendSignal(pidfd, sig, nil, 0)
}
