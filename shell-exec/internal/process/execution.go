package process

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// execution is one command from its start until nothing of it is left. Its own goroutine, in live, is the only one that
// ends it; everybody else asks.
type execution struct {
	runner *Runner
	tree   Tree
	asks   chan ending
	done   chan struct{} // closed when the first process has ended and its output is here
	gone   chan struct{} // closed when nothing is left
	saved  chan struct{} // closed when the store has what was written until the end
	stored chan struct{} // closed when nothing is left to store

	answered chan struct{} // closed when the call that started it has its answer
	seenEnd  atomic.Bool   // and that was about the end

	streams *streams
	newest  output.Newest
	written atomic.Int64
	full    chan struct{} // closed when a stream has outgrown the answer
	filled  sync.Once

	mu             sync.Mutex
	rec            Record
	stdout, stderr *output.Capture // nil when dropped
}

// ending is a wish that an execution may end: TERM at first where there is a grace, KILL after it.
type ending struct {
	why   Ending
	grace time.Duration
}

// live watches over the execution until nothing of it is left. limit is the time that it has, and what it leaves behind
// with it; 0: no limit.
func (e *execution) live(limit time.Duration) {
	var deadline <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		deadline = timer.C
		e.mu.Lock()
		e.rec.Until = e.rec.Started.Add(limit)
		e.mu.Unlock()
	}
	status, why := e.watch(deadline)
	for _, d := range e.streams.drains {
		d.finish() // all that was written before is here
	}

	// Whether something lives on was looked for while the output was drained, so there is little to wait for.
	lingers := false
	if why == "" {
		select {
		case <-e.tree.Gone():
		case <-e.tree.Outlived():
			lingers = true
		}
	}
	e.mu.Lock()
	e.rec.Completed, e.rec.Lingering = time.Now(), lingers
	e.rec.Code, e.rec.Signal, e.rec.Peak, e.rec.Why = status.Code, status.Signal, status.Peak, why
	if status.Signal != "" && status.Code <= 0 {
		e.rec.Code = 128 + signalNumber(status.Signal)
	}
	switch {
	case status.MemoryExceeded:
		e.rec.Why = ByMemory
	case status.ProcessesExceeded:
		e.rec.Why = ByProcesses
	}
	switch {
	case e.rec.Why == ByDeadline:
		e.rec.State = TimedOut
	case e.rec.Why != "" || status.Signal != "":
		e.rec.State = Failed
	default:
		e.rec.State = Completed
	}
	e.mu.Unlock()
	close(e.done)

	// The store gets what is to be kept when the call has its answer and that was encoded and sent. Who reads in the store
	// waits for it (Runner.Stored).
	go func() {
		defer close(e.saved)
		select {
		case <-e.answered:
			moment := time.NewTimer(aside)
			defer moment.Stop()
			select {
			case <-moment.C:
			case <-e.runner.ending:
			}
		case <-e.runner.ending:
		}
		e.keep(context.Background())
	}()

	// Processes that the command left behind have the time that it had. Of what was ended, nothing is left to stay for.
	if why == "" || e.tree.Kill() != nil {
		select {
		case <-e.tree.Gone():
		case <-deadline:
			e.end(ending{ByDeadline, e.runner.config.Limits.Grace})
		case how := <-e.asks:
			e.end(how)
		case <-e.runner.ending:
			e.end(ending{ByServer, e.runner.config.Limits.Grace})
		}
	}
	_ = e.tree.Close()
	e.streams.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec.Lingering = false
}

func (e *execution) watch(deadline <-chan time.Time) (sandbox.Status, Ending) {
	grace := e.runner.config.Limits.Grace
	var how ending
	select {
	case <-e.tree.Exited():
		return e.tree.Wait(), ""
	case how = <-e.asks:
	case <-deadline:
		how = ending{ByDeadline, grace}
	case <-e.runner.ending:
		how = ending{ByServer, grace}
	}
	e.end(how)
	select {
	case <-e.tree.Exited():
		return e.tree.Wait(), how.why
	default:
		return sandbox.Status{Code: -1, Signal: "SIGKILL"}, how.why
	}
}

// unkillable is how long a killed process may take to vanish before its execution is reported as ended all the same.
const unkillable = 2 * time.Second

