package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// outcome is what became of the acts of one part.
type outcome struct {
	refused int
	escaped string // an act that was not refused; "" if there was none
}

// openNamespaces is an error where commands have to go without them.
func (s *Sandbox) openNamespaces() error {
	keeper, err := newKeeper()
	if err != nil {
		s.level = 1
		return err
	}
	s.keeper = keeper
	_, err = s.plans.of(Rules{}, func(r Rules) (*plan, error) { return s.compile(r, nil) })
	if err != nil {
		keeper.close()
		s.keeper, s.level = nil, 1
	}
	return err
}

// try tries every promise with empty rules, as a command, and says what became of it.
func (s *Sandbox) try() Report {
	if s.mode == Off {
		return switchedOff()
	}
	tried, err := s.tryActs()
	report := s.promised(tried, err)
	killed := s.tryKill()
	return append(report, s.killPart(killed), s.limitsPart(killed), s.namespacesPart(s.why, tried["namespaces"]))
}

// tryActs runs a trial outside of the sandbox, and then one inside with the network
// and one without. Only what worked outside says anything.
func (s *Sandbox) tryActs() (map[string]outcome, error) {
	t := targets{Server: pidOf(os.Getpid()), Stranger: pidOf(s.canary.process.Pid)}
	close, err := t.open()
	if err != nil {
		return nil, err
	}
	defer close()
	work, _ := os.Getwd()
	for _, dir := range []string{"/", s.home, work, os.TempDir()} {
		if dir != "" && !slices.Contains(t.Dirs, dir) && (s.level == 1 || !covered(dir, scratch())) {
			t.Dirs = append(t.Dirs, dir) // in scratch directories commands have one of their own
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := confine.OpenGrant(self, nil)
	if err != nil {
		return nil, err
	}
	thread, err := newThread(func() error { return nil })
	if err != nil {
		return nil, err
	}
	t.Thread = pidOf(thread.id)
	free := exec.Command("/proc/self/exe")
	free.Env = t.environment()
	text, err := free.Output()
	thread.end()
	if err != nil {
		return nil, err
	}
	outside, err := readTrial(string(text))
	if err != nil {
		return nil, err
	}
	tried := map[string]outcome{}
	for _, network := range []bool{true, false} {
		inside, err := s.trial(program, t, network)
		if err != nil {
			return nil, err
		}
		for part, acts := range outside {
			if network == (part == "network") {
				continue
			}
			o := tried[part]
			for _, name := range acts {
				if slices.Contains(inside[part], name) {
					o.escaped = name
				} else {
					o.refused++
				}
			}
			tried[part] = o
		}
	}
	return tried, nil
}

func pidOf(number int) pid {
	p, _ := look(number)
	return pid{number, p.start}
}

func (t targets) environment() []string {
	text, _ := json.Marshal(t) // strings and numbers
	return []string{role + "=" + roleTrial, trialTargets + "=" + string(text)}
}

// trial is what the program of a trial could do as a command.
func (s *Sandbox) trial(program *confine.Grant, t targets, network bool) (worked, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	l := &launch{s: s, means: s.machine.means(s.level == 2), c: Command{
		Path: program.Path(), Args: []string{"mcp-trial"}, Dir: "/", Rules: Rules{Read: []*confine.Grant{program}, Network: network},
	}}
	defer l.abandon()
	if l.thread, err = l.bound(); err == nil {
		t.Thread = pidOf(l.thread.id)
		l.c.Env = t.environment()
		var p *os.Process
		if p, err = l.begin(Files{Stdout: in}, nil); err == nil {
			defer func() {
				_ = p.Kill()
				_, _ = p.Wait()
			}()
			if l.supervisor != nil {
				go l.supervisor.serve()
			}
		}
	}
	in.Close()
	if err != nil {
		return nil, err
	}
	_ = out.SetReadDeadline(time.Now().Add(20 * time.Second))
	text, err := io.ReadAll(out)
	if err != nil {
		return nil, err
	}
	return readTrial(string(text))
}

// tryKill starts a command of two processes and ends it, while the canary lives.
func (s *Sandbox) tryKill() error {
	in, keep, err := os.Pipe()
	if err != nil {
		return err
	}
	defer keep.Close()
	const waits = `exec 3<&0; (read -r a <&3) & read -r a <&3`
	t, err := s.Start(context.Background(), Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", waits}, Dir: "/", Limits: Limits{FileSize: 1 << 30},
	}, Files{Stdin: in})
	in.Close()
	if err != nil {
		return err
	}
	defer t.Close()
	for range 1000 {
		if t.Usage().Processes == 2 {
			break
		}
		time.Sleep(time.Millisecond / 2)
	}
	return s.killed(t)
}

func (s *Sandbox) killed(t *Tree) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(t.pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil || limit.Max > 1<<30 {
		return fmt.Errorf("a limit is not in force (%v)", err)
	}
	if n := t.Usage().Processes; n != 2 {
		return fmt.Errorf("%d of 2 processes were found", n)
	}
	if err := t.Kill(); err != nil {
		return err
	}
	if status := t.Wait(); status.Signal != "SIGKILL" {
		return fmt.Errorf("the command ended with %+v", status)
	}
	if p, ok := look(s.canary.process.Pid); !ok || !p.alive() {
		return fmt.Errorf("a stranger was killed")
	}
	return nil
}

// cause is an error for the report: what happened, or the system's word for it.
func cause(err error) string {
	if f, ok := err.(*fault.Error); ok && f.Err != nil {
		return f.Msg + " (" + f.Err.Error() + ")"
	}
	return err.Error()
}
