package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/stdio"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// drain is how long calls that still run may take to end: a server ends within
// 5 s of being told so.
const drain = 4 * time.Second

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{Use: "serve", Short: "Serve MCP on stdin and stdout, or over HTTP (as without a command)", Args: a.noCommand, RunE: a.serve}
	if a.Pathless {
		return c
	}
	c.Use += " [DIR …]"
	c.Long = c.Short + ". Every DIR is allowed as if it\n" +
		"stood behind --allow-path: for hosts that can only append what a person picked."
	c.Args = arguments(0, -1)
	c.RunE = func(c *cobra.Command, dirs []string) error {
		for _, dir := range dirs {
			if err := c.Flags().Set("allow-path", dir); err != nil {
				return err
			}
		}
		return a.serve(c, nil)
	}
	return c
}

// serve ends when stdin does, over HTTP never by itself, or at SIGTERM or SIGINT.
func (a *app) serve(c *cobra.Command, _ []string) error {
	restrict.Private()
	ctx, stop := untilSignal(c.Context())
	defer stop()
	// A host that is gone makes writing an error like any other, on stderr too. SIGPIPE is caught and not looked
	// at, rather than ignored, because a child would inherit that.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	log := &unread{to: a.env.Stderr}
	a.env.Stderr = log
	defer log.flush()
	s, err := a.start(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.listener != nil {
		return a.serveHTTP(ctx, s)
	}
	if isTerminal(a.env.Stdin) {
		s.log.Warn("stdin is a terminal: this waits for the messages of an MCP host; see --help")
	}
	return stdio.Serve(ctx, s.server, a.env.Stdin, a.env.Stdout, stdio.Options{
		MaxLine: a.maxMessage(), Drain: drain, Log: s.log, Context: toolkit.WithRequestID,
	})
}

// untilSignal is ctx until SIGTERM or SIGINT; a second one ends the process at
// once.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
