package process

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// order is what a supervisor reads from a pipe: an environment can hold what belongs in no file.
type order struct {
	ID      string
	Request Request
}

// reply is what it answers, when the command has started or could not be.
type reply struct {
	Record Record
	Code   fault.Code `json:",omitempty"` // where it could not
	Msg    string     `json:",omitempty"`
	Do     string     `json:",omitempty"`
}

// toStart is how long a supervisor may take to answer.
const toStart = 10 * time.Second

// detach has a process of its own start the command and watch over it, so that it outlives the server with all that is
// promised of it: its tree can be ended, its output is kept within bounds, and how it ended is written down.
func (r *Runner) detach(ctx context.Context, q Request) (Result, error) {
	if r.jobs.root == nil || len(r.config.Supervisor) == 0 {
		return Result{}, fault.New(fault.Unavailable, "this server cannot detach commands", "Use execution_mode background")
	}
	if err := r.enter(); err != nil {
		return Result{}, err
	}
	defer r.live.Done()
	r.jobs.start.Lock()
	defer r.jobs.start.Unlock()
	running := len(r.slots)
	for _, one := range r.jobs.all() {
		if one.alive() {
			running++
		}
	}
	if running >= r.config.Limits.Running {
		return Result{}, r.full()
	}
	r.jobs.prune()
	answer, err := r.supervisor(ctx, order{ID: newID(), Request: q})
	if err != nil {
		return Result{}, err
	}
	if answer.Code != "" {
		return Result{}, fault.New(answer.Code, answer.Msg, answer.Do)
	}
	answer.Record.Variables = q.Variables
	return Result{Record: answer.Record}, nil
}

// supervisor starts one, sends it the order, and waits for its answer. It is killed where that does not come.
func (r *Runner) supervisor(ctx context.Context, o order) (answer reply, err error) {
	in, to, err := os.Pipe()
	if err != nil {
		return reply{}, fault.From(err)
	}
	defer to.Close()
	defer in.Close()
	from, out, err := os.Pipe()
	if err != nil {
		return reply{}, fault.From(err)
	}
	defer from.Close()
	defer out.Close()
	cmd := exec.Command(r.config.Supervisor[0], append(slices.Clone(r.config.Supervisor[1:]), ofSupervisor(o.ID))...)
	cmd.Dir, cmd.SysProcAttr = os.TempDir(), apart()
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		return reply{}, fault.New(fault.StartFailed, "what watches over a detached command could not be started",
			"Use execution_mode background").Because(err)
	}
	_, _ = in.Close(), out.Close() // they are the supervisor's: its end shows at ours
	defer func() {
		if err != nil {
			_ = cmd.Process.Kill()
			_, _ = cmd.Process.Wait()
		}
	}()

	limit := time.Now().Add(toStart)
	_, _ = to.SetDeadline(limit), from.SetDeadline(limit)
	stop := context.AfterFunc(ctx, func() {
		_, _ = to.SetDeadline(time.Unix(1, 0)), from.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	if err = json.NewEncoder(to).Encode(o); err == nil {
		_ = to.Close()
		err = json.NewDecoder(io.LimitReader(from, 1<<20)).Decode(&answer)
	}
	switch {
	case ctx.Err() != nil:
		return reply{}, ctx.Err()
	case err != nil:
		return reply{}, fault.New(fault.StartFailed, "what watches over a detached command gave no answer",
			"Use execution_mode background").Because(err)
	}
	r.jobs.adopt(cmd.Process)
	return answer, nil
}
