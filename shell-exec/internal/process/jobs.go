package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// jobs are the detached executions of a project, of this server and of those before it. Each has a file, which its supervisor
// alone writes: what is known of a job is read there every time, so that all servers of the project know the same.
type jobs struct {
	records     // none has a root: there are no jobs
	limit   int // records of those that ended, of all projects
	start   sync.Mutex

	mu       sync.Mutex
	children []*os.Process // supervisors of this server that are not reaped yet
}

// job is what the file says.
type job struct {
	Record
	Supervisor identity `json:"supervisor"`
	First      identity `json:"first"` // the command's first process
}

// alive says whether something of the job may be left.
func (j job) alive() bool { return j.State == Running || j.Lingering }

// isID says whether a client's word can be the name of a job: nothing else becomes part of a file name.
func isID(id string) bool {
	name, ok := strings.CutPrefix(id, "exec_")
	return ok && len(name) == 16 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// load is the job of that name as it is now.
func (j *jobs) load(id string) (job, error) {
	missing := fault.New(fault.NotFound, fmt.Sprintf("there is no execution %q", id), "Look at process_list")
	if j.root == nil || !isID(id) {
		return job{}, missing
	}
	found, err := j.read(j.project, id)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errForged):
		return job{}, missing.Because(err)
	case err != nil:
		return job{}, fault.From(err)
	}
	return j.seen(found), nil
}

// seen corrects what the file says by what is there: a supervisor that was killed could not say so.
func (j *jobs) seen(found job) job {
	if !found.alive() || found.Supervisor.alive() || found.First.alive() {
		return found
	}
	if found.State == Running {
		found.State, found.Why, found.Code = Failed, ByLoss, -1
		found.Completed = found.Started
		if info, err := j.root.Stat(fileOf(j.project, found.ID)); err == nil {
			found.Completed = info.ModTime()
		}
	}
	found.Lingering = false
	return found
}

// all are the jobs, in no order.
func (j *jobs) all() []job {
	if j.root == nil {
		return nil
	}
	j.reap()
	var found []job
	for _, id := range j.ids(j.project) {
		if one, err := j.load(id); err == nil {
			found = append(found, one)
		}
	}
	return found
}

func (j *jobs) result(id string) (Result, error) {
	j.reap()
	found, err := j.load(id)
	return Result{Record: found.Record}, err
}

// prune removes the oldest records of jobs that have ended, if there are too many of them in all projects, and what is no
// record of ours.
func (j *jobs) prune() {
	type ended struct {
		file  string
		begun time.Time
	}
	var all []ended
	for _, project := range j.projects() {
		for _, id := range j.ids(project) {
			one, err := j.read(project, id)
			switch {
			case errors.Is(err, errForged):
				_ = j.root.Remove(fileOf(project, id))
			case err == nil && !j.seen(one).alive():
				all = append(all, ended{fileOf(project, id), one.Started})
			}
		}
	}
	slices.SortFunc(all, func(a, b ended) int { return b.begun.Compare(a.begun) })
	for _, one := range all[min(j.limit, len(all)):] {
		_ = j.root.Remove(one.file)
	}
	for _, project := range j.projects() {
		if project != j.project {
			_ = j.root.Remove(project) // goes only where nothing is in it
		}
	}
}

// end sends the signal, again where the supervisor ended before it could act on it.
func (j *jobs) end(ctx context.Context, one job, signal syscall.Signal) (job, error) {
	for {
		supervised := one.Supervisor.alive()
		if err := one.send(signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return one, fault.From(err)
		}
		left, err := j.awaitEffect(ctx, one, signal)
		if err != nil || !left.alive() || !supervised || left.Supervisor.alive() {
			return left, err
		}
		one = left
	}
}

// awaitEffect waits for what a signal brings about.
func (j *jobs) awaitEffect(ctx context.Context, one job, signal syscall.Signal) (job, error) {
	patience := signalTimeout
	if signal == syscall.SIGTERM || signal == syscall.SIGKILL {
		patience = termTimeout + toVanish
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	supervised := one.Supervisor.alive()
	for {
		j.reap()
		left, err := j.load(one.ID)
		// A supervisor that has ended has written the end of the output too.
		if err != nil || !left.Supervisor.alive() && (supervised || !left.alive()) {
			return left, err
		}
		select {
		case <-look.C:
		case <-limit.C:
			return left, nil
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}
