package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/seccomp"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// start makes a thread for the command, binds it, and starts the command there.
func (s *Sandbox) start(c Command, f Files) (*Tree, error) {
	free := s.mode == Off || c.Rules.UnsafeUnrestricted
	if s.mode == Required && free {
		return nil, fault.New(fault.Forbidden, "a command may not run outside of the sandbox, which is required", "Run it by hand")
	}
	l := &launch{s: s, c: c, free: free}
	if c.Terminal {
		l.terminal = f.Stdin
	}
	l.means = s.machine.means(s.level == 2)
	if free {
		l.means = s.machine.without().means(false)
	}
	t, err := l.tree(f)
	if err != nil {
		return nil, startFailed(c, err)
	}
	return t, nil
}

// without is the machine for what is not restricted.
func (m machine) without() machine { return machine{group: m.group, pids: m.pids} }

// launch is a command on its way.
type launch struct {
	s     *Sandbox
	c     Command
	free  bool // not restricted
	means means

	terminal *os.File // that the command gets for its own

	thread     *thread
	supervisor *supervisor // nil for none; it serves once the command is known
	plan       *plan       // what binds it; nil where nothing does
	began      time.Time
	space      *space // with bySpace
	mark       string // with byLineage
}

// tree starts the command and makes its holder.
func (l *launch) tree(f Files) (*Tree, error) {
	var err error
	defer l.begun()
	if l.thread, err = l.bound(); err != nil {
		l.abandon()
		return nil, err
	}
	l.began = time.Now()
	l.s.family.starting.RLock()
	defer l.s.family.starting.RUnlock()
	if l.s.ending() {
		l.abandon()
		return nil, fault.New(fault.Unavailable, "the server is ending", "Start it again")
	}
	var g *group
	if l.means == byGroup {
		if g, err = newGroup(l.s.machine.group, l.c.Limits); err != nil {
			l.abandon()
			return nil, err
		}
	}
	first, err := l.begin(f, g)
	if err != nil {
		l.abandon()
		if g != nil {
			g.release()
		}
		return nil, err
	}
	l.s.family.began(first.Pid)
	held := l.holder(first.Pid, g)
	t := newTree(first, held, l.c, nil)
	if l.s.machine.counted && l.means != byGroup && l.c.Limits != (Limits{}) {
		t.account.parent = l.s.machine.group
	}
	t.parted = func() { l.s.forget(t); l.s.family.parted() }
	keeps := l.plan != nil && l.plan.keeper != nil // what is in its namespaces ends with it
	if keeps {
		t.account.keeper = l.plan.keeper
	}
	if p, ok := held.(interface{ provide() }); ok && !l.c.Detached && !keeps {
		t.provide = p.provide
	}
	l.s.remember(t, l.thread)
	if l.supervisor != nil {
		go l.supervisor.serve()
	}
	if l.plan != nil && l.terminal == nil {
		l.s.spare.prepare(l.plan)
	}
	go t.await(func() { l.s.family.ended(first.Pid) })
	go t.watch()
	return t, nil
}

// bound is a thread that can start the command, and reach nothing but it.
func (l *launch) bound() (*thread, error) {
	if l.free {
		return newThread(func() error { return nil })
	}
	var err error
	if l.terminal != nil {
		l.plan, err = l.s.compile(l.c.Rules, l.terminal)
	} else {
		l.plan, err = l.s.plans.of(l.c.Rules, func(r Rules) (*plan, error) { return l.s.compile(r, nil) })
	}
	if err != nil {
		return nil, err
	}
	if l.means == bySpace {
		if l.space, err = l.plan.keeper.space(l.plan.mounts); err != nil {
			return nil, err
		}
	}
	if t := l.s.spare.take(l.plan); t != nil {
		return t, nil
	}
	return newThread(l.plan.enter)
}

// abandon gives back what a start that failed had taken.
func (l *launch) abandon() {
	if l.thread != nil {
		l.thread.end()
	}
	if l.space != nil {
		l.space.close()
	}
	if l.supervisor != nil {
		l.supervisor.close()
	}
}

// begun gives back what only the start needed: the plan of a terminal is of no use to others.
func (l *launch) begun() {
	if l.plan != nil && l.terminal != nil {
		l.plan.close()
	}
}

func (l *launch) holder(first int, g *group) holder {
	switch l.means {
	case byDomain:
		return &domain{thread: l.thread, canary: l.s.canary, first: first, began: l.began, pids: l.s.machine.pids}
	case bySpace:
		l.space.thread, l.space.first = l.thread, first
		return l.space
	case byGroup:
		g.thread = l.thread
		return g
	}
	looks := l.s.machine.landlock > 0 && !l.free
	return newLineage(l.thread, looks, l.s.family, l.mark, first)
}

// begin starts the first process on the thread, and bounds it.
func (l *launch) begin(f Files, g *group) (*os.Process, error) {
	files, close, err := f.open()
	if err != nil {
		return nil, err
	}
	defer close()
	if g != nil {
		return l.beginInGroup(files, g)
	}
	return l.exec(l.c.Path, l.c.Args, files)
}

