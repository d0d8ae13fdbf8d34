// Package sandbox starts a command so that the kernel keeps it to its rules, measures everything
// that the command started, and ends all of it.
//
// On Linux every command gets a thread of this process to itself. The thread enters a Landlock
// domain with the rules of the command, starts it, and reaches nothing but it. Between fork and exec the
// command enters a second domain, which nothing else is ever in, its system-call filters and, at
// level 2, namespaces that all commands of this process share (package forkexec): it reaches neither the
// thread nor this process. None of that can be undone, so the thread ends with the command. On macOS
// the sandbox is Seatbelt, on Windows a job object.
//
// Some calls a filter cannot judge, for what counts is in memory or behind a number: which socket a
// call connects to, which process a number means. A supervisor makes those calls in the command's place. A
// keeper process holds the namespaces; everything in them ends with it.
//
// Four rules hold everywhere. Nothing is called enforced that was not seen to fail: Report is the
// result of trying it, by a command. The sandbox is never weaker without saying so: what this machine cannot
// do is in the report, and under Required New fails. No stranger is signalled: a process is reached through what the
// kernel says belongs to the command, never through a number that once was right. The sandbox chooses
// neither the program nor the rules; its caller does.
//
// A server that is killed takes its commands with it: at level 2 the kernel ends them with the keeper; at
// level 1 a shell in each command's domain waits for the end of the server and kills all that is there
// (in a control group the kernel does). Where there is neither, and in the first
// tenth of a second of a command at level 1, only its first process dies with the server.
//
// Level 1 leaves this open: a command that knows a path can learn that it exists, its
// size and times, and what happens there; it can change modes and times of files outside where the user
// may; it can read the command lines of other processes.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Mode is what happens where this machine cannot keep a promise.
type Mode int

// The modes. There is no default.
const (
	_        Mode = iota
	Auto          // the report says it, commands run
	Required      // New refuses
	Off           // nothing is restricted; what a command starts is still measured and ended
)

// Options are those of New. Home is where the tool folders of the user are looked for; "" is the user's
// home directory. Guarded are the directories, without links in their names, that commands of this or
// another server may change: a tool folder that is reached through a link in one of them is not
// granted, for a command could have made the link.
type Options struct {
	Mode    Mode
	Level   int // 1, or 2 for namespaces too where they can be had
	Home    string
	Guarded []string
}

// Rules are what a command may use beside the system and the tool folders, which
// it may read. A command whose grants lead elsewhere by now does not start.
type Rules struct {
	Read    []*confine.Grant // files, and directories with all in them
	Write   []*confine.Grant // the same, to be changed too
	Temp    *confine.Grant   // a private directory for temporary files (ToolEnv names it to the command); nil for none
	Hide    []*confine.Grant // directories that nobody sees into, also inside of the others; only level 2 can
	Sockets []string         // local sockets of other programs that may be connected to, if they are there
	Network bool             // connections to elsewhere

	// UnsafeUnrestricted lets the command do all that the user may, new
	// privileges included: for what a person has confirmed, sudo for one. It is
	// still measured and ended as far as the user may end it. Refused under Required.
	UnsafeUnrestricted bool
}

// Limits are what a command may use, with everything it starts. 0 is no limit.
// The kernel applies those of one process before it becomes the program; to an unrestricted one, and what that
// has started by then, it applies them some milliseconds later. Tree watches the sums.
type Limits struct {
	Memory    int64         // bytes in memory, of all processes together
	Processes int           // at once; their threads have a limit that follows from it
	FileSize  int64         // bytes, of one file
	CPU       time.Duration // of one process, rounded up to seconds
}

// threads is how many threads all processes together may have: some for each process, and
// enough for the few that have many (Java has a hundred on a large machine).
func (l Limits) threads() int { return max(2048, 4*l.Processes) }

// Command is a program to start.
type Command struct {
	Path   string   // absolute: the program
	Args   []string // all of argv; the first is the name the program sees itself by
	Env    []string // all of it; nothing is inherited
	Dir    string   // absolute
	Rules  Rules
	Limits Limits

	// In is the directory that Dir named when the command was approved: if another one has the name since, Start
	// fails. A command outside of the sandbox, which no rule restricts, starts in that very directory. Nil: only Dir counts.
	In *confine.Grant

	// Detached commands outlive this process, and Close lets go of them, but at level 2: there
	// they end with the keeper.
	Detached bool
	// Terminal makes Files.Stdin, which is one, the controlling terminal.
	Terminal bool
}

// Files are a command's standard streams; nil is empty, or lost. Nothing else
// is inherited. They stay the caller's to close.
type Files struct{ Stdin, Stdout, Stderr *os.File }

