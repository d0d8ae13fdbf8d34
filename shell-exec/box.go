package main

import (
	"context"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// box is a sandbox that may still be being tried. That takes longer than the rest of a
// start, so a client is greeted meanwhile; whoever needs the sandbox waits, the first
// command above all.
type box struct {
	tried   chan struct{} // closed when the rest is there
	sandbox *sandbox.Sandbox
	report  sandbox.Report
	err     error
}

func newBox(o sandbox.Options) *box {
	b := &box{tried: make(chan struct{})}
	go func() {
		defer close(b.tried)
		b.sandbox, b.report, b.err = sandbox.New(o)
	}()
	return b
}

// wait is nil when commands can be started.
func (b *box) wait() error {
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

// Report is what became of trying it.
func (b *box) Report() sandbox.Report {
	<-b.tried
	return b.report
}

// Close ends what runs in the sandbox.
func (b *box) Close() error {
	if b.wait() != nil {
		return nil // there is none
	}
	return b.sandbox.Close()
}
