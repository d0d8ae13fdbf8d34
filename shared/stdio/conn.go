package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

var (
	errCancelled = errors.New("the client cancelled the request")
	errClosing   = errors.New("the server is ending")
	errClosed    = errors.New("the client closed the connection")
)

// conn is one connection: what its goroutines share.
type conn struct {
	h       Handler
	o       Options
	base    context.Context // of every request; cancelled when the connection must end
	stop    context.CancelCauseFunc
	out     *output
	calls   *calls
	asks    *asks
	session *session      // the client's, for what belongs to no request
	greeted atomic.Bool   // the handshake is done
	streams atomic.Int64  // subscriptions so far
	slots   chan struct{} // one for each request being worked on
	in      *lines
	turn    *turn         // whose it is to read
	free    chan struct{} // hands it to one that is idle
	idle    atomic.Int64  // goroutines that wait for it
	ended   chan error    // the reader's last word, said once
}

func newConn(ctx context.Context, h Handler, in io.Reader, out io.Writer, o Options) *conn {
	c := &conn{
		h:     h,
		o:     o,
		out:   newOutput(out),
		calls: newCalls(8*o.MaxInFlight, o.held()),
		asks:  newAsks(),
		slots: make(chan struct{}, o.MaxInFlight),
		in:    newLines(in, o.MaxLine),
		free:  make(chan struct{}),
		ended: make(chan error, 1),
	}
	c.turn = newTurn(c.handOn)
	c.session = newSession(c, clientSession)
	c.base, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return c
}

// wait returns when the connection has come to its end, at most Drain after the
// first sign of it.
func (c *conn) wait(ctx context.Context) error {
	var readErr error
	left := c.o.Drain
	select {
	case <-ctx.Done():
	case <-c.out.broken:
	case readErr = <-c.ended:
		c.finish(ctx, left*3/4)
		left /= 4
	}
	idle := c.close()
	c.stop(errClosing)
	limit := time.NewTimer(left)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	}
	return c.verdict(readErr)
}

// finish gives the calls time to end by themselves, as long as somebody may
// read their responses.
func (c *conn) finish(ctx context.Context, grace time.Duration) {
	idle := c.close()
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	case <-ctx.Done():
	case <-c.out.broken:
	}
}

// close lets nothing new begin, and ends what would otherwise wait for a client
// that says no more. The channel is closed when the last call has ended.
func (c *conn) close() <-chan struct{} {
	c.asks.close()
	return c.calls.close()
}

// verdict turns how the connection ended into the error of Serve.
func (c *conn) verdict(readErr error) error {
	if err := c.out.failure(); err != nil {
		return fault.New(fault.Unavailable, "the client no longer reads the server's output", "").Because(err)
	}
	if readErr != nil && !errors.Is(readErr, io.EOF) && !errors.Is(readErr, os.ErrClosed) {
		return fault.New(fault.Unavailable, "the input could not be read", "").Because(readErr)
	}
	if n := c.calls.len(); n > 0 {
		return fault.New(fault.TimedOut, "requests did not end in time and were abandoned", "").With("requests", n)
	}
	return nil
}

// brokenPipesAreErrors asks for SIGPIPE and never looks at it, if out can be
// standard output. Without this the runtime ends the process at the first write
// that nobody reads (package os/signal, "SIGPIPE"), with calls half done and
// unaudited. The function it returns undoes that.
func brokenPipesAreErrors(out io.Writer) (undo func()) {
	if _, file := out.(*os.File); !file {
		return func() {}
	}
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
}
