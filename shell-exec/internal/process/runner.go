package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

// Config is what a Runner works with. The zero value of a limit is its default.
type Config struct {
	Starter Starter
	Store   *output.Store // nil: output beyond the answer is not kept
	Limits  Limits

	Jobs       string         // the private directory of detached jobs, of all projects; "": there are none
	Project    string         // whose jobs this runner knows: a name of small letters and digits
	Supervisor []string       // the command line of a program that calls Supervise; --job and the ID are added
	Temp       *confine.Grant // of a supervisor: its temporary directory, which the job has in place of the server's
}

// Limits bound what a Runner holds at once.
type Limits struct {
	Running int           // executions with a process that is alive, detached jobs included; 50
	Records int           // of executions that ended; 500
	Jobs    int           // records of detached jobs that ended; 100
	Time    time.Duration // of any execution but a detached one; 0: as long as it likes
	Grace   time.Duration // between TERM and KILL at a time-out, a cancel and the end of the server; 250 ms
}

func (l Limits) filled() Limits {
	l.Running = cmp.Or(l.Running, 50)
	l.Records = cmp.Or(l.Records, 500)
	l.Jobs = cmp.Or(l.Jobs, 100)
	l.Grace = cmp.Or(l.Grace, 250*time.Millisecond)
	return l
}

// Runner runs commands and remembers them. Its methods may be called from several goroutines.
type Runner struct {
	config  Config
	slots   chan struct{} // one in it for every execution that has something alive
	ending  chan struct{} // closed when the server ends
	live    sync.WaitGroup
	buffers sync.Pool
	jobs    *jobs
	named   string // the ID of the only execution of a supervisor

	mu     sync.Mutex
	closed bool
	order  []*execution // oldest first
	recent []*execution // ended lately, whose output is still at hand
}

// New is a Runner over c; jobs that an earlier server detached are found in c.Jobs.
func New(c Config) (*Runner, error) {
	if c.Starter == nil {
		return nil, fault.New(fault.Misconfigured, "there is nothing that starts commands", "Report this")
	}
	c.Limits = c.Limits.filled()
	r := &Runner{config: c, slots: make(chan struct{}, c.Limits.Running), ending: make(chan struct{})}
	r.buffers.New = func() any { b := make([]byte, drainSize); return &b }
	r.jobs = &jobs{limit: c.Limits.Jobs}
	if c.Jobs == "" {
		return r, nil
	}
	var err error
	if r.jobs.records, err = openRecords(c.Jobs, c.Project); err != nil {
		return nil, err
	}
	r.jobs.prune()
	return r, nil
}

// Run starts a command and waits for it as its mode says. A command that ran is an answer, however it ended; an error says
// that it did not start, or that ctx ended (which ends the command too), or that a time-out passed and NoPartial was set.
func (r *Runner) Run(ctx context.Context, q Request) (Result, error) {
	q, err := q.checked()
	if err != nil {
		return Result{}, err
	}
	if q.Mode == Detached {
		return r.detach(ctx, q)
	}
	e, err := r.begin(ctx, q)
	if err != nil {
		return Result{}, err
	}
	defer close(e.answered)
	switch q.Mode {
	case Background:
		return e.result(), nil
	case Foreground:
		return e.attend(ctx, q, nil)
	}
	patience := time.NewTimer(q.ForegroundTimeout)
	defer patience.Stop()
	return e.attend(ctx, q, patience)
}

// begin starts the command and everything that looks after it.
func (r *Runner) begin(ctx context.Context, q Request) (_ *execution, err error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	hasSlot := false
	defer func() {
		if err != nil {
			if hasSlot {
				<-r.slots
			}
			r.live.Done()
		}
	}()
	select {
	case r.slots <- struct{}{}:
	default:
		wait := time.NewTimer(settling)
		defer wait.Stop()
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wait.C:
			return nil, r.full()
		}
	}
	hasSlot = true

	// The execution with its pipes and its tree.
	e := &execution{
		runner:   r,
		asks:     make(chan ending, 4),
		done:     make(chan struct{}),
		gone:     make(chan struct{}),
		saved:    make(chan struct{}),
		stored:   make(chan struct{}),
		answered: make(chan struct{}),
		full:     make(chan struct{}),
		rec: Record{ID: cmp.Or(r.named, newID()), Text: shortened(q.Text), Session: q.Session, Dir: q.Command.Dir, Mode: q.Mode,
			Variables: maps.Clone(q.Variables), State: Running, Started: time.Now()},
	}
	s, err := r.open(e, q)
	if err != nil {
		return nil, err
	}
	// The command may keep running when the call is over.
	e.tree, err = r.config.Starter.Start(context.WithoutCancel(ctx), q.Command, s.child)
	s.closeChild()
	if err != nil {
		s.abandon()
		if f, ok := errors.AsType[*fault.Error](err); ok { // the starter knows better what happened
			return nil, f
		}
		return nil, fault.New(fault.StartFailed, "the command could not be started", "Look at the program and its directory").Because(err)
	}
	e.rec.PID = e.tree.PID()
	s.begin(&r.buffers)
	if q.Mode == Background || q.Mode == Detached {
		e.keep(ctx)
	}

	// The oldest records of what has ended are dropped, if there are too many of them.
	r.mu.Lock()
	r.order = append(r.order, e)
	over := len(r.order) - len(r.slots) - r.config.Limits.Records
	r.order = slices.DeleteFunc(r.order, func(e *execution) bool {
		if over <= 0 || !closed(e.gone) {
			return false
		}
		over--
		return true
	})
	r.mu.Unlock()

	go func() {
		e.live(r.limited(q))
		close(e.gone)
		<-r.slots
		<-e.saved
		e.streams.end()
		close(e.stored)
		r.live.Done()
		<-e.answered
		if e.seenEnd.Load() {
			e.drop()
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.recent = append(r.recent, e)
		if len(r.recent) > recently {
			r.recent[0].drop()
			r.recent = slices.Delete(r.recent, 0, 1)
		}
	}()
	return e, nil
}

// limited is the time that a command has, with what the operator and its caller allow; 0 is no limit.
func (r *Runner) limited(q Request) time.Duration {
	least := time.Duration(0)
	for _, limit := range []time.Duration{q.Timeout, q.MaxTime, r.config.Limits.Time} {
		if limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// settling is how long a new command waits for the place of one that has just ended.
const settling = 250 * time.Millisecond

func (r *Runner) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fault.New(fault.Unavailable, "the server is about to end", "Start the command with the next one")
	}
	r.live.Add(1)
	return nil
}

func (r *Runner) full() error {
	return fault.New(fault.LimitReached, fmt.Sprintf("%d commands are running already", r.config.Limits.Running),
		"Wait for one to end, or terminate one; process_list shows them").With("limit", r.config.Limits.Running)
}

// recently is of how many ended executions the output stays at hand; the store has it for longer.
const recently = 8

func (r *Runner) find(id string) *execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range slices.Backward(r.order) {
		if e.rec.ID == id {
			return e
		}
	}
	return nil
}

// Close ends every execution but the detached ones, and answers within a second. Nothing starts afterwards.
func (r *Runner) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.ending)
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.live.Wait(); close(done) }()
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case <-done:
		if r.jobs.root != nil {
			_ = r.jobs.root.Close()
		}
		return nil
	case <-limit.C:
		return fault.New(fault.Internal, fmt.Sprintf("%d commands are still there after they were killed", len(r.slots)),
			"Look for processes that wait for a disk or a driver")
	}
}

// newID is a name that nobody guesses.
func newID() string { return "exec_" + strings.ToLower(rand.Text()[:16]) }