// Terminal is a new pseudo-terminal: the caller's end, and the one for a command.
type Terminal struct{ Ours, Theirs *os.File }

// Status is how the first process of a command ended.
type Status struct {
	Code   int    // the exit code; -1 after a signal
	Signal string // "SIGKILL", …; "" without one
	CPU    time.Duration
	Peak   int64 // the most bytes in memory that were seen, of all processes together

	MemoryExceeded    bool // ended because of Limits.Memory
	ProcessesExceeded bool // ended because of Limits.Processes
}

// Usage is what a command uses now.
type Usage struct {
	Processes int
	Threads   int           // of all processes; 0 where the system does not tell
	Memory    int64         // bytes in memory
	CPU       time.Duration // of the processes that live
}

// Part is one promise and whether it is kept.
type Part struct {
	Name  string
	Holds bool
	Why   string // what was seen, in a plain sentence
	Fix   string // what would make it hold; "" where it does or nothing would
}

// Report is every promise, always in the same order.
type Report []Part

// Holds reports whether every promise is kept. An empty report promises nothing
// and does not hold.
func (r Report) Holds() bool {
	for _, part := range r {
		if !part.Holds {
			return false
		}
	}
	return len(r) > 0
}

// New returns a sandbox for commands. Under Required every promise was tried, and holds.
func New(o Options) (*Sandbox, error) {
	if o.Mode < Auto || o.Mode > Off || o.Level < 1 || o.Level > 2 {
		return nil, fault.New(fault.Misconfigured, "the sandbox has no such mode or level", "Use auto, required or off, and level 1 or 2")
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one there are no tool folders in it
	}
	s, err := newSandbox(o)
	if err != nil || o.Mode != Required || s.Report().Holds() {
		return s, err
	}
	// The first promise that does not hold, and how to have it.
	refusal := fault.New(fault.Unavailable, "the sandbox is required, but this machine has none", "Use --sandbox auto or off")
	if i := slices.IndexFunc(s.Report(), func(p Part) bool { return !p.Holds }); i >= 0 {
		part := s.Report()[i]
		why := "the sandbox is required, but this machine does not keep all of it: " + part.Name + ": " + part.Why
		refusal = fault.New(fault.Unavailable, why, part.Fix).With("part", part.Name)
	}
	return nil, errors.Join(refusal, s.Close())
}

// Report returns what became of trying every promise. They are tried once, at the first call.
func (s *Sandbox) Report() Report {
	s.once.Do(func() { s.report = s.try() })
	return s.report
}

// check rejects what could only go wrong later. The grants are checked here too: one that leads
// elsewhere by now must not reach the kernel.
func (c Command) check(ctx context.Context) error {
	switch {
	case !filepath.IsAbs(c.Path) || len(c.Args) == 0:
		return fault.New(fault.ParamInvalid, "a program is started by its full path and with a name", "Look the program up in PATH first").
			With("program", c.Path)
	case !filepath.IsAbs(c.Dir):
		return fault.New(fault.ParamInvalid, "a program is started in a directory with a full path", "Give the whole path of the directory").
			With("directory", c.Dir)
	case c.Limits.Memory < 0 || c.Limits.Processes < 0 || c.Limits.FileSize < 0 || c.Limits.CPU < 0:
		return fault.New(fault.ParamInvalid, "a limit is less than nothing", "Use 0 for no limit")
	}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return fault.New(fault.NotFound, "the working directory is not there: "+c.Dir, "Create it, or choose another").
			With("directory", c.Dir).Because(err)
	}
	grants := slices.Concat(c.Rules.Read, c.Rules.Write, c.Rules.Hide)
	for _, g := range append(grants, c.Rules.Temp, c.In) {
		if g != nil {
			if err := g.Check(); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return fault.From(err)
	}
	return nil
}

// forbidden is the error for a command outside of a sandbox that is required.
func forbidden() error {
	return fault.New(fault.Forbidden, "a command may not run outside of the sandbox, which is required", "Run it by hand")
}

// open gives every stream a file: null, which the caller closes, for those that have none.
func (f Files) open() (files []*os.File, null *os.File, err error) {
	if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	for _, file := range []*os.File{f.Stdin, f.Stdout, f.Stderr} {
		files = append(files, cmp.Or(file, null))
	}
	return files, null, nil
}

// readable and writable are the paths that a command may read and change besides.
func (r Rules) readable() []string { return paths(r.Read) }

func (r Rules) writable() []string {
	out := paths(r.Write)
	if r.Temp != nil {
		out = append(out, r.Temp.Path())
	}
	return out
}

func paths(grants []*confine.Grant) []string {
	var out []string
	for _, g := range grants {
		out = append(out, g.Path())
	}
	return out
}
