package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// order is what a supervisor is told, through a pipe: an environment can hold what belongs in no file.
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
	if len(r.slots)+r.jobs.running() >= r.config.Limits.Running {
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

// supervisor starts one, tells it the order, and waits for its answer. It is ended where that does not come.
func (r *Runner) supervisor(ctx context.Context, o order) (reply, error) {
	cmd := exec.Command(r.config.Supervisor[0], append(slices.Clone(r.config.Supervisor[1:]), ofSupervisor(o.ID))...)
	cmd.Dir, cmd.SysProcAttr = os.TempDir(), apart()
	ours, err := connect(cmd)
	if err != nil {
		return reply{}, fault.From(err)
	}
	defer ours.close()
	if err := cmd.Start(); err != nil {
		return reply{}, fault.New(fault.StartFailed, "what watches over a detached command could not be started", "Use execution_mode background").Because(err)
	}
	ours.theirsAway()
	answer, err := ours.talk(ctx, o)
	if err != nil {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
		return reply{}, err
	}
	r.jobs.adopt(cmd.Process)
	return answer, nil
}

// line is the pair of pipes to a supervisor.
type line struct {
	to, from *os.File
	theirs   []*os.File
}

func connect(cmd *exec.Cmd) (*line, error) {
	in, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), to.Close())
	}
	cmd.Stdin, cmd.Stdout = in, out
	return &line{to: to, from: from, theirs: []*os.File{in, out}}, nil
}

func (l *line) theirsAway() {
	for _, f := range l.theirs {
		_ = f.Close()
	}
	l.theirs = nil
}

func (l *line) close() {
	l.theirsAway()
	_, _ = l.to.Close(), l.from.Close()
}

func (l *line) talk(ctx context.Context, o order) (reply, error) {
	limit := time.Now().Add(toStart)
	_, _ = l.to.SetDeadline(limit), l.from.SetDeadline(limit)
	stop := context.AfterFunc(ctx, func() {
		_, _ = l.to.SetDeadline(time.Unix(1, 0)), l.from.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	var answer reply
	err := json.NewEncoder(l.to).Encode(o)
	if err == nil {
		_ = l.to.Close()
		err = json.NewDecoder(io.LimitReader(l.from, 1<<20)).Decode(&answer)
	}
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case err != nil:
		return answer, fault.New(fault.StartFailed, "what watches over a detached command gave no answer", "Use execution_mode background").Because(err)
	}
	return answer, nil
}
