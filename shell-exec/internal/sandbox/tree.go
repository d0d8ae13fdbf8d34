//go:build unix

package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// killer knows the processes of one command, however they came to be, and ends them.
type killer interface {
	// members are those that live. What it says of one may be a moment old.
	members() ([]process, error)
	// signal reaches all of them, at least those that were there before it began.
	signal(sig syscall.Signal) error
	// survivors are those that live after signal has killed. It may look less thoroughly than
	// members where the system lets no new ones come after that.
	survivors() ([]process, error)
	// release gives back what the killer needed. It knows of nobody afterwards.
	release()
}

// process is one that the system knows. The number alone may come to mean another one;
// with the start time it cannot.
type process struct {
	pid, parent, session int
	start                uint64 // when it began, in the system's own measure
	state                byte
	via                  int // the number that shows its memory and files: pid, or that of a thread
	threads              int
	cpu                  time.Duration
	memory               int64 // bytes in memory, shared ones included
}

// signalAll signals parents before their children: a script whose child is ended first would
// start its next command, which nobody signals. A process that is gone meanwhile is no error.
func signalAll(all []process, sig syscall.Signal) error {
	slices.SortFunc(all, func(a, b process) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid)) })
	var failed error
	for _, p := range all {
		if err := p.signal(sig); err != nil && err != syscall.ESRCH {
			failed = err
		}
	}
	return failed
}

// Tree is a command that was started: its first process and all that come of it.
// It watches the limits, and gives everything back once nothing is left of it.
type Tree struct {
	first    *os.Process
	pid      int
	limits   Limits
	detached bool
	onEnd    func() // tells the sandbox that this tree is over
	guard    func() // starts what ends the tree if this process is killed; nil: nothing to do, or it is detached

	exited chan struct{} // closed when the first process has ended
	status Status        // what it left; to be read after that

	life   sync.RWMutex // held for reading while killer is used
	killer killer
	over   bool          // killer was released
	gone   chan struct{} // closed with it
	left   chan struct{} // closed when something was seen to outlive the first process

	mu        sync.Mutex
	account   *account
	peak      int64
	possible  int64        // what the last look could not rule out
	memory    bool         // the limit was passed
	processes bool         // the limit was passed
	limited   map[int]bool // processes that have their limits
}

func newTree(first *os.Process, k killer, c Command, onEnd func()) *Tree {
	return &Tree{
		account: newAccount(k, c),
		first:   first, pid: first.Pid, limits: c.Limits, detached: c.Detached, onEnd: onEnd, killer: k,
		exited: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{}), limited: map[int]bool{},
	}
}

// PID is the number of the first process, whose session all begin in.
func (t *Tree) PID() int { return t.pid }

// await waits for the first process. Whatever else holds its files does not matter.
func (t *Tree) await(ended func()) {
	awaitEnd(t.pid)
	state, err := t.first.Wait()
	if err != nil {
		t.status = Status{Code: -1, Signal: "unknown: " + err.Error()}
	} else {
		t.status = Status{Code: state.ExitCode(), CPU: state.UserTime() + state.SystemTime()}
		if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			t.status.Signal = cmp.Or(unix.SignalName(ws.Signal()), fmt.Sprintf("SIG%d", int(ws.Signal())))
			t.exceeds(Usage{}) // the kernel may have ended it for its memory
		}
	}
	ended()
	close(t.exited)
}

// Exited is closed when the first process has ended.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Gone is closed when nothing is left of the tree.
func (t *Tree) Gone() <-chan struct{} { return t.gone }

// Outlived is closed when the first process has ended and something of the tree was seen
// to live on, or could not be ruled out. One of Gone and Outlived comes soon after Exited.
func (t *Tree) Outlived() <-chan struct{} { return t.left }

// Wait waits for the first process alone: others may live on, and hold its pipes.
func (t *Tree) Wait() Status {
	<-t.exited
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
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
	if err := t.killer.signal(sig); err != nil {
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
		err = t.killer.signal(unix.SIGKILL)
		left, e := t.killer.survivors()
		if err == nil && e == nil && len(left) == 0 {
			return nil
		}
		err = cmp.Or(err, e)
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
	return fault.New(fault.Internal, "some of what the command started could not be ended",
		"See which of its processes are left, and end them by hand").Because(err)
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
	all, _ := t.killer.members()
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
		t.killer.release()
		t.account.close()
		t.onEnd()
		close(t.gone)
	}
}

// measure adds up the members, and remembers the most that was seen.
func (t *Tree) measure() (Usage, error) {
	t.life.RLock()
	defer t.life.RUnlock()
	if t.over {
		return Usage{}, nil
	}
	all, err := t.killer.members()
	u := Usage{Processes: len(all)}
	for _, p := range all {
		u.Threads += p.threads
		u.CPU += p.cpu
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u.Memory, t.possible = t.account.memory(all)
	t.peak = max(t.peak, u.Memory)
	if t.limits != (Limits{}) {
		// Members that came to be before their parent had the limits get them now.
		living := make(map[int]bool, len(all))
		for _, p := range all {
			if !t.limited[p.pid] {
				setLimits(p.pid, t.limits)
				t.account.include(p.pid)
			}
			living[p.pid] = true
		}
		t.limited = living
	}
	return u, err
}

// How long watch waits until its next look. The first ones come quickly, for most commands are short.
const (
	firstPause     = 5 * time.Millisecond
	nearLimitPause = 20 * time.Millisecond
	longPause      = 250 * time.Millisecond
	maxPause       = time.Second            // where a look takes long: many commands on a busy machine
	guardAfter     = 100 * time.Millisecond // what lives longer is guarded
)

// watch measures, first often and then less, and ends a tree that uses more than
// it may. It gives the tree back when nothing is left.
func (t *Tree) watch() {
	exited := t.exited // nil once it was seen
	born := time.Now()
	for pause, guarded, reported := firstPause, false, false; ; {
		timer := time.NewTimer(pause)
		select {
		case <-t.gone:
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
		if exited == nil && !reported {
			reported = true
			close(t.left)
		}
		if !guarded && time.Since(born) > guardAfter {
			guarded = true
			t.startGuard()
		}
		if t.exceeds(u) {
			_ = t.Kill() // what is left is met at the next look
		}
		pause = min(2*pause, longPause)
		if t.exceedsHalf(u) {
			pause = min(pause, nearLimitPause)
		}
		pause = max(pause, min(50*took, maxPause))
	}
}

func (t *Tree) startGuard() {
	t.life.RLock()
	defer t.life.RUnlock()
	if !t.over && t.guard != nil {
		t.guard()
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

// exceedsHalf reports whether the tree may use more than half of a limit: then the next look comes soon.
func (t *Tree) exceedsHalf(u Usage) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limits.Memory > 0 && t.possible > t.limits.Memory/2 ||
		t.limits.Processes > 0 && (u.Processes > t.limits.Processes/2 || u.Threads > t.limits.threads()/2)
}
