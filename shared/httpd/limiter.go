package httpd

import (
	"container/list"
	"net"
	"sync"
)

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
