// Package terminal keeps programs that people would sit before: each in a terminal of its own, with a screen, what it
// wrote, and a keyboard.
//
// It refuses to choose what runs: a command comes from the policy, and so does the verdict about what is typed. What
// would be read as a command by a shell is judged before it is sent, all of it or none; where nobody can say what a key
// does there, the judge is asked about just that. It refuses to type into a program that its caller did not mean, to wait
// without end for one that does not read, to leave anything running when a terminal is closed, and to keep screens,
// histories or ended sessions without bound.
//
// What it cannot see: a program that is no shell and runs commands by itself (an editor, a debugger) is given its keys
// unjudged, once it reads them; starting it was judged. The sandbox holds all of them.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// Config is what sessions work with. The zero value of a number is its default.
type Config struct {
	Starter process.Starter
	Open    func() (sandbox.Terminal, error)
	Store   *output.Store // nil: no history is kept
	Limit   int           // sessions whose program is alive; 20
	Ended   int           // sessions that can still be read after their program has ended; 20
	History int           // lines of each that scrolled away; screen.DefaultHistory
	Now     func() time.Time
}

// Sessions are the terminals of this server. Its methods may be called from several goroutines.
type Sessions struct {
	config Config

	mu     sync.Mutex
	closed bool
	begun  int        // sessions that are being started
	all    []*session // oldest first
}

// New is no sessions yet.
func New(c Config) *Sessions {
	c.Limit = cmp.Or(c.Limit, 20)
	c.Ended = cmp.Or(c.Ended, 20)
	c.History = cmp.Or(c.History, screen.DefaultHistory)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Sessions{config: c}
}

// Request is a session that is wished for.
type Request struct {
	Command     sandbox.Command // as approved; its environment must say TERM=xterm-256color
	Name        string
	Shell       string // bash, sh, zsh or fish; "" for another program
	Text        string // the command as its caller wrote it
	Size        screen.Size
	SaveHistory bool // all that the program writes is kept in the store
}

// DefaultSize is that of document 001.
var DefaultSize = screen.Size{Width: 120, Height: 30}

// Status is what a session is doing.
type Status string

// The statuses. Active is that something other than the session's own program has the keyboard, or that something was
// written or typed in the last two seconds.
const (
	Active Status = "active"
	Idle   Status = "idle"
	Exited Status = "exited" // its program has ended; what it showed can be read
)

// Info is what is known of a session.
type Info struct {
	ID, Name, Shell, Command string
	Size                     screen.Size
	PID                      int
	Status                   Status
	Dir                      string // of its program now; where it was started, where that cannot be seen
	Created, LastActivity    time.Time
	ExitCode                 int    // once it exited: 128 and more after a signal
	Signal                   string // that ended it
	OutputID                 string // of the history; "" where none is kept
	HistoryLost              string // why a part of the history is not kept
}

// Create starts a program in a terminal. A limit is fault.LimitReached, which names it.
func (s *Sessions) Create(ctx context.Context, q Request) (Info, error) {
	// Make room for one more, and let the oldest that have ended go.
	var refused error
	s.mu.Lock()
	switch alive := len(slices.DeleteFunc(slices.Clone(s.all), (*session).exited)); {
	case s.closed:
		refused = ending()
	case alive+s.begun >= s.config.Limit:
		refused = fault.New(fault.LimitReached, fmt.Sprintf("%d terminals are open already", s.config.Limit),
			"Close one with terminal_close; terminal_list shows them").With("limit", s.config.Limit)
	default:
		s.begun++
		over := len(s.all) - alive - s.config.Ended
		s.all = slices.DeleteFunc(s.all, func(t *session) bool {
			if over <= 0 || !t.exited() {
				return false
			}
			over--
			return true
		})
	}
	s.mu.Unlock()
	if refused != nil {
		return Info{}, refused
	}

	t, err := s.begin(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun--
	if err != nil {
		return Info{}, err
	}
	if s.closed { // meanwhile
		t.end()
		return Info{}, ending()
	}
	s.all = append(s.all, t)
	return t.info(), nil
}

func ending() error {
	return fault.New(fault.Unavailable, "the server is about to end", "Create the terminal with the next one")
}

// Filter says which sessions to list.
type Filter struct {
	Name   string // a pattern with * and ?; "" is all
	Status string // active, idle, exited; "" or all is all
	Limit  int    // 0 is 50
}

// Listing is sessions, oldest first, and how many the filter met.
type Listing struct {
	Terminals []Info
	Total     int
}

const maxListed = 50

// List lists sessions.
func (s *Sessions) List(f Filter) (Listing, error) {
	if _, err := path.Match(f.Name, ""); err != nil || f.Limit < 0 {
		return Listing{}, fault.New(fault.ParamInvalid, "the filter makes no sense", "Use a name with * and ?, and a limit of 1 or more").
			With("session_name_pattern", f.Name)
	}
	switch Status(f.Status) {
	case "", "all", Active, Idle, Exited:
	default:
		return Listing{}, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no status %q", f.Status), "Use active, idle, exited or all").
			With("parameter", "status_filter")
	}
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	var l Listing
	for _, t := range all {
		i := t.info()
		if ok, _ := path.Match(f.Name, i.Name); f.Name != "" && !ok || f.Status != "" && f.Status != "all" && Status(f.Status) != i.Status {
			continue
		}
		if l.Total++; len(l.Terminals) < cmp.Or(f.Limit, maxListed) {
			l.Terminals = append(l.Terminals, i)
		}
	}
	return l, nil
}

// Get describes one session.
func (s *Sessions) Get(id string) (Info, error) {
	t, err := s.find(id)
	if err != nil {
		return Info{}, err
	}
	return t.info(), nil
}

func (s *Sessions) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		if t.id == id {
			return t, nil
		}
	}
	return nil, fault.New(fault.NoTerminal, "there is no such terminal", "Look at terminal_list").With("terminal_id", id)
}

