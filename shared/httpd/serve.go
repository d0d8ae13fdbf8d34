package httpd

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/rpc"
)

var (
	errCancelled = errors.New("the client cancelled the request")
	errEnding    = errors.New("the server is ending")
)

// served is a server at work.
type served struct {
	h       Handler
	o       Options
	plan    *Plan
	base    context.Context // of every request; cancelled when they must end
	work    *work
	lines   rpc.Encoder
	streams atomic.Int64 // subscriptions so far
}

// Serve answers requests until ctx ends, or nobody can be let in any more.
//
// At the end of ctx new requests are refused, and Health says so, while those in flight
// may still finish, for three quarters of Drain; then they are cancelled. Serve returns
// within Drain and leaves behind what did not end: handlers that ignore their context.
//
// It returns nil when ctx ended and every request was brought to its end. Otherwise the
// error is a [fault.Error]: Unavailable where connections could not be accepted, TimedOut
// where requests had to be abandoned.
func (d *Door) Serve(ctx context.Context, h Handler, o Options) error {
	s := &served{h: h, o: o.withDefaults(), plan: d.plan}
	s.work = newWork(s.o.MaxRequests, 4*max(s.o.MaxBody, 16<<20))
	var stop context.CancelCauseFunc
	s.base, stop = context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(errEnding)
	srv := s.httpServer()
	ended := make(chan error, 1)
	go func() { ended <- s.accept(srv, newCrowd(d.listener, s.o.MaxConns)) }()
	select {
	case err := <-ended:
		return fault.New(fault.Unavailable, "connections can no longer be accepted", "Start the server again").Because(err)
	case <-ctx.Done():
	}
	return s.drain(srv, stop)
}

func (s *served) accept(srv *http.Server, l net.Listener) error {
	if s.plan.Secure {
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

// drain ends what is left, within Drain.
func (s *served) drain(srv *http.Server, stop context.CancelCauseFunc) error {
	srv.SetKeepAlivesEnabled(false)
	idle := s.work.close()
	grace := time.NewTimer(s.o.Drain * 3 / 4)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	}
	stop(errEnding)
	last, done := context.WithTimeout(context.Background(), s.o.Drain/4)
	defer done()
	err := srv.Shutdown(last)
	if n := s.work.left(); n > 0 {
		_ = srv.Close() // what is left is told
		return fault.New(fault.TimedOut, "requests did not end in time and were abandoned", "").With("requests", n).Because(err)
	}
	_ = srv.Close() // of connections nothing is left to lose
	return nil
}

func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }
