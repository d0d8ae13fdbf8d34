package main

import (
	"context"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// lazySandbox is a sandbox that may not be there yet. To make it takes longer than the rest of a
// start, so a client is greeted first; whoever needs the sandbox waits, the first command
// above all. What it promises is tried later still, when nobody waits.
type lazySandbox struct {
	wanted, closing func()
	made            chan struct{} // closed when the rest is there
	done            chan struct{} // closed when nothing is done by itself any more
	sandbox         *sandbox.Sandbox
	err             error
}

// newSandbox makes the sandbox as soon as it is wanted, and at the latest after a while.
func newSandbox(o sandbox.Options, while time.Duration) *lazySandbox {
	wanted, closing := make(chan struct{}), make(chan struct{})
	b := &lazySandbox{
		wanted:  sync.OnceFunc(func() { close(wanted) }),
		closing: sync.OnceFunc(func() { close(closing) }),
		made:    make(chan struct{}), done: make(chan struct{}),
	}
	go func() {
		defer close(b.done)
		select {
		case <-wanted:
		case <-time.After(while):
		case <-closing:
			b.err = context.Canceled
			close(b.made)
			return
		}
		b.sandbox, b.err = sandbox.New(o)
		close(b.made)
		select {
		case <-time.After(trialDelay):
			if b.err == nil {
				b.sandbox.Report()
			}
		case <-closing:
		}
	}()
	return b
}

// trialDelay is how long after it was made a sandbox is tried.
const trialDelay = 2 * time.Second

// wait is nil when commands can be started.
func (b *lazySandbox) wait() error {
	b.wanted()
	<-b.made
	return b.err
}

// Start starts a command in the sandbox, when that was made.
func (b *lazySandbox) Start(ctx context.Context, c sandbox.Command, f sandbox.Files) (process.Tree, error) {
	if err := b.wait(); err != nil {
		return nil, err
	}
	return process.Sandboxed(b.sandbox).Start(ctx, c, f)
}

// Terminal is a pseudo-terminal for a command.
func (b *lazySandbox) Terminal() (sandbox.Terminal, error) {
	if err := b.wait(); err != nil {
		return sandbox.Terminal{}, err
	}
	return b.sandbox.Terminal()
}

// Report is what became of trying the sandbox; nil where there is none.
func (b *lazySandbox) Report() sandbox.Report {
	if b.wait() != nil {
		return nil
	}
	return b.sandbox.Report()
}

// Close ends what runs in the sandbox. One that was not made never is.
func (b *lazySandbox) Close() error {
	b.closing()
	<-b.made
	if b.sandbox == nil {
		return nil
	}
	err := b.sandbox.Close()
	<-b.done
	return err
}
