//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Tree is a command that was started: its first process and all that come of it.
// It watches the limits, and gives everything back once nothing is left of it.
type Tree struct {
	first    *os.Process
	pid      int
	limits   Limits
	detached bool
	parted   func() // tells the sandbox that this tree is over
	provide  func() // sees to it that the tree ends if this process is killed; nil: nothing to do, or it is detached

	exited chan struct{} // closed when the first process has ended
	ended  Status        // what it left; to be read after that

	life sync.RWMutex // held for reading while held is used
	held holder
	over bool          // held was given back
	stop chan struct{} // closed with it
	left chan struct{} // closed when something was seen to outlive the first process

	mu        sync.Mutex
	account   *account
	peak      int64
	most      int64        // what the last look could not rule out
	memory    bool         // the limit was passed
	processes bool         // the limit was passed
	bound     map[int]bool // processes that have their limits
}

func newTree(first *os.Process, held holder, c Command, parted func()) *Tree {
	return &Tree{
		account: newAccount(held, c),
		first:   first, pid: first.Pid, limits: c.Limits, detached: c.Detached, parted: parted, held: held,
		exited: make(chan struct{}), stop: make(chan struct{}), left: make(chan struct{}), bound: map[int]bool{},
	}
}

// PID is the number of the first process, whose session all begin in.
func (t *Tree) PID() int { return t.pid }

// await waits for the first process. Whatever else holds its files does not matter.
func (t *Tree) await(ended func()) {
	awaitEnd(t.pid)
	state, err := t.first.Wait()
	switch {
	case err != nil:
		t.ended = Status{Code: -1, Signal: "unknown: " + err.Error()}
	default:
		t.ended = Status{Code: state.ExitCode(), CPU: state.UserTime() + state.SystemTime()}
		if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			t.ended.Signal = signalName(ws.Signal())
			t.exceeds(Usage{}) // the kernel may have ended it for its memory
		}
	}
	ended()
	close(t.exited)
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}

// Exited is closed when the first process has ended.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Gone is closed when nothing is left of the tree.
func (t *Tree) Gone() <-chan struct{} { return t.stop }

// Outlived is closed when the first process has ended and something of the tree was seen
// to live on, or could not be ruled out. One of Gone and Outlived comes soon after Exited.
func (t *Tree) Outlived() <-chan struct{} { return t.left }

// Wait waits for the first process alone: others may live on, and hold its pipes.
func (t *Tree) Wait() Status {
	<-t.exited
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.ended
	s.Peak, s.MemoryExceeded, s.ProcessesExceeded = t.peak, t.memory, t.processes
	return s
}

// Signal signals every process of the tree.
func (t *Tree) Signal(sig syscall.Signal) error {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.over {
		return fault.New(fault.NoProcess, "the command has ended already", "")
	}
	if err := t.held.strike(sig); err != nil {
		return fault.New(fault.PermissionDenied, "the command could not be signalled", "Terminate it with force").Because(err)
	}
	return nil
}

// Kill ends every process of the tree and returns when they are gone.
func (t *Tree) Kill() error {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.over {
		return nil
	}
	var err error
	pause := 200 * time.Microsecond
	for range 200 { // some four seconds, for what the kernel itself must finish first
		err = t.held.strike(unix.SIGKILL)
		left, e := t.held.doomed()
		if err == nil && e == nil && len(left) == 0 {
			return nil
		}
		if err == nil {
			err = e
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
	return fault.New(fault.Internal, "some of what the command started could not be ended", "See which of its processes are left, and end them by hand").Because(err)
}

// Usage is what the tree uses now.
func (t *Tree) Usage() Usage {
	u, _ := t.measure()
	return u
}

// PIDs are the numbers of the processes that live, of the first as the others. A
// number may have come to mean another process by the time it is used: it is good
// for looking, not for signalling.
func (t *Tree) PIDs() []int {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.over {
		return nil
	}
	all, _ := t.held.members()
	out := make([]int, 0, len(all))
	for _, p := range all {
		out = append(out, p.pid)
	}
	return out
}

// Close ends what is left, unless the command is detached, and gives all back.
func (t *Tree) Close() error {
	var err error
	if !t.detached {
		err = t.Kill()
	}
	t.release()
	return err
}

func (t *Tree) release() {
	t.life.Lock()
	defer t.life.Unlock()
	if !t.over {
		t.over = true
		t.held.release()
		t.account.close()
		t.parted()
		close(t.stop)
	}
}

// measure adds up the members, and remembers the most.
func (t *Tree) measure() (Usage, error) {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.over {
		return Usage{}, nil
	}
	all, err := t.held.members()
	u := Usage{Processes: len(all)}
	for _, p := range all {
		u.Threads += p.threads
		u.CPU += p.cpu
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u.Memory, t.most = t.account.memory(all)
	t.peak = max(t.peak, u.Memory)
	t.bind(all)
	return u, err
}

// bind gives the limits to members that came to be before their parent had them.
func (t *Tree) bind(all []process) {
	if t.limits == (Limits{}) {
		return
	}
	living := make(map[int]bool, len(all))
	for _, p := range all {
		if !t.bound[p.pid] {
			setLimits(p.pid, t.limits)
			t.account.bind(p.pid)
		}
		living[p.pid] = true
	}
	t.bound = living
}

const (
	soon   = 5 * time.Millisecond
	near   = 20 * time.Millisecond  // where a limit is near
	seldom = 250 * time.Millisecond // else
	young  = 100 * time.Millisecond // what lives longer is provided for
	dear   = time.Second            // where a look takes long: many commands on a busy machine
)

// watch measures, first often and then less, and ends a tree that uses more than
// it may. It gives the tree back when nothing is left.
func (t *Tree) watch() {
	exited := t.exited
	born := time.Now()
	for pause, old, told := soon, false, false; ; {
		timer := time.NewTimer(pause)
		select {
		case <-t.stop:
			timer.Stop()
			return
		case <-exited:
			timer.Stop()
			exited = nil
		case <-timer.C:
		}
		began := time.Now()
		u, err := t.measure()
		took := time.Since(began)
		if err == nil && u.Processes == 0 && exited == nil {
			t.release()
			return
		}
		if exited == nil && !told {
			told = true
			close(t.left)
		}
		if !old && time.Since(born) > young {
			old = true
			t.lasts()
		}
		if t.exceeds(u) {
			_ = t.Kill() // what is left is met at the next look
		}
		pause = max(t.next(pause, u), min(50*took, dear))
	}
}

// lasts provides for a tree that has lived for a while.
func (t *Tree) lasts() {
	t.life.RLock()
	defer t.life.RUnlock()
	if !t.over && t.provide != nil {
		t.provide()
	}
}

// exceeds notes which limit the tree has passed.
func (t *Tree) exceeds(u Usage) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	memory := t.limits.Memory > 0 && u.Memory > t.limits.Memory
	if t.account.exhausted() {
		memory, t.peak = true, max(t.peak, t.limits.Memory)
	}
	processes := t.limits.Processes > 0 && (u.Processes > t.limits.Processes || u.Threads > t.limits.threads())
	t.memory = t.memory || memory
	t.processes = t.processes || processes
	return memory || processes
}

func (t *Tree) next(pause time.Duration, u Usage) time.Duration {
	pause = min(2*pause, seldom)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limits.Memory > 0 && t.most > t.limits.Memory/2 ||
		t.limits.Processes > 0 && (u.Processes > t.limits.Processes/2 || u.Threads > t.limits.threads()/2) {
		pause = min(pause, near)
	}
	return pause
}