// rootKeeps are what is left of root's capabilities: those over files, which
// rules bind anyway, and over its own processes. With the others it would look
// into every process (CAP_PERFMON opens /proc/PID/environ without asking
// Landlock), raise its limits, make devices.
const rootKeeps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

func (l *launch) exec(path string, args []string, files []*os.File) (*os.Process, error) {
	attr := &forkexec.Attr{Files: files, Terminal: l.c.Terminal, Dir: l.c.Dir, Ruleset: l.s.inner, Capabilities: rootKeeps, Env: l.c.Env}
	if l.means == byLineage {
		if err := adopt(); err != nil {
			return nil, err
		}
		l.mark = "MCP_COMMAND=" + rand.Text()
		attr.Env = append(attr.Env[:len(attr.Env):len(attr.Env)], l.mark)
	}
	if !l.c.Detached {
		attr.Pdeathsig = unix.SIGKILL // of the thread, which lives as long as the tree
	}
	var p *os.Process
	err := l.thread.run(func() (err error) {
		if l.free || !forkexec.Available {
			p, err = l.startPlain(path, args, attr)
			return err
		}
		attr.Limits = append(l.c.Limits.resources(0), forkexec.Limit{Resource: unix.RLIMIT_NOFILE, Rlimit: l.s.canary.files})
		attr.Namespaces = l.plan.namespaces(l.space)
		asks := false
		if l.plan.filter != nil {
			var own seccomp.Program
			own, asks = l.s.machine.ownFilter(l.s.level, l.c.Detached)
			attr.Filter = own
		}
		if asks {
			p, err = l.startSupervised(path, args, attr)
		} else {
			p, err = forkexec.Start(path, args, attr)
		}
		return err
	})
	if err == nil && (l.free || !forkexec.Available) {
		setLimits(p.Pid, l.c.Limits)
	}
	return p, err
}

// startPlain starts what has no layer of its own.
func (l *launch) startPlain(path string, args []string, a *forkexec.Attr) (p *os.Process, err error) {
	attr := &os.ProcAttr{Dir: a.Dir, Env: a.Env, Files: a.Files, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: a.Terminal, Pdeathsig: a.Pdeathsig}}
	if attr.Env == nil {
		attr.Env = []string{} // nil would be ours
	}
	if l.c.In == nil {
		return os.StartProcess(path, args, attr)
	}
	err = l.c.In.Lend(func(fd uintptr) (err error) {
		attr.Dir = fmt.Sprintf("/proc/self/fd/%d", fd) // the child has it too, until it becomes the program
		p, err = os.StartProcess(path, args, attr)
		return err
	})
	return p, err
}

// beginInGroup lets a shell wait until the group has taken it before it becomes
// the command: nothing is ever outside. The kernel's own way to be born in a group
// is clone3, which the filter does not let pass.
func (l *launch) beginInGroup(files []*os.File, g *group) (*os.Process, error) {
	if err := unix.Access(l.c.Path, unix.X_OK); err != nil {
		return nil, &os.PathError{Op: "exec", Path: l.c.Path, Err: err}
	}
	wait, goOn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wait.Close()
	defer goOn.Close()
	const gate = `read -r now <&3 && exec "$0" "$@" 3<&-`
	args := append([]string{"sh", "-c", gate, l.c.Path}, l.c.Args[1:]...)
	p, err := l.exec("/bin/sh", args, append(files, wait))
	if err != nil {
		return nil, err
	}
	if err := g.take(p.Pid); err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		return nil, fmt.Errorf("control group: %w", err)
	}
	_, err = goOn.WriteString("\n")
	return p, err
}

// open gives every stream a file: /dev/null for those that have none.
func (f Files) open() (files []*os.File, close func(), err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range []*os.File{f.Stdin, f.Stdout, f.Stderr} {
		if file == nil {
			file = null
		}
		files = append(files, file)
	}
	return files, func() { null.Close() }, nil
}

// startFailed says why a command did not start.
func startFailed(c Command, err error) error {
	var already *fault.Error
	var at *os.PathError
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &at) && at.Op == "chdir":
		return fault.New(fault.NotFound, "the working directory is not there for a command: "+c.Dir, "Choose one inside an allowed directory").With("directory", c.Dir).Because(err)
	case errors.Is(err, unix.ENOENT):
		return fault.New(fault.StartFailed, "there is no such program, or what it needs to run is missing: "+c.Path, "Look for the program in PATH").With("program", c.Path).Because(err)
	case errors.Is(err, unix.EACCES):
		return fault.New(fault.StartFailed, "the program may not be run: "+c.Path, "Make it executable, or allow reading its directory (--read-path)").With("program", c.Path).Because(err)
	case errors.Is(err, unix.E2BIG):
		return fault.New(fault.StartFailed, "the arguments and the environment are too long for this system", "Pass them in a file or on the standard input").Because(err)
	case errors.Is(err, unix.EAGAIN):
		return fault.New(fault.LimitReached, "the system has no room for another process", "Wait until others have ended").Because(err)
	}
	return fault.New(fault.StartFailed, "the command could not be started", "See the audit log for the cause").With("program", c.Path).Because(err)
}
