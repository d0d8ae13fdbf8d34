// Package dial is the only one that connects, and decides where to.
//
// Every address that is not public is refused, whatever name, spelling or redirect led
// there: the check is of the very address that the socket is about to connect to
// ([net.Dialer.ControlContext]), so that it does not matter what a name resolved to
// before. Schemes other than http and https, credentials in a URL, ports that nobody
// opened, and a page beyond the limits are refused too. A proxy of the environment is not
// used, since it would connect unchecked, and no cookies are kept.
//
// Only [Guard.Parse] makes a [URL], also of a redirect, and only the check makes an
// [Address]. The zero Guard and the zero URL refuse everything.
package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
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

// New makes a Guard that lets through what o says.
func New(o Options) *Guard {
	const stepTime = 10 * time.Second // of a connection, within the deadline of the whole
	g := &Guard{
		open: o.Open, hosts: o.Hosts, agent: o.Agent,
		ports: append([]uint16{80, 443}, o.Ports...),
		own:   net.InterfaceAddrs,
	}
	dialer := &net.Dialer{
		Timeout: stepTime, Resolver: o.Resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			_, err := g.address(network, address)
			return err
		},
	}
	g.http = &http.Transport{
		DialContext:            dialer.DialContext, // and no Proxy
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    stepTime,
		DisableKeepAlives:      true, // a server has nothing more to send once its page is read
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
	}
	return g
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

// address returns the one that a socket would connect to, or why it may not.
func (g *Guard) address(network, address string) (Address, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp" && network != "tcp4" && network != "tcp6" {
		return Address{}, forbidden("no address of a web server", err)
	}
	if slices.ContainsFunc(g.open, func(o Opening) bool { return o.holds(at, g.ports) }) {
		return Address{at}, nil
	}
	if !slices.Contains(g.ports, at.Port()) {
		return Address{}, forbiddenPort(at.Port())
	}
	why := reserved(at.Addr())
	if why == "" {
		// On this machine services listen that are meant for it alone.
		all, err := g.own()
		if err != nil {
			return Address{}, fault.New(fault.Unavailable,
				"the system does not tell the addresses of this machine, so none can be told from them", "").Because(err)
		}
		for _, own := range all {
			if prefix, err := netip.ParsePrefix(own.String()); err == nil && prefix.Addr() == at.Addr() {
				why = "an address of this machine itself"
			}
		}
	}
	if why != "" {
		return Address{}, forbidden(why, fmt.Errorf("%s was not connected to", at))
	}
	return Address{at}, nil
}

// forbidden refuses an address without naming it: what a name resolves to within a
// network is nobody's business outside of it. The audit log has it, in cause.
func forbidden(why string, cause error) error {
	return fault.New(fault.OutsideAllowed, "the URL leads to "+why+", where nothing is fetched from",
		"Use a public page; the person who runs this server can allow an address with --allow-address").With("rule", "address").Because(cause)
}

func forbiddenPort(port uint16) error {
	return fault.New(fault.OutsideAllowed, fmt.Sprintf("nothing is fetched from port %d", port),
		"Use a URL without a port; the person who runs this server can allow one with --allow-port").With("rule", "port")
}