// end ends the whole tree, or has done what can be done.
func (e *execution) end(how ending) {
	if how.grace > 0 && e.tree.Signal(syscall.SIGTERM) == nil {
		e.awaitEmpty(how.grace)
	}
	limit := time.NewTimer(unkillable)
	defer limit.Stop()
	killed := make(chan struct{})
	go func() {
		_ = e.tree.Kill()
		<-e.tree.Exited()
		close(killed)
	}()
	select {
	case <-killed:
	case <-limit.C:
	}
}

// awaitEmpty waits, as long as the grace lasts, for the tree to become empty; a request without grace ends the wait.
func (e *execution) awaitEmpty(grace time.Duration) {
	limit := time.NewTimer(grace)
	defer limit.Stop()
	pause := 5 * time.Millisecond
	look := time.NewTimer(pause)
	defer look.Stop()
	for {
		select {
		case <-e.tree.Gone():
			return
		case <-look.C:
			if e.tree.Usage().Processes == 0 {
				return
			}
			pause = min(2*pause, 50*time.Millisecond) // a look is a walk through all processes
			look.Reset(pause)
		case how := <-e.asks:
			if how.grace == 0 {
				return
			}
		case <-limit.C:
			return
		}
	}
}

// aside is how long what is to be kept waits behind the answer, which is encoded and sent meanwhile.
const aside = 3 * time.Millisecond

// keep has the store write down the execution with its output so far.
func (e *execution) keep(ctx context.Context) {
	run := e.streams.recording
	if run == nil {
		return
	}
	if note, err := json.Marshal(e.record()); err == nil {
		_ = run.Note(note) // too long: the output is found all the same
	}
	_ = run.Keep(ctx) // the record says why not
}

// ask has live end the execution. A request that does not fit is one more of the same.
func (e *execution) ask(how ending) {
	select {
	case e.asks <- how:
	default:
	}
}

// Waiting calls look for news so often, and let a command that outgrew its answer continue for so long before they answer.
const (
	progressPause = 500 * time.Millisecond
	outgrown      = time.Second
	progressLines = 10
)

// attend waits for the command, until patience runs out; nil: to the end. The end of ctx ends the command.
func (e *execution) attend(ctx context.Context, q Request, patience *time.Timer) (Result, error) {
	var news, over <-chan time.Time
	if q.Progress != nil {
		ticker := time.NewTicker(progressPause)
		defer ticker.Stop()
		news = ticker.C
	}
	full, transition := e.full, ByForegroundTimeout
	if patience == nil {
		full = nil
	} else {
		over = patience.C
	}
	var reported int64 // of what was written
	for {
		select {
		case <-e.done:
			r := e.result()
			e.seenEnd.Store(true)
			if r.State != TimedOut || !q.NoPartial {
				return r, nil
			}
			return Result{}, fault.New(fault.TimedOut, fmt.Sprintf("the command was ended after %v seconds", e.runner.limited(q).Seconds()),
				"Give it more timeout_seconds, or run it in the background").With("execution_id", r.ID).With("output_id", r.OutputID)
		case <-ctx.Done():
			e.ask(ending{ByCancel, e.runner.config.Limits.Grace})
			<-e.done
			return Result{}, ctx.Err()
		case <-news:
			if written := e.written.Load(); written != reported {
				reported = written
				q.Progress(Progress{Lines: e.newest.Lines(progressLines), Bytes: written, Since: time.Since(e.rec.Started)})
			}
		case <-full:
			if time.Since(e.rec.Started)+outgrown < q.ForegroundTimeout {
				patience.Reset(outgrown)
				transition = ByOutputSize
			}
			full = nil
		case <-over: // an adaptive call whose command keeps running
			e.keep(ctx)
			r := e.result()
			if r.State == Running {
				r.Transition = transition
			}
			return r, nil
		}
	}
}

func (e *execution) record() Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.rec
	rec.Variables = maps.Clone(rec.Variables)
	rec.Written = e.written.Load()
	if run := e.streams.recording; run != nil && run.Err() != nil {
		rec.Lost = fault.From(run.Err()).Msg
	}
	return rec
}

func (e *execution) result() Result {
	r := Result{Record: e.record()}
	e.mu.Lock()
	stdout, stderr := e.stdout, e.stderr
	e.mu.Unlock()
	if stdout != nil {
		r.Stdout, r.Stderr = stdout.Parts(), stderr.Parts()
	}
	return r
}

func (e *execution) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stdout, e.stderr = nil, nil
}

// closed says whether the channel is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