// Resize gives a session another size, and signals its programs.
func (s *Sessions) Resize(id string, size screen.Size) (Info, error) {
	t, err := s.find(id)
	if err != nil {
		return Info{}, err
	}
	if err := checkSize(size); err != nil {
		return Info{}, err
	}
	if err := t.resize(size); err != nil {
		return Info{}, err
	}
	return t.info(), nil
}

func checkSize(size screen.Size) error {
	if size.Width < 1 || size.Width > screen.MaxWidth || size.Height < 1 || size.Height > screen.MaxHeight {
		return fault.New(fault.ParamInvalid, fmt.Sprintf("a terminal cannot be %d by %d", size.Width, size.Height),
			fmt.Sprintf("Use a width of 1 to %d and a height of 1 to %d", screen.MaxWidth, screen.MaxHeight)).With("parameter", "dimensions")
	}
	return nil
}

// Closed is what became of a session.
type Closed struct {
	Info
	HistorySaved bool
	ClosedAt     time.Time
}

// Close ends a session with all that runs in it, and answers when nothing is left. save says whether the history stays
// in the store; nil is as it was wished for at the start. Where none was kept until then, it is what the screen still has.
func (s *Sessions) Close(ctx context.Context, id string, save *bool) (Closed, error) {
	t, err := s.find(id)
	if err != nil {
		return Closed{}, err
	}
	if err := t.end(); err != nil {
		return Closed{}, err
	}
	s.mu.Lock()
	mine := slices.Contains(s.all, t)
	s.all = slices.DeleteFunc(s.all, func(o *session) bool { return o == t })
	s.mu.Unlock()
	if !mine {
		return Closed{}, fault.New(fault.NoTerminal, "the terminal has been closed already", "Look at terminal_list").With("terminal_id", id)
	}
	saved, err := t.keep(ctx, s.config.Store, save)
	return Closed{Info: t.info(), HistorySaved: saved, ClosedAt: s.config.Now()}, err
}

// CloseAll ends every session. None is created afterwards.
func (s *Sessions) CloseAll() error {
	s.mu.Lock()
	s.closed = true
	all := s.all
	s.all = nil
	s.mu.Unlock()
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, t := range all {
		wait.Go(func() { errs[i] = t.end() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// Watched is a living session, for somebody who looks at its processes.
type Watched struct {
	ID string

	session *session
}

// PIDs are the processes of the session that live now.
func (w Watched) PIDs() []int { return w.session.tree.PIDs() }

// Gone is closed when none is left.
func (w Watched) Gone() <-chan struct{} { return w.session.tree.Gone() }

// Watch is the session whose program has the process ID; fault.NoProcess where there is
// none, whoever else has it.
func (s *Sessions) Watch(pid int) (Watched, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		if t.tree.PID() == pid && !t.exited() {
			return Watched{t.id, t}, nil
		}
	}
	return Watched{}, fault.New(fault.NoProcess, fmt.Sprintf("no terminal of this server has the process %d", pid),
		"terminal_list shows them").With("process_id", pid)
}

// ShellCommand is how a shell is started to be typed at, without the files that people have for it: what is typed is
// judged as what its name says. The first word is the program.
func ShellCommand(shell string) ([]string, error) {
	for _, argv := range [][]string{
		{"bash", "--noprofile", "--norc", "-i"},
		{"sh", "-i"},
		{"zsh", "-f", "-i"},
		{"fish", "--no-config", "--private", "-i"},
	} {
		if argv[0] == shell {
			return slices.Clone(argv), nil
		}
	}
	return nil, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no shell type %q here", shell), "Use bash, sh, zsh or fish").
		With("parameter", "shell_type")
}
