package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Supervise is the whole life of a process that watches over one detached job. It reads the order from in, answers on
// out and closes both, and returns when nothing of the job is left. signals are those that this process gets: they are
// for the job.
func Supervise(c Config, in io.ReadCloser, out io.WriteCloser, signals <-chan os.Signal) error {
	defer out.Close()
	var o order
	err := json.NewDecoder(in).Decode(&o)
	if err = errors.Join(err, in.Close()); err != nil || !isID(o.ID) {
		return fault.New(fault.ParamMalformed, "there is no order to watch over a command", "Only the server starts this").Because(err)
	}
	s, err := supervise(c, o)
	if err != nil {
		f := fault.From(err)
		return errors.Join(err, json.NewEncoder(out).Encode(reply{Code: f.Code, Msg: f.Msg, Do: f.Do}))
	}
	if err := json.NewEncoder(out).Encode(reply{Record: s.job.Record}); err != nil {
		s.execution.ask(ending{ByCancel, 0}) // who ordered it is gone, and could tell nobody
	}
	_ = out.Close()
	return s.watch(signals)
}

// supervisor is one job in the process that watches over it.
type supervisor struct {
	records   records
	execution *execution
	job       job
}

func supervise(c Config, o order) (*supervisor, error) {
	known, err := openRecords(c.Jobs, c.Project)
	if err != nil {
		return nil, err
	}
	c.Jobs, c.Supervisor = "", nil
	r, err := New(c)
	if err != nil {
		return nil, err
	}
	r.named = o.ID
	q := o.Request
	command := &q.Command
	if command.Rules.Temp != nil && c.Temp != nil { // another temporary directory, which the environment names too
		command.Env = slices.Clone(command.Env)
		for i, entry := range command.Env {
			if name, value, _ := strings.Cut(entry, "="); value == command.Rules.Temp.Path() {
				command.Env[i] = name + "=" + c.Temp.Path()
			}
		}
		command.Rules.Temp = c.Temp
	}
	command.Env = append(command.Env, ofCommand(o.ID))
	q.Mode, command.Detached = Detached, true // so that it even outlives this process
	e, err := r.begin(context.Background(), q)
	if err != nil {
		return nil, err
	}
	close(e.answered)
	s := &supervisor{records: known, execution: e}
	s.job = job{Record: e.record(), Supervisor: identify(os.Getpid()), First: identify(e.tree.PID())}
	if err := s.records.write(s.job); err != nil {
		e.ask(ending{ByCancel, 0})
		<-e.gone
		return nil, noState(err)
	}
	return s, nil
}

// toWrite is how often the file records how much was written.
const toWrite = 2 * time.Second

// watch passes signals on and writes down what happens.
func (s *supervisor) watch(signals <-chan os.Signal) error {
	defer s.records.root.Close()
	news := time.NewTicker(toWrite)
	defer news.Stop()
	done := s.execution.done
	for {
		select {
		case sig := <-signals:
			switch number, ok := sig.(syscall.Signal); {
			case sig == syscall.SIGTERM:
				s.execution.ask(ending{ByTermination, termTimeout})
			case sig == toKill:
				s.execution.ask(ending{ByTermination, 0})
			case ok:
				_ = s.execution.tree.Signal(number)
			}
			continue
		case <-news.C:
			if s.execution.written.Load() == s.job.Written {
				continue
			}
		case <-done:
			done = nil
		case <-s.execution.gone:
			<-s.execution.stored
			s.job.Record = s.execution.record()
			return s.records.write(s.job)
		}
		s.job.Record = s.execution.record()
		_ = s.records.write(s.job) // a full disk: the next one may fit
	}
}

// toKill is what a supervisor is sent in place of KILL, which it could not act on.
const toKill = syscall.SIGQUIT

// send gives the job a signal, by its supervisor where there is one. Where that was killed, it signals as much of the job as
// is certainly not of others, which is the session of its first process while that lives. TERM is KILL then, for nobody
// would see who follows.
func (j job) send(s syscall.Signal) error {
	if j.Supervisor.alive() {
		if s == syscall.SIGKILL {
			s = toKill
		}
		return j.Supervisor.signal(s, ofSupervisor(j.ID))
	}
	kin := j.First.session()
	if len(kin) == 0 || !j.First.carries(ofCommand(j.ID)) {
		return syscall.ESRCH
	}
	if s == syscall.SIGTERM || s == syscall.SIGKILL {
		return j.killSession()
	}
	for _, one := range kin {
		_ = one.signal(s, "")
	}
	return nil
}

// killSession kills the first process last, and stops it before: by it the others are known.
func (j job) killSession() error {
	if err := j.First.signal(stop, ofCommand(j.ID)); err != nil {
		return err
	}
	for range 100 {
		kin := slices.DeleteFunc(j.First.session(), func(one identity) bool { return one == j.First })
		if len(kin) == 0 {
			break
		}
		for _, one := range kin {
			_ = one.signal(syscall.SIGKILL, "")
		}
		time.Sleep(time.Millisecond)
	}
	return j.First.signal(syscall.SIGKILL, ofCommand(j.ID))
}
