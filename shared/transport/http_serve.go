package transport

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// maxHead is how many bytes the head of a request may have.
const maxHead = 32 << 10

// served is a server at work.
type served struct {
	h       Handler
	o       HTTPOptions
	plan    *HTTPPlan
	calls   calls
	unsent  atomic.Int64 // bytes of answers on their way to clients, which may read slowly
	lines   encoder
	streams atomic.Int64 // subscriptions so far
}

// Serve answers requests until ctx ends, or nobody can be let in any more.
//
// At the end of ctx new requests are refused, and /healthz says so, while those in flight
// may still finish, for three quarters of Drain; then they are cancelled. Serve returns
// within Drain and leaves behind what did not end: handlers that ignore their context.
//
// It returns nil when ctx ended and every request was brought to its end. Otherwise the
// error is a [fault.Error]: Unavailable where connections could not be accepted, TimedOut
// where requests had to be abandoned.
func (l *HTTPListener) Serve(ctx context.Context, h Handler, o HTTPOptions) error {
	o.MaxBody = positive(o.MaxBody, 16<<20)
	o.MaxRequests = positive(o.MaxRequests, 512)
	o.MaxConns = positive(o.MaxConns, 1000)
	o.Header = positive(o.Header, 10*time.Second)
	o.Pace = positive(o.Pace, 10*time.Second)
	o.Idle = positive(o.Idle, 2*time.Minute)
	o.Beat = positive(o.Beat, 15*time.Second)
	o.Drain = positive(o.Drain, 4*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Context == nil {
		o.Context = func(ctx context.Context, _ string) context.Context { return ctx }
	}
	if o.Trace == nil {
		o.Trace = func(ctx context.Context, _ http.Header) context.Context { return ctx }
	}

	s := &served{h: h, o: o, plan: l.plan}
	s.calls.MaxCalls, s.calls.MaxBytes = o.MaxRequests, 4*max(o.MaxBody, 16<<20)
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // of every request
	defer stop(errEnding)
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: o.Header,
		IdleTimeout:       o.Idle,
		MaxHeaderBytes:    maxHead,
		TLSConfig:         s.plan.tls.Clone(),
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
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
			Listener: l.listener, places: make(chan struct{}, o.MaxConns), closed: make(chan struct{}), unauthenticated: list.New(),
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
	idle := s.calls.close()
	grace := time.NewTimer(o.Drain * 3 / 4)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	}
	stop(errEnding)
	last, done := context.WithTimeout(context.Background(), o.Drain/4)
	defer done()
	err := srv.Shutdown(last)
	if n, _ := s.calls.state(); n > 0 {
		_ = srv.Close() // the error says what is left
		return fault.New(fault.TimedOut, "requests did not end in time and were abandoned", "").With("requests", n).Because(err)
	}
	_ = srv.Close() // of connections nothing is left to lose
	return nil
}

// connLimiter accepts a bounded number of connections at once. When all places are taken,
// a new connection replaces the oldest one that has shown no token, so that clients
// without a token cannot lock out those that have one. If every connection has shown a
// token, the new one waits.
type connLimiter struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once

	mu              sync.Mutex
	unauthenticated *list.List // of *connection, oldest first
}

// Accept takes the connection before its place, so that no connection is closed for one
// that never comes.
func (c *connLimiter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case c.places <- struct{}{}:
	default:
		c.mu.Lock()
		oldest := c.unauthenticated.Front()
		c.mu.Unlock()
		if oldest != nil {
			oldest.Value.(*connection).Close()
		}
		select {
		case c.places <- struct{}{}:
		case <-c.closed:
			conn.Close()
			return nil, net.ErrClosed
		}
	}
	placed := &connection{Conn: conn, limiter: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	placed.unauthenticated = c.unauthenticated.PushBack(placed)
	return placed, nil
}

func (c *connLimiter) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// connection is a connection that has a place, and gives it back once.
type connection struct {
	net.Conn
	limiter         *connLimiter
	once            sync.Once
	unauthenticated *list.Element // nil once the client has shown a token
}

func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.authenticated()
		<-c.limiter.places
	})
	return err
}

// authenticated keeps the connection from being closed for a new one.
func (c *connection) authenticated() {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	if c.unauthenticated != nil {
		c.limiter.unauthenticated.Remove(c.unauthenticated)
		c.unauthenticated = nil
	}
}

// connectionKey finds the connection of a request.
type connectionKey struct{}
