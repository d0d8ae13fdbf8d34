package process

import (
	"fmt"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Watched is a living execution, for somebody who looks at it and does not touch it.
type Watched struct {
	ID  string
	PID int // of the first process

	// Partial says that PIDs can miss some: a detached job is held by another process, and seen from here are only its first
	// process, that one's session, and their children.
	Partial bool

	pids func() []int
	gone <-chan struct{}
}

// PIDs are the processes of the execution that live now; none once it is over. A number may be another process's by the
// time it is used.
func (w Watched) PIDs() []int { return w.pids() }

// Gone is closed when none is left; nil of a detached job, whose end shows in its processes.
func (w Watched) Gone() <-chan struct{} { return w.gone }

// Watch is the living execution whose first process has the number; fault.NoProcess where there is none, whoever else has it.
func (r *Runner) Watch(pid int) (Watched, error) {
	e, err := r.living(pid)
	if e != nil {
		return e.watched(), nil
	}
	for _, one := range r.jobs.all() {
		if one.PID == pid && one.alive() {
			return one.watched(), nil
		}
	}
	return Watched{}, err
}

// WatchExecution is the living execution of that ID; fault.NoProcess where it has ended, fault.NotFound where there was none.
func (r *Runner) WatchExecution(id string) (Watched, error) {
	if e := r.find(id); e != nil && !closed(e.gone) {
		return e.watched(), nil
	}
	if one, err := r.jobs.load(id); err == nil && one.alive() {
		return one.watched(), nil
	}
	if _, err := r.Get(id); err != nil {
		return Watched{}, err
	}
	return Watched{}, fault.New(fault.NoProcess, fmt.Sprintf("nothing of the execution %s is alive", id), "Look at its result").
		With("execution_id", id)
}

func (e *execution) watched() Watched {
	return Watched{ID: e.rec.ID, PID: e.tree.PID(), pids: e.tree.PIDs, gone: e.tree.Gone()}
}

func (j job) watched() Watched {
	return Watched{ID: j.ID, PID: j.PID, Partial: true, pids: j.First.kin}
}
