// Package process runs commands that were approved: it starts them, drains what they write, keeps their deadlines, ends
// them, and remembers what became of them.
//
// An execution ends when its first process does, though a child of it may hold the pipe: such a child lives on, is drained,
// and is ended with the execution's tree or with the server. Only a detached job outlives the server; a supervisor of its
// own watches it, and the next start finds both again.
//
// It refuses to choose what runs: a command comes from the policy, an environment from [Environment]. It refuses to signal
// a process that it has not started: what it holds is a tree, or a process ID together with the time its process began.
// It refuses to wait for a child beyond a deadline, and to keep output, records or running commands without bound.
//
// The temporary directory of commands goes with the server that made it: what a killed server could not remove, a later
// one does. It refuses to follow a link there, and to remove what merely has the name.
package process

import (
	"context"
	"syscall"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// Starter starts a command within what it may use.
type Starter interface {
	Start(context.Context, sandbox.Command, sandbox.Files) (Tree, error)
}

// Tree is everything that one command started, however it forked. Its methods may be called from several goroutines, and
// when it is gone.
type Tree interface {
	PID() int                    // of the first process
	Exited() <-chan struct{}     // closed when the first process has ended
	Wait() sandbox.Status        // how it ended; never waits for a pipe
	Gone() <-chan struct{}       // closed when nothing is left
	Outlived() <-chan struct{}   // closed when something lives on after the first process; one of the two comes soon after Exited
	Signal(syscall.Signal) error // all of it, and no stranger
	Kill() error                 // all of it; returns when it is gone
	Usage() sandbox.Usage        // of what is alive
	PIDs() []int                 // of what is alive: to look at, not to signal
	Close() error                // kills what is left and gives everything back
}

// Sandboxed starts commands in s.
func Sandboxed(s *sandbox.Sandbox) Starter { return sandboxed{s} }

type sandboxed struct{ sandbox *sandbox.Sandbox }

func (s sandboxed) Start(ctx context.Context, c sandbox.Command, f sandbox.Files) (Tree, error) {
	t, err := s.sandbox.Start(ctx, c, f)
	if err != nil {
		return nil, err // a nil *sandbox.Tree is not a nil Tree
	}
	return t, nil
}
