package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// launch is a command on its way, and what it took so far.
type launch struct {
	s    *Sandbox
	c    Command
	free bool       // not restricted
	kind killerKind // what will find and end its processes

	terminal *os.File // that the command gets for its own

	thread     *thread
	supervisor *supervisor // nil for none; it serves once the command is known
	plan       *plan       // what binds it; nil where nothing does
	group      *group      // with byGroup
	space      *space      // with bySpace
	mark       string      // with byAncestry
}

// Start starts a command and returns its tree: the process and all that come of
// it. ctx is for the start alone.
func (s *Sandbox) Start(ctx context.Context, c Command, f Files) (t *Tree, err error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	l := &launch{s: s, c: c, free: s.mode == Off || c.Rules.UnsafeUnrestricted, kind: s.machine.killer(s.level == 2)}
	if l.free {
		if s.mode == Required {
			return nil, forbidden()
		}
		l.kind = machine{group: s.machine.group}.killer(false)
	}
	if c.Terminal {
		l.terminal = f.Stdin
	}
	// The thread comes first: it has the rules before there is a command that could break them.
	unbound := l.bind()
	began := time.Now()

	// Until track has written the command down nobody knows it: reap must not take its status for that of an
	// orphan, nor Close miss it, or what a failed start has made. Both wait for this lock.
	s.children.starting.RLock()
	defer s.children.starting.RUnlock()
	defer func() {
		if l.plan != nil && l.terminal != nil {
			l.plan.close() // that of a terminal is of no use to others
		}
		if err != nil {
			l.abandon()
			t, err = nil, startFailed(c, err)
		}
	}()
	if unbound != nil {
		return nil, unbound
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, fault.New(fault.Unavailable, "the server is ending", "Start it again")
	}
	if l.kind == byGroup {
		if l.group, err = newGroup(s.machine.group, c.Limits); err != nil {
			return nil, err
		}
	}
	files, null, err := f.open()
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var first *os.Process
	if l.group != nil {
		first, err = l.execInGroup(files)
	} else {
		first, err = l.exec(c.Path, c.Args, files)
	}
	if err != nil {
		return nil, err
	}

	return l.track(first, began), nil
}

// track makes the tree of what has begun, has it watched, and lets the supervisor serve it.
func (l *launch) track(first *os.Process, began time.Time) *Tree {
	s, pid := l.s, first.Pid
	k := l.newKiller(pid, began)
	s.children.locked(func() {
		s.children.firsts[pid] = true
		s.children.trees++
		if a, ok := k.(*ancestry); ok {
			s.children.ancestries[a] = true
		}
	})
	t := newTree(first, k, l.c, nil)
	t.onEnd = func() {
		s.mu.Lock()
		delete(s.trees, t)
		s.mu.Unlock()
		s.children.locked(func() { s.children.trees-- })
	}
	if s.machine.counted && l.kind != byGroup && l.c.Limits != (Limits{}) {
		t.account.parent = s.machine.group
	}
	if l.plan != nil && l.plan.keeper != nil {
		t.account.keeper = l.plan.keeper // what is in its namespaces ends with it
	} else if g, ok := k.(interface{ guard() }); ok && !l.c.Detached {
		t.guard = g.guard
	}
	s.mu.Lock()
	s.trees[t] = true
	s.mu.Unlock()
	if l.supervisor != nil {
		go l.supervisor.serve()
	}
	if l.plan != nil && l.terminal == nil {
		s.spare.prepare(l.plan)
	}
	go t.await(func() { s.children.locked(func() { delete(s.children.firsts, pid) }) })
	go t.watch()
	return t
}

// newKiller makes what finds and ends the processes of the command, whose first one has begun.
func (l *launch) newKiller(first int, began time.Time) killer {
	switch l.kind {
	case byDomain:
		return &domain{thread: l.thread, canary: l.s.canary, first: first, began: began, maxPID: l.s.machine.maxPID}
	case bySpace:
		l.space.thread, l.space.first = l.thread, first
		return l.space
	case byGroup:
		l.group.thread = l.thread
		return l.group
	}
	looks := l.s.machine.landlock > 0 && !l.free
	return &ancestry{relatives: newRelatives(first), thread: l.thread, looks: looks, children: l.s.children, mark: l.mark}
}

