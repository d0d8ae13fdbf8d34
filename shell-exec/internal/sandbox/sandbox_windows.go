package sandbox

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Confines reports whether commands open only what their rules name. Windows has nothing
// that keeps a program to some directories without an installation of its own.
func (s *Sandbox) Confines() bool { return false }

func (s *Sandbox) try() Report {
	var report Report
	for _, name := range []string{"read", "write", "network", "processes", "kernel"} {
		const fix = "Run the server in WSL 2 or in a virtual machine"
		report = append(report, Part{Name: name, Why: "Windows cannot keep a program to it", Fix: fix})
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
	onEnd  func()

	mu   sync.Mutex
	job  *job
	peak int64 // once the job is gone
	over bool
	keep bool // detached
}

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// Start starts a command and returns its tree: the process and all that come of
// it. ctx is for the start alone. The command starts suspended, is put into a job,
// and then runs: nothing is ever outside.
func (s *Sandbox) Start(ctx context.Context, c Command, f Files) (*Tree, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	if s.mode == Required && c.Rules.UnsafeUnrestricted {
		return nil, forbidden()
	}
	j, err := newJob(c.Limits, c.Detached)
	if err != nil {
		return nil, startFailed(c, err)
	}
	first, err := j.begin(c, f)
	if err != nil {
		j.close()
		return nil, startFailed(c, err)
	}
	t := &Tree{
		first: first, pid: first.Pid, exited: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{}),
		job: j, keep: c.Detached,
	}
	t.onEnd = func() { s.forget(t) }
	s.remember(t)
	go t.await()
	return t, nil
}

func (j *job) begin(c Command, f Files) (*os.Process, error) {
	files, null, err := f.open()
	if err != nil {
		return nil, err
	}
	defer null.Close()
	const flags = windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Dir: c.Dir, Env: append([]string{}, c.Env...), Files: files, Sys: &syscall.SysProcAttr{CreationFlags: flags},
	})
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
	for reported := false; ; reported = true { // a job says only through a completion port that it is empty
		if u := t.Usage(); u.Processes == 0 {
			t.release()
			return
		}
		if !reported {
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
	if err := windows.TerminateJobObject(t.job.handle, killed); err != nil {
		return fault.New(fault.Internal, "some of what the command started could not be ended",
			"See which of its processes are left, and end them by hand").Because(err)
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
		t.onEnd()
		close(t.gone)
	}
}

// job holds the processes of a job object: children are born into it and cannot
// leave. The kernel keeps its limits, and ends all of it when the last handle goes.
type job struct{ handle windows.Handle }

// killed is the exit code of what was ended by us.
const killed = 0xC000013A // STATUS_CONTROL_C_EXIT

// newJob makes a job with limits. A detached one outlives its handle.
func newJob(l Limits, detached bool) (*job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	flags := &info.BasicLimitInformation.LimitFlags
	*flags = windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	if !detached {
		*flags |= windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	if l.Processes > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(l.Processes)
	}
	if l.CPU > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		info.BasicLimitInformation.PerProcessUserTimeLimit = int64(l.CPU / 100)
	}
	if l.Memory > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(l.Memory)
	}
	at, size := uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))
	if _, err := windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, at, size); err != nil {
		windows.CloseHandle(handle)
		return nil, err
	}
	return &job{handle}, nil
}

func (j *job) close() { windows.CloseHandle(j.handle) }

// query reads one kind of information of the job into a structure.
func (j *job) query(kind int32, into unsafe.Pointer, size uintptr) error {
	return windows.QueryInformationJobObject(j.handle, kind, uintptr(into), uint32(size), nil)
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION (winnt.h), which x/sys
// does not name.
type accounting struct {
	userTime, kernelTime             int64
	thisUserTime, thisKernelTime     int64
	pageFaults, processes, active, _ uint32
}

func (j *job) usage() (Usage, error) {
	var a accounting
	const basicAccounting = 1 // JobObjectBasicAccountingInformation
	if err := j.query(basicAccounting, unsafe.Pointer(&a), unsafe.Sizeof(a)); err != nil {
		return Usage{}, err
	}
	return Usage{Processes: int(a.active), CPU: time.Duration(a.userTime+a.kernelTime) * 100}, nil
}

// processList is JOBOBJECT_BASIC_PROCESS_ID_LIST (winnt.h) with room for many.
type processList struct {
	assigned, listed uint32
	pids             [4096]uintptr
}

// pids are the first processes of the job, as many as a list has room for.
func (j *job) pids() []int {
	var l processList
	const basicProcessList = 3 // JobObjectBasicProcessIdList
	err := j.query(basicProcessList, unsafe.Pointer(&l), unsafe.Sizeof(l))
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	var out []int
	for _, pid := range l.pids[:min(int(l.listed), len(l.pids))] {
		out = append(out, int(pid))
	}
	return out
}

// peak is the most memory that the job has had.
func (j *job) peak() int64 {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if j.query(windows.JobObjectExtendedLimitInformation, unsafe.Pointer(&info), unsafe.Sizeof(info)) != nil {
		return 0
	}
	return int64(info.PeakJobMemoryUsed)
}
