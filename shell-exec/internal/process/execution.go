package process

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

// execution is one command from its start until nothing of it is left. Its own goroutine, in live, is the only one that
// ends it; everybody else asks.
type execution struct {
	runner *Runner
	tree   Tree
	asks   chan ending
	done   chan struct{} // closed when the first process has ended and its output is here
	gone   chan struct{} // closed when nothing is left

	answered chan struct{} // closed when the call that started it has its answer
	told     atomic.Bool   // and that was about the end

	streams *streams
	newest  output.Newest
	written atomic.Int64
	full    chan struct{} // closed when a stream has outgrown the answer
	filled  sync.Once

	mu             sync.Mutex
	rec            Record
	stdout, stderr *output.Capture // nil when dropped

	treeMu     sync.RWMutex // for reading by who uses the tree
	treeClosed bool
}

// ending is a wish that an execution may end: TERM at first where there is a grace, KILL after it.
type ending struct {
	why   Ending
	grace time.Duration
}

func newExecution(r *Runner, q Request) *execution {
	return &execution{
		runner:   r,
		asks:     make(chan ending, 4),
		done:     make(chan struct{}),
		gone:     make(chan struct{}),
		answered: make(chan struct{}),
		full:     make(chan struct{}),
		rec: Record{ID: cmp.Or(r.named, newID()), Text: short(q.Text), Session: q.Session, Dir: q.Command.Dir, Mode: q.Mode,
			Variables: maps.Clone(q.Variables), State: Running, Started: time.Now()},
	}
}

// live watches over the execution until nothing of it is left. limit is the time it has; 0: no limit.
func (e *execution) live(limit time.Duration) {
	exited := make(chan Status, 1)
	go func() { exited <- e.tree.Wait() }()
	exit, why := e.watch(exited, limit)
	e.streams.settle()
	e.finish(exit, why)
	close(e.done)
	e.linger()
	e.release()
}

func (e *execution) watch(exited <-chan Status, limit time.Duration) (Status, Ending) {
	var deadline <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		deadline = timer.C
	}
	grace := e.runner.config.Limits.Grace
	how := ending{}
	select {
	case exit := <-exited:
		return exit, ""
	case how = <-e.asks:
	case <-deadline:
		how = ending{ByDeadline, grace}
	case <-e.runner.ending:
		how = ending{ByServer, grace}
	}
	return e.end(exited, how), how.why
}

// unkillable is how long a killed process may take to vanish before its execution is told as ended all the same.
const unkillable = 2 * time.Second

// end ends the whole tree, and says how the first process ended.
func (e *execution) end(exited <-chan Status, how ending) Status {
	exit := Status{Signal: "SIGKILL"}
	if how.grace > 0 {
		_ = e.use(func(t Tree) error { return t.Signal(syscall.SIGTERM) })
		if seen, ok := e.fade(exited, how.grace); ok {
			exit, exited = seen, nil
		}
	}
	limit := time.NewTimer(unkillable)
	defer limit.Stop()
	killed := make(chan struct{})
	go func() {
		_ = e.use(Tree.Kill)
		close(killed)
	}()
	for exited != nil || killed != nil {
		select {
		case exit = <-exited:
			exited = nil
		case <-killed:
			killed = nil
		case <-limit.C:
			return exit
		}
	}
	return exit
}

// fade waits, as long as the grace lasts, for the tree to become empty; a wish without grace cuts it short.
func (e *execution) fade(exited <-chan Status, grace time.Duration) (exit Status, seen bool) {
	limit := time.NewTimer(grace)
	defer limit.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case exit = <-exited:
			exited, seen = nil, true
		case <-look.C:
		case how := <-e.asks:
			if how.grace == 0 {
				return exit, seen
			}
		case <-limit.C:
			return exit, seen
		}
		if (seen || exited == nil) && e.usage().Processes == 0 {
			return exit, seen
		}
	}
}

// finish writes down how the first process ended.
func (e *execution) finish(exit Status, why Ending) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec.Completed = time.Now()
	e.rec.Code, e.rec.Signal, e.rec.Peak, e.rec.Why = exit.Code, exit.Signal, exit.Peak, why
	if exit.Signal != "" && exit.Code <= 0 {
		e.rec.Code = 128 + signalNumber(exit.Signal)
	}
	if exit.MemoryExceeded {
		e.rec.Why = ByMemory
	}
	switch {
	case e.rec.Why == ByDeadline:
		e.rec.State = TimedOut
	case e.rec.Why != "" || exit.Signal != "":
		e.rec.State = Failed
	default:
		e.rec.State = Completed
	}
	e.rec.Lingering = true // until linger has seen that it is not
}