// bind gets the plan of the command and a thread that is bound by it.
func (l *launch) bind() (err error) {
	if l.free {
		l.thread, err = newThread(func() error { return nil })
		return err
	}
	if l.terminal != nil {
		l.plan, err = l.s.compile(l.c.Rules, l.terminal)
	} else {
		l.plan, err = l.s.plan(l.c.Rules)
	}
	if err != nil {
		return err
	}
	if l.kind == bySpace {
		if l.space, err = l.plan.keeper.space(l.plan.mounts); err != nil {
			return err
		}
	}
	if l.thread = l.s.spare.take(l.plan); l.thread == nil {
		l.thread, err = newThread(l.plan.enter)
	}
	return err
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
	if l.group != nil {
		l.group.release()
	}
}

// rootKeeps are what is left of root's capabilities: those over files, which
// rules bind anyway, and over its own processes. With the others it would look
// into every process (CAP_PERFMON opens /proc/PID/environ without asking
// Landlock), raise its limits, make devices.
const rootKeeps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// execInGroup lets a shell wait until the group has it before it becomes the command: nothing is ever outside.
// The kernel's own way to be born in a group is clone3, which the filter does not let pass.
func (l *launch) execInGroup(files []*os.File) (*os.Process, error) {
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
	p, err := l.exec("/bin/sh", append([]string{"sh", "-c", gate, l.c.Path}, l.c.Args[1:]...), append(files, wait))
	if err != nil {
		return nil, err
	}
	if err = l.group.add(p.Pid); err != nil {
		err = fmt.Errorf("control group: %w", err)
	} else {
		_, err = goOn.WriteString("\n")
	}
	if err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		return nil, err
	}
	return p, nil
}

