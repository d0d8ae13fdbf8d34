package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

// Get is what is known of an execution at this moment, with what it takes while it is alive.
func (r *Runner) Get(id string) (Result, error) {
	e := r.find(id)
	if e == nil {
		return r.elsewhere(id)
	}
	result := e.result()
	result.Usage = e.tree.Usage()
	return result, nil
}

// elsewhere is an execution of another server: a job, or one of which the store still has the output.
func (r *Runner) elsewhere(id string) (Result, error) {
	job, err := r.jobs.result(id)
	if !errors.Is(err, fault.NotFound) || r.config.Store == nil || !isID(id) {
		return job, err
	}
	found, _, listErr := r.config.Store.List(output.Filter{ExecutionID: id, Limit: 1})
	if listErr != nil || len(found) == 0 {
		return job, err
	}
	var rec Record
	if json.Unmarshal(found[0].Note, &rec) != nil || rec.ID != id {
		return job, err
	}
	if rec.State == Running && found[0].State != output.Running {
		rec.State, rec.Why, rec.Code, rec.Completed = Failed, ByServer, -1, found[0].Ended
		if rec.Completed.IsZero() {
			rec.Completed = rec.Started
		}
	}
	return Result{Record: rec}, nil
}

// Stored returns when the store has all of the executions that have ended: whoever reads there waits for it first.
func (r *Runner) Stored(ctx context.Context) error {
	r.mu.Lock()
	all := slices.Clone(r.order)
	r.mu.Unlock()
	for _, e := range all {
		written := e.saved
		switch {
		case closed(e.gone):
			written = e.stored // the end of its output too
		case !closed(e.done):
			continue
		}
		select {
		case <-written:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Await is Get, once the execution has ended or for so long as it has not. The end of ctx ends the waiting only.
func (r *Runner) Await(ctx context.Context, id string, patience time.Duration) (Result, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	e := r.find(id)
	if e == nil {
		// A job is another process's, and may be an earlier server's: look again until it has ended.
		for pause := 10 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
			job, err := r.jobs.result(id)
			switch {
			case errors.Is(err, fault.NotFound):
				return r.elsewhere(id)
			case err != nil || job.State != Running:
				return job, err
			}
			again := time.NewTimer(pause)
			select {
			case <-again.C:
			case <-limit.C:
				again.Stop()
				return job, nil
			case <-ctx.Done():
				again.Stop()
				return Result{}, ctx.Err()
			}
		}
	}
	select {
	case <-e.done:
	case <-limit.C:
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	return r.Get(id)
}

// Filter chooses executions. Its zero value chooses the newest fifty.
type Filter struct {
	State   State  // "": all
	Pattern string // a part of the command, or a regular expression that matches in it
	Session string
	Limit   int // 1 to 1000; 0: 50
	Offset  int
}

const (
	defaultListed = 50
	maxListed     = 1000
)

func (f Filter) checked() (Filter, error) {
	f.Limit = cmp.Or(f.Limit, defaultListed)
	switch {
	case f.Limit < 1 || f.Limit > maxListed:
		return f, fault.New(fault.ParamInvalid, fmt.Sprintf("a limit of %d is out of range", f.Limit), "Use 1 to 1000").
			With("parameter", "limit").With("minimum", 1).With("maximum", maxListed)
	case f.Offset < 0:
		return f, fault.New(fault.ParamInvalid, "the offset is negative", "Use 0 or more").With("parameter", "offset")
	}
	switch f.State {
	case "", Running, Completed, Failed, TimedOut:
		return f, nil
	}
	return f, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no state %q", f.State),
		"Use running, completed, failed, timeout or all").With("parameter", "status_filter")
}

// Listing is a part of the executions, the newest first.
type Listing struct {
	Records  []Record
	Total    int // executions that are known
	Filtered int // of them, those that the filter chooses
}

// List is what the filter chooses among this server's executions and all detached jobs.
func (r *Runner) List(f Filter) (Listing, error) {
	f, err := f.checked()
	if err != nil {
		return Listing{}, err
	}
	var all []Record
	for _, one := range r.jobs.all() {
		all = append(all, one.Record)
	}
	r.mu.Lock()
	own := slices.Clone(r.order)
	r.mu.Unlock()
	for _, e := range own {
		all = append(all, e.record())
	}
	slices.SortStableFunc(all, func(a, b Record) int { return b.Started.Compare(a.Started) })

	pattern, _ := regexp.Compile(f.Pattern) // nil where it is none: then it is a part of the command only
	chosen := slices.DeleteFunc(slices.Clone(all), func(r Record) bool {
		return f.State != "" && f.State != r.State || f.Session != "" && f.Session != r.Session ||
			!strings.Contains(r.Text, f.Pattern) && (pattern == nil || !pattern.MatchString(r.Text))
	})
	from := min(f.Offset, len(chosen))
	to := min(from+f.Limit, len(chosen))
	return Listing{Records: chosen[from:to], Total: len(all), Filtered: len(chosen)}, nil
}

// Watched is a running execution, to look at and not to change.
type Watched struct {
	ID  string
	PID int // of the first process

	// Partial says that PIDs can miss some: a detached job belongs to another process, and this one sees only its first
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

func (e *execution) watched() Watched {
	return Watched{ID: e.rec.ID, PID: e.tree.PID(), pids: e.tree.PIDs, gone: e.tree.Gone()}
}

func (j job) watched() Watched {
	return Watched{ID: j.ID, PID: j.PID, Partial: true, pids: j.First.kin}
}
