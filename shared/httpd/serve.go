package httpd

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/rpc"
)

var (
	errCancelled = errors.New("the client cancelled the request")
)

// maxHead is how many bytes the head of a request may have.
const maxHead = 32 << 10

// served is a server at work.
type served struct {
	h       Handler
	o       Options
	plan    *Plan
	calls   rpc.Calls
	unsent  atomic.Int64 // bytes of answers on their way to clients, which may read slowly
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
func (l *Listener) Serve(ctx context.Context, h Handler, o Options) error {
	s := &served{h: h, o: o.withDefaults(), plan: l.plan}
	s.calls.MaxCalls, s.calls.MaxBytes = s.o.MaxRequests, 4*max(s.o.MaxBody, 16<<20)
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // of every request
	defer stop(rpc.ErrEnding)
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.o.Header,
		IdleTimeout:       s.o.Idle,
		MaxHeaderBytes:    maxHead,
		TLSConfig:         s.plan.tls.Clone(),
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if secure, ok := conn.(*tls.Conn); ok {
				conn = secure.NetConn()
			}
			return context.WithValue(ctx, connectionKey{}, conn)
		},
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: 100},
		DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() {
		limited := &connLimiter{
			Listener: l.listener, places: make(chan struct{}, s.o.MaxConns), closed: make(chan struct{}), unauthenticated: list.New(),
		}
		if s.plan.Secure {
			ended <- srv.ServeTLS(limited, "", "")
		} else {
			ended <- srv.Serve(limited)
		}
	}()
	select {
	case err := <-ended:
		return fault.New(fault.Unavailable, "connections can no longer be accepted", "Start the server again").Because(err)
	case <-ctx.Done():
	}

	// Requests in flight get three quarters of the time to finish, the rest of the
	// connections one quarter.
	srv.SetKeepAlivesEnabled(false)
	idle := s.calls.Close()
	grace := time.NewTimer(s.o.Drain * 3 / 4)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	}
	stop(rpc.ErrEnding)
	last, done := context.WithTimeout(context.Background(), s.o.Drain/4)
	defer done()
	err := srv.Shutdown(last)
	if n, _ := s.calls.State(); n > 0 {
		_ = srv.Close() // what is left is told
		return fault.New(fault.TimedOut, "requests did not end in time and were abandoned", "").With("requests", n).Because(err)
	}
	_ = srv.Close() // of connections nothing is left to lose
	return nil
}
