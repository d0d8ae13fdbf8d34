package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// StdioOptions are the limits of a connection. Zero fields mean the default.
type StdioOptions struct {
	MaxLine     int           // bytes of one message and its line's end; default 16 MiB
	MaxInFlight int           // requests being worked on at once; default 256. Eight times as many may wait
	Drain       time.Duration // how long Serve may take to end; default 4 s
	Log         *slog.Logger  // diagnostics; default: none

	// Context, if set, makes the context of each request: the place to put the
	// request's id where error envelopes and the audit log find it.
	Context func(ctx context.Context, requestID string) context.Context
}

// ServeStdio answers requests until the input ends, ctx is done, or the output breaks.
//
// At the end of the input, requests in flight have three quarters of Drain to finish.
// After that, or at once when ctx is done, they are cancelled. Serve returns within
// Drain in any case. It may leave behind one goroutine in a Read of in, one in a Write
// of out that nobody reads, and handlers that ignore their context, whose responses are
// not written.
//
// ServeStdio returns nil when the client closed the connection or ctx was done, and every
// request was finished. Otherwise the error is a [fault.Error]: Unavailable when a
// stream broke, TimedOut when requests were abandoned.
//
// While Serve runs, a write to a pipe that nobody reads returns an error instead of
// ending the process, which is the default when the pipe is standard output.
func ServeStdio(ctx context.Context, h Handler, in io.Reader, out io.Writer, o StdioOptions) error {
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
		calls: &calls{MaxCalls: 8 * o.MaxInFlight, MaxBytes: 4 * min(o.MaxLine, 16<<20)},
		asks:  &asks{waiting: map[string]chan message{}},
		slots: make(chan struct{}, o.MaxInFlight),
		in:    newLines(in, o.MaxLine),
		free:  make(chan struct{}),
		ended: make(chan error, 1),
	}
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c.stop = stop
	c.turn = newTurn(func() { c.handOn(base) })
	c.session = &stdioSession{session: session{peer: &peer{}, id: clientSession}, conn: c}
	defer c.out.seal()
	if err := h.RegisterSession(ctx, c.session); err != nil {
		return fault.New(fault.Unavailable, "the session could not be registered", "").Because(err)
	}
	defer h.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
	defer c.session.stop()
	defer c.turn.timer.Stop()
	go c.read(base)
	return c.wait(ctx)
}

var errClosed = errors.New("the client closed the connection")

// conn is one connection: what its goroutines share.
type conn struct {
	h       Handler
	o       StdioOptions
	stop    context.CancelCauseFunc // of every request: the connection must end
	out     *output
	calls   *calls
	asks    *asks
	session *stdioSession // the client's, for what belongs to no request
	greeted atomic.Bool   // the handshake is done
	streams atomic.Int64  // subscriptions so far
	slots   chan struct{} // one for each request being worked on
	in      *lines
	turn    *turn         // whose it is to read
	free    chan struct{} // hands it to one that is idle
	idle    atomic.Int64  // goroutines that wait for it
	ended   chan error    // the reader's last error, sent once
}

// wait returns when the connection has ended, at most Drain after the first sign of it.
func (c *conn) wait(ctx context.Context) error {
	var readErr error
	left := c.o.Drain
	select {
	case <-ctx.Done():
	case <-c.out.broken:
	case readErr = <-c.ended:
		// The calls get time to finish, as long as the client may read their responses.
		idle := c.close()
		grace := time.NewTimer(left * 3 / 4)
		defer grace.Stop()
		select {
		case <-idle:
		case <-grace.C:
		case <-ctx.Done():
		case <-c.out.broken:
		}
		left /= 4
	}

	idle := c.close()
	c.stop(errEnding)
	limit := time.NewTimer(left)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	}

	select {
	case <-c.out.broken: // A Write may still be under way: nothing waits for it.
		return fault.New(fault.Unavailable, "the client no longer reads the server's output", "").Because(c.out.err)
	default:
	}
	if readErr != nil && !errors.Is(readErr, io.EOF) && !errors.Is(readErr, os.ErrClosed) {
		return fault.New(fault.Unavailable, "the input could not be read", "").Because(readErr)
	}
	if n, _ := c.calls.state(); n > 0 {
		return fault.New(fault.TimedOut, "requests did not end in time and were abandoned", "").With("requests", n)
	}
	return nil
}

// close admits no new call and ends what would wait for a client that has gone. The
// channel is closed when the last call has ended.
func (c *conn) close() <-chan struct{} {
	c.asks.close()
	return c.calls.close()
}
