package main

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// box is a sandbox that may not have been tried yet. That takes longer than the rest of a
// start, so a client is greeted first; whoever needs the sandbox waits, the first command
// above all.
type box struct {
	wanted, closing func()
	tried           chan struct{} // closed when the rest is there
	sandbox         *sandbox.Sandbox
	report          sandbox.Report
	err             error
}

// newBox tries the sandbox as soon as it is wanted, and at the latest after a while.
func newBox(o sandbox.Options, while time.Duration) *box {
	wanted, closing := make(chan struct{}), make(chan struct{})
	b := &box{
		wanted:  sync.OnceFunc(func() { close(wanted) }),
		closing: sync.OnceFunc(func() { close(closing) }),
		tried:   make(chan struct{}),
	}
	go func() {
		defer close(b.tried)
		select {
		case <-wanted:
		case <-time.After(while):
		case <-closing:
			b.err = context.Canceled
			return
		}
		b.sandbox, b.report, b.err = sandbox.New(o)
	}()
	return b
}

// wait is nil when commands can be started.
func (b *box) wait() error {
	b.wanted()
	<-b.tried
	return b.err
}

// Start starts a command in the sandbox, when that was tried.
func (b *box) Start(ctx context.Context, c sandbox.Command, f sandbox.Files) (process.Tree, error) {
	if err := b.wait(); err != nil {
		return nil, err
	}
	return process.Sandboxed(b.sandbox).Start(ctx, c, f)
}

// Terminal is a pseudo-terminal for a command.
func (b *box) Terminal() (ours, theirs *os.File, err error) {
	if err := b.wait(); err != nil {
		return nil, nil, err
	}
	return b.sandbox.Terminal()
}

// Report is what became of trying it.
func (b *box) Report() sandbox.Report {
	_ = b.wait() // without a sandbox the report says so, or there is none
	return b.report
}

// holds says that a promise of the sandbox is kept on this machine.
func (b *box) holds(name string) bool {
	return slices.ContainsFunc(b.Report(), func(p sandbox.Part) bool { return p.Name == name && p.Holds })
}

// Close ends what runs in the sandbox. One that was not tried never is.
func (b *box) Close() error {
	b.closing()
	<-b.tried
	if b.sandbox == nil {
		return nil
	}
	return b.sandbox.Close()
}
