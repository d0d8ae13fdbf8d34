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
package process

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Command is what to start, as the policy let it through. Env is complete: nothing of the server's is added.
type Command struct {
	Path string
	Args []string // the first one is the program's name for itself
	Env  []string
	Dir  string
}

// Files are what the command gets as its first three descriptors; the starter does not close them.
type Files struct{ Stdin, Stdout, Stderr *os.File }

// Starter starts a command within what it may touch.
type Starter interface {
	Start(ctx context.Context, c Command, f Files) (Tree, error)
}

// Tree is everything that one command started, however it forked.
type Tree interface {
	PID() int                    // of the first process
	Wait() Status                // for the first process only; never for a pipe
	Signal(syscall.Signal) error // all of it, and no stranger
	Kill() error                 // all of it; returns when it is gone
	Usage() Usage                // of what is alive
	Close() error                // kills what is left and gives everything back
}

// Status is how a first process ended.
type Status struct {
	Code           int
	Signal         string // the name of what killed it, SIGKILL for one; "" where it exited by itself
	Peak           int64  // most resident memory of the tree, in bytes; 0: unknown
	MemoryExceeded bool
}

// Usage is what a tree takes at one moment.
type Usage struct {
	Processes int
	Memory    int64
	CPU       time.Duration
}
