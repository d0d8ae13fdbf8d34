//go:build !linux

package sandbox

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/creack/pty"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Sandbox starts commands. It is safe for use by many at once.
type Sandbox struct {
	mode  Mode
	home  string
	mu    sync.Mutex
	trees map[*Tree]bool

	once   sync.Once // for report
	report Report
}

func newSandbox(o Options) (*Sandbox, error) {
	return &Sandbox{mode: o.Mode, home: o.Home, trees: map[*Tree]bool{}}, nil
}

// Helper is for Linux: elsewhere the sandbox has no processes of its own.
func Helper() {}

// Terminal is a new pseudo-terminal for a command.
func (s *Sandbox) Terminal() (t Terminal, err error) {
	t.Ours, t.Theirs, err = pty.Open()
	return t, err
}

// remember has Close end the tree, unless it is over before that.
func (s *Sandbox) remember(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees[t] = true
}

func (s *Sandbox) forget(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trees, t)
}

// Close ends every command that is not detached.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.trees))
	s.mu.Unlock()
	var err error
	for _, t := range left {
		err = cmp.Or(t.Close(), err)
	}
	return err
}

// startFailed is the error for a command that did not start.
func startFailed(c Command, err error) error {
	return fault.New(fault.StartFailed, "the command could not be started", "See the audit log for the cause").
		With("program", c.Path).Because(err)
}
