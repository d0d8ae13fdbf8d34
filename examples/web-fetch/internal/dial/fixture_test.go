package dial

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/multiollama/mcp-server/shared/fault"
)

// site is a web server on loopback, and how often it was connected to.
type site struct {
	*httptest.Server
	at   netip.AddrPort
	hits atomic.Int64
}

// serve is a site at an address of this machine; port 0 is any.
func serve(t *testing.T, address string, port uint16, handler http.HandlerFunc) *site {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(address), port).String())
	if err != nil {
		t.Skip("this machine has not all of 127.0.0.0/8: ", err)
	}
	s := &site{at: netip.MustParseAddrPort(listener.Addr().String())}
	s.Server = httptest.NewUnstartedServer(handler)
	s.Server.Listener.Close()
	s.Server.Listener = listener
	s.Server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.hits.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// local is a site at 127.0.0.1.
func local(t *testing.T, handler http.HandlerFunc) *site { return serve(t, "127.0.0.1", 0, handler) }

// says is a handler that answers a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// opening lets through exactly this site.
func (s *site) opening() Opening {
	return Opening{netip.PrefixFrom(s.at.Addr(), s.at.Addr().BitLen()), s.at.Port()}
}

// guard lets through exactly these sites.
func guard(sites ...*site) *Guard {
	var o Options
	for _, s := range sites {
		o.Open = append(o.Open, s.opening())
	}
	return New(o)
}

// get gets a URL with small limits.
func get(ctx context.Context, g *Guard, url string) (Page, error) {
	u, err := g.Parse(url)
	if err != nil {
		return Page{}, err
	}
	return g.Get(ctx, Request{URL: u, Accept: "*/*", Bytes: 1 << 20, Redirects: 3})
}

// is checks a code; the empty one means no error.
func is(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || fault.From(err).Code != want):
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// names is a server of names that answers each question with the next of its addresses,
// the last one for ever.
type names struct {
	answers [][]string
	asked   atomic.Int64
}

// resolver asks only n, over a pipe that it frames as TCP.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.serve(theirs)
		return ours, nil
	}}
}

func (n *names) serve(c net.Conn) {
	defer c.Close()
	frame := make([]byte, 2)
	for {
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		query := make([]byte, int(frame[0])<<8|int(frame[1]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := n.reply(query)
		if _, err := c.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...)); err != nil {
			return
		}
	}
}

// reply answers the question for IPv4 addresses; there are no others.
func (n *names) reply(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable = true, true
	m.Additionals = nil
	if q.Type == dnsmessage.TypeA {
		turn := int(n.asked.Add(1)) - 1
		for _, a := range n.answers[min(turn, len(n.answers)-1)] {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
			})
		}
	}
	out, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return out
}

// named is a URL of a name at the port of a site.
func (s *site) named(name string) string {
	_, port, _ := strings.Cut(s.at.String(), ":")
	return "http://" + name + ":" + port + "/"
}