// linger stays while processes that the command left behind are alive.
func (e *execution) linger() {
	ended := make(chan Status)
	close(ended)
	for pause := 10 * time.Millisecond; e.usage().Processes > 0; pause = min(2*pause, time.Second) {
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case how := <-e.asks:
			e.end(ended, how)
		case <-e.runner.ending:
			e.end(ended, ending{ByServer, e.runner.config.Limits.Grace})
		}
		again.Stop()
	}
}

// release gives back what the execution held.
func (e *execution) release() {
	e.treeMu.Lock()
	e.treeClosed = true
	_ = e.tree.Close()
	e.treeMu.Unlock()
	e.streams.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec.Lingering = false
}

// ask tells live to end the execution. What does not fit is one wish more of the same.
func (e *execution) ask(how ending) {
	select {
	case e.asks <- how:
	default:
	}
}

// use calls f with the tree, if it is still there.
func (e *execution) use(f func(Tree) error) error {
	e.treeMu.RLock()
	defer e.treeMu.RUnlock()
	if e.treeClosed {
		return syscall.ESRCH
	}
	return f(e.tree)
}

func (e *execution) usage() (u Usage) {
	_ = e.use(func(t Tree) error { u = t.Usage(); return nil })
	return u
}

// Waiting calls look for news so often, and let a command that outgrew its answer go on for so long before they answer.
const (
	progressPause = 500 * time.Millisecond
	outgrown      = time.Second
)

// attend waits for the command, until patience runs out; nil: to the end. The end of ctx ends the command.
func (e *execution) attend(ctx context.Context, q Request, patience *time.Timer) (Result, error) {
	news := newTeller(e, q.Progress)
	defer news.stop()
	var over <-chan time.Time
	full, transition := e.full, ByForegroundTimeout
	if patience == nil {
		full = nil
	} else {
		over = patience.C
	}
	for {
		select {
		case <-e.done:
			return e.answer(q)
		case <-ctx.Done():
			return Result{}, e.cancel(ctx)
		case <-news.due:
			news.tell()
		case <-full:
			if time.Since(e.rec.Started)+outgrown < q.ForegroundTimeout {
				patience.Reset(outgrown)
				transition = ByOutputSize
			}
			full = nil
		case <-over:
			return e.moved(transition), nil
		}
	}
}

// cancel ends the command, and answers when that is done.
func (e *execution) cancel(ctx context.Context) error {
	e.ask(ending{ByCancel, e.runner.config.Limits.Grace})
	<-e.done
	return ctx.Err()
}

func (e *execution) answer(q Request) (Result, error) {
	r := e.result()
	e.told.Store(true)
	if r.State != TimedOut || !q.NoPartial {
		return r, nil
	}
	return Result{}, fault.New(fault.TimedOut, fmt.Sprintf("the command was ended after %v seconds", e.runner.limited(q.Timeout).Seconds()),
		"Give it more timeout_seconds, or run it in the background").With("execution_id", r.ID).With("output_id", r.OutputID)
}

// moved is the answer of an adaptive call whose command goes on.
func (e *execution) moved(why Transition) Result {
	r := e.result()
	if r.State == Running {
		r.Transition = why
	}
	return r
}

func (e *execution) record() Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.rec.clone()
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

func (e *execution) isGone() bool {
	select {
	case <-e.gone:
		return true
	default:
		return false
	}
}

// teller tells a waiting caller what is new.
type teller struct {
	e    *execution
	to   func(Progress)
	due  <-chan time.Time
	stop func()
	told int64
}

func newTeller(e *execution, to func(Progress)) *teller {
	if to == nil {
		return &teller{stop: func() {}}
	}
	ticker := time.NewTicker(progressPause)
	return &teller{e: e, to: to, due: ticker.C, stop: ticker.Stop}
}

const linesTold = 10

func (t *teller) tell() {
	written := t.e.written.Load()
	if written == t.told {
		return
	}
	t.told = written
	t.to(Progress{Lines: t.e.newest.Lines(linesTold), Bytes: written, Since: time.Since(t.e.rec.Started)})
}
