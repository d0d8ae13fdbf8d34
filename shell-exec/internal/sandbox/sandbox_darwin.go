package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Sandbox starts commands. It is safe for use by many at once.
type Sandbox struct {
	mode  Mode
	home  string
	mu    sync.Mutex
	trees map[*Tree]bool

	report Report
	asked  sync.Once // for the report, which is made then
}

func newSandbox(o Options) (*Sandbox, error) {
	return &Sandbox{mode: o.Mode, home: o.Home, trees: map[*Tree]bool{}}, nil
}

// Confines reports whether commands open only what their rules name, as far as this
// machine should; Report says what was seen of it.
func (s *Sandbox) Confines() bool { return s.mode != Off }

// try tries the profile with acts that it forbids.
func (s *Sandbox) try() Report {
	const fix = "Use a macOS that has " + sandboxExec
	works := s.tried("/usr/bin/true") == nil
	refuses := func(name, path string, args ...string) Part {
		switch {
		case s.mode == Off:
			return Part{Name: name, Why: "the sandbox is off", Fix: "Use --sandbox auto or required"}
		case !works:
			return Part{Name: name, Why: "Seatbelt does not run a program here", Fix: fix}
		case s.tried(path, args...) == nil:
			return Part{Name: name, Why: "Seatbelt does not forbid it", Fix: "Do not rely on it; report this with the system's version"}
		}
		return Part{Name: name, Holds: true, Why: "Seatbelt refused the attempt"}
	}
	report := Report{
		refuses("read", "/bin/ls", s.home),
		refuses("write", "/usr/bin/touch", s.home+"/.mcp-sandbox-probe"),
		refuses("network", "/usr/bin/nc", "-z", "127.0.0.1", "80"),
		refuses("processes", "/bin/kill", "-0", fmt.Sprint(os.Getpid())),
		{Name: "kernel", Why: "macOS has no filter of system calls for programs to use"},
		{Name: "kill", Why: "only a walk through the processes finds what a command started, and that can be outrun"},
		{Name: "limits", Why: "file size and CPU time of a process are limited, memory is not watched"},
	}
	return append(report, Part{Name: "namespaces", Why: "macOS has none"})
}

func (s *Sandbox) tried(path string, args ...string) error {
	argv := bounded(Command{Path: path, Args: append([]string{path}, args...)}, s.home, false, os.Getenv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	return cmd.Run()
}

func (s *Sandbox) start(c Command, f Files) (*Tree, error) {
	free := s.mode == Off || c.Rules.UnsafeUnrestricted
	if s.mode == Required && free {
		return nil, fault.New(fault.Forbidden, "a command may not run outside of the sandbox, which is required", "Run it by hand")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fault.From(err)
	}
	defer null.Close()
	files := []*os.File{f.Stdin, f.Stdout, f.Stderr}
	for i := range files {
		if files[i] == nil {
			files[i] = null
		}
	}
	argv := bounded(c, s.home, free, os.Getenv)
	env := append([]string{}, c.Env...)
	first, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: c.Terminal}})
	if err != nil {
		return nil, fault.New(fault.StartFailed, "the command could not be started", "See the audit log for the cause").With("program", c.Path).Because(err)
	}
	t := newTree(first, newKin(first.Pid), c, nil)
	t.parted = func() { s.forget(t) }
	s.mu.Lock()
	s.trees[t] = true
	s.mu.Unlock()
	go t.await(func() {})
	go t.watch()
	return t, nil
}

func (s *Sandbox) forget(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trees, t)
}

// Close ends every command that is not detached.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	var left []*Tree
	for t := range s.trees {
		left = append(left, t)
	}
	s.mu.Unlock()
	var err error
	for _, t := range left {
		if e := t.Close(); e != nil {
			err = e
		}
	}
	return err
}
