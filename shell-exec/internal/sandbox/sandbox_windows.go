package sandbox

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"github.com/multiollama/mcp-server/shared/fault"
)

// killed is the exit code of what was ended by us.
const killed = 0xC000013A // STATUS_CONTROL_C_EXIT

// Sandbox starts commands. It is safe for use by many at once.
type Sandbox struct {
	mode  Mode
	mu    sync.Mutex
	trees map[*Tree]bool

	report Report
	asked  sync.Once // for the report, which is made then
}

// newSandbox is a sandbox that measures and ends commands. Windows has nothing
// that keeps a program to some directories without an installation of its own.
func newSandbox(o Options) (*Sandbox, error) {
	return &Sandbox{mode: o.Mode, trees: map[*Tree]bool{}}, nil
}

// Confines reports whether commands open only what their rules name.
func (s *Sandbox) Confines() bool { return false }

func (s *Sandbox) try() Report {
	var report Report
	for _, name := range []string{"read", "write", "network", "processes", "kernel"} {
		report = append(report, Part{Name: name, Why: "Windows cannot keep a program to it", Fix: "Run the server in WSL 2 or in a virtual machine"})
	}
	j, err := newJob(Limits{Memory: 1 << 30, Processes: 10}, false)
	for _, name := range []string{"kill", "limits"} {
		part := Part{Name: name, Holds: err == nil, Why: "a job object"}
		if err != nil {
			part.Why = "no job object can be made: " + err.Error()
		}
		report = append(report, part)
	}
	if err == nil {
		j.close()
	}
	return append(report, Part{Name: "namespaces", Why: "Windows has none"})
}

// Tree is a command that was started: its first process and all that come of it.
type Tree struct {
	first  *os.Process
	pid    int
	exited chan struct{}
	ended  Status
	gone   chan struct{}
	left   chan struct{} // closed when something was seen to outlive the first process
	parted func()

	mu   sync.Mutex
	job  *job
	peak int64 // once the job is gone
	over bool
	keep bool // detached
}

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// start starts the command suspended, puts it into a job, and lets it go: nothing
// is ever outside.
func (s *Sandbox) start(c Command, f Files) (*Tree, error) {
	if s.mode == Required && c.Rules.UnsafeUnrestricted {
		return nil, fault.New(fault.Forbidden, "a command may not run outside of the sandbox, which is required", "Run it by hand")
	}
	j, err := newJob(c.Limits, c.Detached)
	if err != nil {
		return nil, startFailed(c, err)
	}
	first, err := begin(c, f, j)
	if err != nil {
		j.close()
		return nil, startFailed(c, err)
	}
	t := &Tree{first: first, pid: first.Pid, exited: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{}), job: j, keep: c.Detached}
	t.parted = func() { s.forget(t) }
	s.mu.Lock()
	s.trees[t] = true
	s.mu.Unlock()
	go t.await()
	return t, nil
}

func startFailed(c Command, err error) error {
	return fault.New(fault.StartFailed, "the command could not be started", "See the audit log for the cause").With("program", c.Path).Because(err)
}

func begin(c Command, f Files, j *job) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files := []*os.File{f.Stdin, f.Stdout, f.Stderr}
	for i := range files {
		if files[i] == nil {
			files[i] = null
		}
	}
	const flags = windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{Dir: c.Dir, Env: append([]string{}, c.Env...), Files: files, Sys: &syscall.SysProcAttr{CreationFlags: flags}})
	if err != nil {
		return nil, err
	}
	var assigned error
	err = p.WithHandle(func(h uintptr) {
		if assigned = windows.AssignProcessToJobObject(j.handle, windows.Handle(h)); assigned == nil {
			ntResumeProcess.Call(h)
		}
	})
	if err == nil {
		err = assigned
	}
	if err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		return nil, err
	}
	return p, nil
}

func (s *Sandbox) forget(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trees, t)
}

// Close ends every command that is not detached.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	var left []*Tree
	for t := range s.trees {
		left = append(left, t)
	}
	s.mu.Unlock()
	var err error
	for _, t := range left {
		if e := t.Close(); e != nil {
			err = e
		}
	}
	return err
}

func (t *Tree) await() {
	state, err := t.first.Wait()
	if err != nil {
		t.ended = Status{Code: -1, Signal: "unknown: " + err.Error()}
	} else {
		t.ended = Status{Code: state.ExitCode(), CPU: state.UserTime() + state.SystemTime()}
		if uint32(state.ExitCode()) == killed {
			t.ended.Code, t.ended.Signal = -1, "SIGKILL"
		}
	}
	close(t.exited)
	for told := false; ; told = true { // a job says only through a completion port that it is empty
		if u := t.Usage(); u.Processes == 0 {
			t.release()
			return
		}
		if !told {
			close(t.left)
		}
		select {
		case <-t.gone:
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// PID is the number of the first process.
func (t *Tree) PID() int { return t.pid }

// Exited is closed when the first process has ended.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Gone is closed when nothing is left of the tree.
func (t *Tree) Gone() <-chan struct{} { return t.gone }

// Outlived is closed when the first process has ended and something of the tree was seen
// to live on. One of Gone and Outlived comes soon after Exited.
func (t *Tree) Outlived() <-chan struct{} { return t.left }

// Wait waits for the first process alone: others may live on, and hold its pipes.
func (t *Tree) Wait() Status {
	<-t.exited
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.ended
	s.Peak = t.peak
	if !t.over {
		s.Peak = t.job.peak()
	}
	return s
}

// Signal ends the tree: Windows has no other signal.
func (t *Tree) Signal(sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return fault.New(fault.Unavailable, "Windows has no signals but the one that kills", "Terminate the command with force")
	}
	return t.Kill()
}

// Kill ends every process of the tree.
func (t *Tree) Kill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	if err := t.job.kill(); err != nil {
		return fault.New(fault.Internal, "some of what the command started could not be ended", "See which of its processes are left, and end them by hand").Because(err)
	}
	return nil
}

// Usage is what the tree uses now.
func (t *Tree) Usage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return Usage{}
	}
	u, _ := t.job.usage()
	return u
}

// PIDs are the numbers of the processes that live: for looking, not for signalling.
func (t *Tree) PIDs() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	return t.job.pids()
}

// Close ends what is left, unless the command is detached, and gives all back.
func (t *Tree) Close() error {
	var err error
	if !t.keep {
		err = t.Kill()
	}
	t.release()
	return err
}

func (t *Tree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over = true
		t.peak = t.job.peak()
		t.job.close()
		t.parted()
		close(t.gone)
	}
}
