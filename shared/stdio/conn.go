package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/rpc"
)

var (
	errCancelled = errors.New("the client cancelled the request")
	errClosed    = errors.New("the client closed the connection")
)

// conn is one connection: what its goroutines share.
type conn struct {
	h       Handler
	o       Options
	stop    context.CancelCauseFunc // of every request: the connection must end
	out     *output
	calls   *rpc.Calls
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
	c.stop(rpc.ErrEnding)
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
	if n, _ := c.calls.State(); n > 0 {
		return fault.New(fault.TimedOut, "requests did not end in time and were abandoned", "").With("requests", n)
	}
	return nil
}

// close admits no new call and ends what would wait for a client that has gone. The
// channel is closed when the last call has ended.
func (c *conn) close() <-chan struct{} {
	c.asks.close()
	return c.calls.Close()
}
