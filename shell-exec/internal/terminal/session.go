package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// session is one terminal. Its own goroutine, in live, is the only one that gives things back; everybody else asks.
type session struct {
	id      string
	request Request
	created time.Time
	now     func() time.Time
	unicode bool // the environment of the shell says UTF-8

	tree     process.Tree
	line     *line
	run      *output.Run // nil where no history is kept
	outputID string      // of run, or of the screen that was stored at the end

	ends        chan struct{} // closed when somebody wants the end
	asked       sync.Once
	hung        chan struct{} // closed when the terminal has been given back
	over        chan struct{} // closed when nothing is left, and all that was written is here
	killed      error         // to be read after that
	keys        chan struct{} // holds one while somebody types
	replies     chan struct{} // holds one when a program asked the terminal for something
	interrupted *interrupt    // the last ^C, while it may not be attended to; for who holds keys

	typing sync.Mutex // held while something is typed, and while typed changes
	typed  typed      // what is known of the line
	past   []string   // texts that last
	moving bool       // the shell may still change its directory; for who holds keys
	ahead  int        // the group ahead of whose reading all of it was typed; 0 is none
	stray  bool       // an answer of the terminal is on the line too

	mu      sync.Mutex // held while the screen and what is known of it change
	screen  *screen.Screen
	size    screen.Size
	changed chan struct{}  // closed, and replaced, when something was written
	written int64          // bytes
	output  time.Time      // the last
	input   time.Time      // the last
	before  mark           // the last input
	status  sandbox.Status // once it has ended
	done    bool           // it has
}

// begin starts a session.
func (s *Sessions) begin(ctx context.Context, q Request) (*session, error) {
	if q.Size == (screen.Size{}) {
		q.Size = DefaultSize
	}
	if err := checkSize(q.Size); err != nil {
		return nil, err
	}
	now := s.config.Now()
	t := &session{
		id: "term_" + strings.ToLower(rand.Text()[:16]), request: q, created: now, now: s.config.Now, unicode: unicode(q.Command.Env),
		size: q.Size, output: now, input: now, screen: screen.New(q.Size, s.config.History), changed: make(chan struct{}),
		ends: make(chan struct{}), hung: make(chan struct{}), over: make(chan struct{}),
		keys: make(chan struct{}, 1), replies: make(chan struct{}, 1),
	}
	line, theirs, err := openLine(s.config.Open, t.size)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c := q.Command
	c.Terminal = true
	// The program keeps running when the call is over.
	t.tree, err = s.config.Starter.Start(context.WithoutCancel(ctx), c, sandbox.Files{Stdin: theirs, Stdout: theirs, Stderr: theirs})
	if err != nil {
		_ = line.close()
		return nil, err
	}
	t.line = line
	if q.SaveHistory && s.config.Store != nil {
		t.run = s.config.Store.Later(t.about())
		t.outputID = t.run.OutputID(output.Log)
		_ = t.run.Keep(ctx) // why not is reported with the session
	}
	go t.live()
	return t, nil
}

// unicode says whether an environment names an encoding in which letters beyond ASCII are text.
func unicode(environment []string) bool {
	for _, name := range []string{"LC_ALL=", "LC_CTYPE=", "LANG="} {
		for _, entry := range slices.Backward(environment) {
			if value, found := strings.CutPrefix(entry, name); found && value != "" {
				word := strings.ToLower(strings.ReplaceAll(value, "-", ""))
				return strings.Contains(word, ".utf8")
			}
		}
	}
	return false
}

// live looks after a session to its end.
func (s *session) live() {
	read, answered := make(chan struct{}), make(chan struct{})
	go func() { defer close(read); s.drain() }()
	go func() { defer close(answered); s.answer() }()
	select {
	case <-s.tree.Exited():
	case <-s.ends:
	}
	s.killed = s.tree.Close() // what its program leaves behind has no terminal any more

	// What is still to be read is taken, and the terminal given back.
	limit := time.NewTimer(outlasting)
	defer limit.Stop()
	select {
	case <-read:
	case <-limit.C:
	}
	close(s.hung)
	_ = s.line.close()
	<-read
	<-answered

	status := sandbox.Status{Code: -1, Signal: "SIGKILL"}
	select {
	case <-s.tree.Exited():
		status = s.tree.Wait()
	default:
	}
	if status.Signal != "" && status.Code <= 0 {
		status.Code = 128 + signalNumber(status.Signal)
	}
	if s.run != nil {
		_ = s.run.End()
	}
	s.mu.Lock()
	s.status, s.done = status, true
	s.news()
	s.mu.Unlock()
	close(s.over)
}

