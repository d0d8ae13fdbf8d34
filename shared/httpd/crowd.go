package httpd

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// crowd lets in so many connections at once. When all places are taken, one that comes
// takes that of the stranger who has been here longest: of those that have shown no token,
// so that they cannot keep those out who have one. Where there is no stranger it waits.
type crowd struct {
	net.Listener
	places chan struct{}
	over   chan struct{}
	once   sync.Once

	mu        sync.Mutex
	strangers *list.List // of *guest, in the order of their coming
}

func newCrowd(l net.Listener, most int) *crowd {
	return &crowd{Listener: l, places: make(chan struct{}, most), over: make(chan struct{}), strangers: list.New()}
}

// Accept takes the connection first, and then a place for it: only then is somebody
// sent away.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case c.places <- struct{}{}:
		return c.welcome(conn), nil
	default:
		c.sendAway()
	}
	select {
	case c.places <- struct{}{}:
		return c.welcome(conn), nil
	case <-c.over:
		conn.Close()
		return nil, net.ErrClosed
	}
}

func (c *crowd) welcome(conn net.Conn) *guest {
	g := &guest{Conn: conn, crowd: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	g.stranger = c.strangers.PushBack(g)
	return g
}

func (c *crowd) sendAway() {
	c.mu.Lock()
	first := c.strangers.Front()
	c.mu.Unlock()
	if first != nil {
		first.Value.(*guest).Close()
	}
}

func (c *crowd) Close() error {
	c.once.Do(func() { close(c.over) })
	return c.Listener.Close()
}

// guest is a connection that has a place, and gives it back once.
type guest struct {
	net.Conn
	crowd    *crowd
	once     sync.Once
	stranger *list.Element // nil as soon as it is known
}

func (g *guest) Close() error {
	err := g.Conn.Close()
	g.once.Do(func() {
		g.known()
		<-g.crowd.places
	})
	return err
}

// known makes the guest one who is not sent away for others.
func (g *guest) known() {
	g.crowd.mu.Lock()
	defer g.crowd.mu.Unlock()
	if g.stranger != nil {
		g.crowd.strangers.Remove(g.stranger)
		g.stranger = nil
	}
}

type guestKey struct{}

// withGuest lets the requests of a connection find it.
func withGuest(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, guestKey{}, conn)
}

// recognize says that whoever has the connection of a request is known.
func recognize(r *http.Request) {
	if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
		g.known()
	}
}
