// Package dial is the only one that connects, and decides where to.
//
// It refuses every address that is not public, whatever name, spelling or redirect led
// there: the check is of the very address that the socket is about to connect to
// ([net.Dialer.ControlContext]), so that it does not matter what a name resolved to
// before. It refuses schemes other than http and https, credentials in a URL, ports that
// nobody opened, and an answer beyond the limits. It refuses to take a proxy from the
// environment, since the proxy would connect unchecked, and to keep cookies.
//
// Only [Guard.Parse] makes a [URL], also of a redirect, and only the check makes an
// [Address]. The zero Guard and the zero URL refuse everything.
package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Options say what a Guard lets through besides public addresses at ports 80 and 443.
type Options struct {
	Open  []Opening // what may be reached though it is not public
	Ports []uint16  // more ports of public addresses
	Hosts []string  // the only hosts there are, "example.com" or "*.example.com"; nil: all
	Agent string    // the User-Agent

	Roots    *x509.CertPool // nil: the system's
	Resolver *net.Resolver  // nil: the system's
}

// Guard connects to what it lets through. Its methods may be called by many goroutines
// at once.
type Guard struct {
	open  []Opening
	ports []uint16
	hosts []string
	agent string
	own   func() ([]net.Addr, error) // the addresses of this machine
	http  *http.Transport
}

// How long the steps of a connection may take, within the deadline of the whole.
const (
	connectTime   = 10 * time.Second
	handshakeTime = 10 * time.Second
)

// maxHeader is the bytes of the header of an answer.
const maxHeader = 256 << 10

// New is a Guard that lets through what o says.
func New(o Options) *Guard {
	g := &Guard{
		open: o.Open, hosts: o.Hosts, agent: o.Agent,
		ports: append([]uint16{80, 443}, o.Ports...),
		own:   net.InterfaceAddrs,
	}
	dialer := &net.Dialer{Timeout: connectTime, Resolver: o.Resolver, ControlContext: g.control}
	g.http = &http.Transport{
		DialContext:            dialer.DialContext, // and no Proxy
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTime,
		DisableKeepAlives:      true, // a server has nothing to say once its answer is read
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
	}
	return g
}

// control is asked by every socket before it connects.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	_, err := g.address(network, address)
	return err
}

// Address is an address that may be connected to; only a Guard makes one.
type Address struct{ at netip.AddrPort }

// String is the address and the port; empty for none.
func (a Address) String() string {
	if !a.at.IsValid() {
		return ""
	}
	return a.at.String()
}

// address is the one that a socket would connect to, or why it may not.
func (g *Guard) address(network, address string) (Address, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp" && network != "tcp4" && network != "tcp6" {
		return Address{}, forbidden("no address of a web server").Because(err)
	}
	if slices.ContainsFunc(g.open, func(o Opening) bool { return o.holds(at, g.ports) }) {
		return Address{at}, nil
	}
	if !slices.Contains(g.ports, at.Port()) {
		return Address{}, forbiddenPort(at.Port())
	}
	why := reserved(at.Addr())
	if why == "" {
		why, err = g.isOwn(at.Addr())
	}
	switch {
	case err != nil:
		return Address{}, err
	case why != "":
		return Address{}, forbidden(why).Because(notDialled(at))
	}
	return Address{at}, nil
}

// isOwn says that an address is one of this machine, where services listen that are
// meant for it alone.
func (g *Guard) isOwn(a netip.Addr) (string, error) {
	all, err := g.own()
	if err != nil {
		return "", fault.New(fault.Unavailable, "the system does not tell the addresses of this machine, so none can be told from them", "").Because(err)
	}
	for _, own := range all {
		if prefix, err := netip.ParsePrefix(own.String()); err == nil && prefix.Addr() == a {
			return "an address of this machine itself", nil
		}
	}
	return "", nil
}