// drain takes what the programs write, to the end.
func (s *session) drain() {
	var keep io.Writer = io.Discard
	if s.run != nil {
		keep = s.run.Writer(output.Log)
	}
	buffer := make([]byte, drainSize)
	for {
		n, err := s.line.read(buffer)
		if n > 0 {
			s.mu.Lock()
			_, _ = s.screen.Write(buffer[:n])
			s.written += int64(n)
			s.output = s.now()
			s.news()
			s.mu.Unlock()
			select {
			case s.replies <- struct{}{}:
			default:
			}
			_, _ = keep.Write(buffer[:n]) // never fails: what is not kept is counted
		}
		if err == nil {
			continue
		}
		// A program has closed its terminal, and may open it again.
		wait := time.NewTimer(20 * time.Millisecond)
		select {
		case <-s.tree.Gone():
			wait.Stop()
			return
		case <-s.hung:
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// outlasting is how long the terminal may stay open when nothing is left of the tree: a process of others has it then.
const outlasting = time.Second

// news wakes those who wait; s.mu is held.
func (s *session) news() {
	close(s.changed)
	s.changed = make(chan struct{})
}

const drainSize = 32 << 10

// end ends the session and waits for that.
func (s *session) end() error {
	s.asked.Do(func() { close(s.ends) })
	<-s.over
	return s.killed
}

func (s *session) exited() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

func (s *session) resize(size screen.Size) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return s.gone()
	}
	if err := s.line.resize(size); err != nil {
		return err
	}
	s.screen.Resize(size)
	s.size = size
	s.news()
	return nil
}

func (s *session) gone() error {
	return fault.New(fault.NoTerminal, "the program of the terminal has ended", "Read what it showed, and create another terminal").
		With("terminal_id", s.id)
}

// recent is how long something that happened keeps a session active.
const recent = 2 * time.Second

func (s *session) info() Info {
	s.mu.Lock()
	i := Info{ID: s.id, Name: s.request.Name, Shell: s.request.Shell, Command: s.request.Text, Size: s.size,
		PID: s.tree.PID(), Created: s.created, LastActivity: s.output, OutputID: s.outputID, Status: Idle, Dir: s.request.Command.Dir}
	if s.input.After(i.LastActivity) {
		i.LastActivity = s.input
	}
	if s.done {
		i.Status, i.ExitCode, i.Signal = Exited, s.status.Code, s.status.Signal
	}
	s.mu.Unlock()
	if s.run != nil && s.run.Err() != nil {
		i.HistoryLost = fault.From(s.run.Err()).Msg
	}
	if i.Status == Exited {
		return i
	}
	i.Dir = cmp.Or(directory(i.PID), i.Dir)
	if group, err := s.line.group(); err == nil && group != i.PID || s.now().Sub(i.LastActivity) < recent {
		i.Status = Active
	}
	return i
}

// keep leaves the history of a session that has ended in the store, or takes it out.
func (s *session) keep(ctx context.Context, store *output.Store, save *bool) (bool, error) {
	wanted := s.request.SaveHistory
	if save != nil {
		wanted = *save
	}
	switch {
	case s.run != nil && wanted:
		return s.run.Err() == nil, nil
	case s.run != nil:
		_, err := store.Delete(ctx, []string{s.outputID}, true)
		s.outputID = ""
		return false, err
	case !wanted || store == nil:
		return false, nil
	}

	// None was kept until now: the store gets what the screen still has.
	run, err := store.Begin(ctx, s.about())
	if err != nil {
		return false, err
	}
	to := run.Writer(output.Log)
	const step = 1000
	for at := int64(0); ; {
		page := s.screen.Lines(at, step, false)
		for _, l := range page.Lines {
			_, _ = to.Write([]byte(strings.TrimRight(l, " ") + "\n")) // never fails
		}
		at = page.Start + int64(len(page.Lines))
		if !page.More || len(page.Lines) == 0 {
			break
		}
	}
	s.outputID = run.OutputID(output.Log)
	return run.Err() == nil, run.End()
}

func (s *session) about() output.About {
	return output.About{ExecutionID: s.id, Name: cmp.Or(s.request.Name, s.request.Text)}
}