// exec starts the first process on the thread, and bounds it.
func (l *launch) exec(path string, args []string, files []*os.File) (p *os.Process, err error) {
	attr := &forkexec.Attr{
		Files: files, Terminal: l.c.Terminal, Dir: l.c.Dir, Env: l.c.Env, Ruleset: l.s.inner, Capabilities: rootKeeps,
	}
	if l.kind == byAncestry {
		if err := adopt(); err != nil {
			return nil, err
		}
		l.mark = "MCP_COMMAND=" + rand.Text()
		attr.Env = append(attr.Env[:len(attr.Env):len(attr.Env)], l.mark)
	}
	if !l.c.Detached {
		attr.Pdeathsig = unix.SIGKILL // at the end of the thread, which lives as long as the tree
	}

	plain := l.free || !forkexec.Available
	var asked *os.File // the child sends it what its filter asks through
	if !plain {
		if asked, err = l.restrict(attr); err != nil {
			return nil, err
		}
	}
	if asked != nil {
		defer asked.Close()
		defer attr.Listener.Close()
	}
	err = l.thread.run(func() (err error) {
		if plain {
			p, err = l.startPlain(path, args, attr)
		} else {
			p, err = forkexec.Start(path, args, attr)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if plain {
		setLimits(p.Pid, l.c.Limits)
	}
	if asked != nil {
		if l.supervisor, err = l.newSupervisor(asked); err != nil {
			_ = p.Kill()
			_, _ = p.Wait()
			return nil, err
		}
	}
	return p, nil
}

// restrict adds to attr how the command restricts itself between fork and exec, on top of what its thread
// gives it. What is missing here the command has for good: nobody can restrict it later. Where its filter asks
// a supervisor, asked is the other end of attr.Listener; the caller closes both.
func (l *launch) restrict(attr *forkexec.Attr) (asked *os.File, err error) {
	attr.Limits = append(l.c.Limits.resources(0), forkexec.Limit{Resource: unix.RLIMIT_NOFILE, Rlimit: l.s.canary.files})
	if k := l.plan.keeper; k != nil {
		pid, mounts := k.pid, l.plan.mounts
		if l.space != nil {
			pid, mounts = l.space.pid, l.space.mounts
		}
		enter := func(file *os.File, kind int) {
			attr.Namespaces = append(attr.Namespaces, forkexec.Namespace{File: file, Kind: kind})
		}
		if k.user != nil {
			enter(k.user, unix.CLONE_NEWUSER)
		}
		if !l.plan.rules.Network {
			enter(k.net, unix.CLONE_NEWNET)
		}
		enter(k.ipc, unix.CLONE_NEWIPC)
		enter(pid, unix.CLONE_NEWPID)
		enter(mounts, unix.CLONE_NEWNS)
	}
	if l.plan.filter == nil {
		return nil, nil
	}
	own, asks := l.s.machine.ownFilter(l.s.level, l.c.Detached)
	attr.Filter = own
	if !asks {
		return nil, nil
	}
	if err := letWake(); err != nil {
		return nil, fmt.Errorf("signal %d: %w", wakes, err)
	}
	attr.Patient = l.s.machine.judgesSignals(l.s.level) // what one signals may answer with a signal, at once
	asked, attr.Listener, err = socketPair()
	return asked, err
}

// startPlain starts what has no layer of its own.
func (l *launch) startPlain(path string, args []string, a *forkexec.Attr) (p *os.Process, err error) {
	attr := &os.ProcAttr{
		Dir: a.Dir, Env: append([]string{}, a.Env...), Files: a.Files, // nil as Env would be ours
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: a.Terminal, Pdeathsig: a.Pdeathsig},
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

// setLimits bounds one process and all that it starts from now on. RLIMIT_DATA
// counts what is written to; RLIMIT_AS would count what is merely reserved, and
// break node and go. The number of processes is not here: RLIMIT_NPROC counts
// those of the user, the person's own among them.
func setLimits(pid int, l Limits) {
	for _, r := range l.resources(pid) {
		_ = unix.Prlimit(pid, r.Resource, &r.Rlimit, nil)
	}
}

// resources are the limits that the process, 0 for this one and what it starts, does not have yet.
func (l Limits) resources(pid int) (out []forkexec.Limit) {
	for _, want := range []struct {
		resource int
		applies  bool
		max      uint64
	}{
		{unix.RLIMIT_DATA, l.Memory > 0, uint64(l.Memory)},
		{unix.RLIMIT_FSIZE, l.FileSize > 0, uint64(l.FileSize)},
		{unix.RLIMIT_CPU, l.CPU > 0, uint64((l.CPU + time.Second - 1) / time.Second)},
		{unix.RLIMIT_CORE, true, 0},
		{unix.RLIMIT_NOFILE, true, maxFiles},
		{unix.RLIMIT_MSGQUEUE, true, 800 << 10}, // POSIX message queues
	} {
		var now unix.Rlimit
		if !want.applies || unix.Prlimit(pid, want.resource, nil, &now) != nil || now.Max <= want.max {
			continue // it is gone, or bound more tightly already
		}
		out = append(out, forkexec.Limit{Resource: want.resource, Rlimit: unix.Rlimit{Cur: min(want.max, now.Cur), Max: want.max}})
	}
	return out
}

// maxFiles is how many files one process may have open: each may be a full socket.
var maxFiles = uint64(1 << 16)

// startFailed is the error for a command that did not start.
func startFailed(c Command, err error) error {
	var already *fault.Error
	if errors.As(err, &already) {
		return already
	}
	failed := func(code fault.Code, msg, hint string) *fault.Error { return fault.New(code, msg, hint).Because(err) }
	var at *os.PathError
	switch {
	case errors.As(err, &at) && at.Op == "chdir":
		return failed(fault.NotFound, "the working directory is not there for a command: "+c.Dir, "Choose one inside an allowed directory").
			With("directory", c.Dir)
	case errors.Is(err, unix.ENOENT):
		return failed(fault.StartFailed, "there is no such program, or what it needs to run is missing: "+c.Path,
			"Look for the program in PATH").With("program", c.Path)
	case errors.Is(err, unix.EACCES):
		return failed(fault.StartFailed, "the program may not be run: "+c.Path,
			"Make it executable, or allow reading its directory (--read-path)").With("program", c.Path)
	case errors.Is(err, unix.E2BIG):
		return failed(fault.StartFailed, "the arguments and the environment are too long for this system",
			"Pass them in a file or on the standard input")
	case errors.Is(err, unix.EAGAIN):
		return failed(fault.LimitReached, "the system has no room for another process", "Wait until others have ended")
	}
	return failed(fault.StartFailed, "the command could not be started", "See the audit log for the cause").With("program", c.Path)
}
