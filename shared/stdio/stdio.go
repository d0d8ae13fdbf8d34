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
	"os"
	"os/signal"
	"syscall"
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

// Serve answers requests until the input ends, ctx is done, or the output breaks.
//
// At the end of the input, requests in flight have three quarters of Drain to finish.
// After that, or at once when ctx is done, they are cancelled. Serve returns within
// Drain in any case. It may leave behind one goroutine in a Read of in, one in a Write
// of out that nobody reads, and handlers that ignore their context, whose responses are
// not written.
//
// Serve returns nil when the client closed the connection or ctx was done, and every
// request was finished. Otherwise the error is a [fault.Error]: Unavailable when a
// stream broke, TimedOut when requests were abandoned.
//
// While Serve runs, a write to a pipe that nobody reads returns an error instead of
// ending the process, which is the default when the pipe is standard output.
func Serve(ctx context.Context, h Handler, in io.Reader, out io.Writer, o Options) error {
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

	if _, file := out.(*os.File); file {
		// The runtime ends the process at the first write to a standard output that nobody
		// reads, with calls half done and unaudited, unless SIGPIPE is asked for (package
		// os/signal, "SIGPIPE"). Nobody looks at the channel.
		unread := make(chan os.Signal, 1)
		signal.Notify(unread, syscall.SIGPIPE)
		defer signal.Stop(unread)
	}
	widen(in)
	widen(out)

	c := &conn{
		h:     h,
		o:     o,
		out:   &output{turn: make(chan struct{}, 1), w: out, broken: make(chan struct{}), sealed: make(chan struct{})},
		calls: &rpc.Calls{MaxCalls: 8 * o.MaxInFlight, MaxBytes: 4 * min(o.MaxLine, 16<<20)},
		asks:  &asks{waiting: map[string]chan rpc.Message{}},
		slots: make(chan struct{}, o.MaxInFlight),
		in:    newLines(in, o.MaxLine),
		free:  make(chan struct{}),
		ended: make(chan error, 1),
	}
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c.stop = stop
	c.turn = newTurn(func() { c.handOn(base) })
	c.session = &session{Peer: &rpc.Peer{}, id: clientSession, conn: c}
	defer c.out.seal()
	if err := h.RegisterSession(ctx, c.session); err != nil {
		return fault.New(fault.Unavailable, "the session could not be registered", "").Because(err)
	}
	defer h.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
	defer c.session.notes.Forget()
	defer c.turn.timer.Stop()
	go c.read(base)
	return c.wait(ctx)
}
