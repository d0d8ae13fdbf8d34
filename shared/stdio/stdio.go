// Package stdio carries MCP over two streams, one JSON-RPC message a line.
//
// It keeps what the protocol promises of its transport: a request's progress
// comes whole and before its response, a cancelled request is answered no more,
// a slow call stops no other, the last request before the end of the stream is
// answered, and nothing but JSON-RPC is ever written.
//
// It refuses to hold more than it was given room for. A line, the calls in
// flight and the bytes they hold are bounded; a client that sends without
// reading is made to wait. It refuses to know what a request means: methods are
// the [Handler]'s, except the few that steer the connection itself. And it
// refuses to send the client a request that the client did not say it can
// answer.
//
// Framing: Model Context Protocol 2025-11-25 and 2026-07-28, "Transports",
// section stdio. Error codes: JSON-RPC 2.0, section 5.1.
package stdio

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/rpc"
)

// Handler is what a server does with messages.
//
// The session in a request's context belongs to that request alone, so that its
// notifications stay in order with its response. SessionID is what names the
// client: it is the same for all of them, except that every subscriptions/listen
// has a session with an ID of its own, registered while it lasts.
//
// HandleMessage is called concurrently, but notifications from the client are
// handled one after the other and hold up what comes behind them: their handlers
// must be quick, and cannot ask the client anything.
type Handler = rpc.Handler

// Options are the limits of a connection. Zero fields mean the default.
type Options struct {
	MaxLine     int           // bytes of one message and its line's end; default 16 MiB
	MaxInFlight int           // requests being worked on at once; default 256. Eight times as many may wait
	Drain       time.Duration // how long Serve may take to end; default 4 s
	Log         *slog.Logger  // diagnostics; default: none

	// Context, if set, makes the context of each request: the place to put the
	// request's id where error envelopes and the audit log find it.
	Context func(ctx context.Context, requestID string) context.Context
}

func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = 16 << 20
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 256
	}
	if o.Drain <= 0 {
		o.Drain = 4 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Context == nil {
		o.Context = func(ctx context.Context, _ string) context.Context { return ctx }
	}
	return o
}

// held is the bytes of lines that may be in flight together; one that is longer
// comes in alone.
func (o Options) held() int { return 4 * min(o.MaxLine, 16<<20) }

// Serve answers what comes in until the input ends, ctx does, or the output
// breaks.
//
// At the end of the input the requests in flight may still finish, for three
// quarters of Drain; then, or at once when ctx ends, they are cancelled. Serve
// returns within Drain in any case and leaves behind what did not end: at worst
// one goroutine in a Read of in, one in a Write of out that nobody reads, and
// handlers that ignore their context, whose responses are not written.
//
// It returns nil when the client closed the connection or ctx ended, and every
// request was brought to its end. Otherwise the error is a [fault.Error]:
// Unavailable when a stream broke, TimedOut when requests had to be abandoned.
//
// While it runs, a write to a pipe that nobody reads is an error and not the
// end of the process, as it is by default when the pipe is standard output.
func Serve(ctx context.Context, h Handler, in io.Reader, out io.Writer, o Options) error {
	defer brokenPipesAreErrors(out)()
	widen(in)
	widen(out)
	c := newConn(ctx, h, in, out, o.withDefaults())
	defer c.out.seal()
	if err := h.RegisterSession(ctx, c.session); err != nil {
		return fault.New(fault.Unavailable, "the session could not be registered", "").Because(err)
	}
	defer h.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
	defer c.session.notes.Forget()
	defer c.turn.timer.Stop()
	go c.read()
	return c.wait(ctx)
}
