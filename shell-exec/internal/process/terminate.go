package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Termination asks for the end of an execution, or for a signal to it.
type Termination struct {
	PID    int
	Signal string // TERM, KILL, INT, HUP, USR1 or USR2, with or without SIG; "": TERM
	Force  bool   // KILL, whatever Signal says
}

// Terminated is what came of it.
type Terminated struct {
	Record
	Sent  string // the name of the signal
	Ended bool   // nothing of the execution is left
}

// How long a termination waits: for the command to follow TERM, before KILL; and for the answer to another signal.
const (
	termTimeout   = time.Second
	signalTimeout = 200 * time.Millisecond
	toVanish      = unkillable + time.Second
)

// Terminate sends a signal to all that an execution started, however it forked. After TERM it kills what has not followed
// in a second. A process ID that no living execution of ours has is fault.NoProcess, whoever else has it.
func (r *Runner) Terminate(ctx context.Context, t Termination) (Terminated, error) {
	name := strings.TrimPrefix(strings.ToUpper(t.Signal), "SIG")
	if name == "" {
		name = "TERM"
	}
	signal, ok := signals[name]
	if !ok {
		return Terminated{}, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no signal %q to send", t.Signal),
			"Use TERM, KILL, INT, HUP, USR1 or USR2").With("parameter", "signal")
	}
	if t.Force {
		name, signal = "KILL", syscall.SIGKILL
	}
	e, err := r.living(t.PID)
	if e == nil { // a detached job: its supervisor holds the whole tree
		for _, one := range r.jobs.all() {
			if one.PID == t.PID && one.alive() {
				left, err := r.jobs.end(ctx, one, signal)
				return Terminated{Record: left.Record, Sent: "SIG" + name, Ended: !left.alive()}, err
			}
		}
		return Terminated{}, err
	}

	patience := toVanish
	switch signal {
	case syscall.SIGTERM:
		e.ask(ending{ByTermination, termTimeout})
		patience += termTimeout
	case syscall.SIGKILL:
		e.ask(ending{ByTermination, 0})
	default:
		patience = signalTimeout
		if err := e.tree.Signal(signal); err != nil {
			return Terminated{}, fault.From(err)
		}
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-e.gone:
	case <-limit.C:
	case <-ctx.Done():
		return Terminated{}, ctx.Err()
	}
	return Terminated{Record: e.record(), Sent: "SIG" + name, Ended: closed(e.gone)}, nil
}

// living is the execution of that process that has something alive. The newest one, for a number can come again.
func (r *Runner) living(pid int) (*execution, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := fault.New(fault.NoProcess, fmt.Sprintf("this server has no process %d", pid), "Look at process_list")
	for _, e := range slices.Backward(r.order) {
		switch {
		case e.rec.PID != pid:
		case !closed(e.gone):
			return e, nil
		default:
			missing = fault.New(fault.NoProcess, fmt.Sprintf("the process %d has ended already", pid), "Look at its execution").
				With("execution_id", e.rec.ID)
		}
	}
	return nil, missing
}
