package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// httpPath is where messages are sent to.
const httpPath = "/mcp"

// healthPath is where a load balancer asks whether the server is well. It says nothing else.
const healthPath = "/healthz"

// HTTPSettings are where and for whom to serve.
type HTTPSettings struct {
	Listen            string   // HOST:PORT; without a HOST, every address of the machine
	TokenFile         string   // one client a line: a token, or a name and a token; empty: no tokens
	CertFile, KeyFile string   // PEM; both or neither
	Hosts             []string // names that requests may have in Host, besides those of this machine to itself and the one of Listen
	Origins           []string // pages that may send requests, besides those of this server
	BehindTLS         bool     // the address is reached only through what ends TLS before it
}

// HTTPPlan is what HTTPSettings mean, read and checked: nothing is open yet.
type HTTPPlan struct {
	Clients []string // their names, one for each token
	Exposed bool     // other machines may reach the address
	Secure  bool     // TLS ends here
	Expires time.Time

	listen string
	tokens tokens
	tls    *tls.Config
	names  names
	pages  *pages
}

// Plan reads the files and checks that everything fits together; what does not is
// Misconfigured.
func (s HTTPSettings) Plan() (*HTTPPlan, error) {
	host, port, err := net.SplitHostPort(s.Listen)
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n > 65535 {
		return nil, fault.New(fault.Misconfigured, "the address "+strconv.Quote(s.Listen)+" is not HOST:PORT",
			"Write one such as 127.0.0.1:8080 or [::1]:8080")
	}
	p := &HTTPPlan{listen: s.Listen, Exposed: !loopback(host), names: namesOf(host, s.Hosts)}
	if p.pages, err = pagesOf(s.Origins); err != nil {
		return nil, err
	}
	if s.TokenFile != "" {
		if p.tokens, err = readTokens(s.TokenFile); err != nil {
			return nil, err
		}
		for _, t := range p.tokens {
			p.Clients = append(p.Clients, t.name)
		}
	}
	if s.CertFile != "" || s.KeyFile != "" {
		pair, err := readCertificate(s.CertFile, s.KeyFile)
		if err != nil {
			return nil, err
		}
		p.Secure, p.Expires = true, pair.Leaf.NotAfter
		p.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}

	// Other machines are let in with tokens only, and tokens go over the network encrypted.
	what, do := "", ""
	switch {
	case s.BehindTLS && p.Secure:
		what, do = "TLS ends here and before here", "Leave --behind-tls out, or --tls-cert and --tls-key"
	case p.Exposed && len(p.tokens) == 0:
		what = "other machines reach " + p.listen + ", and no token is asked for"
		do = "Name a file of tokens with --token-file, or listen on 127.0.0.1"
	case p.Exposed && !p.Secure && !s.BehindTLS:
		what = "other machines reach " + p.listen + ", and tokens and contents would go over the network in the clear"
		do = "Name a certificate with --tls-cert and --tls-key, " +
			"or write --behind-tls where an ingress or a sidecar ends TLS and nothing else reaches this address"
	default:
		return p, nil
	}
	return nil, fault.New(fault.Misconfigured, what, do)
}

func readCertificate(certFile, keyFile string) (pair tls.Certificate, err error) {
	if certFile == "" || keyFile == "" {
		return pair, fault.New(fault.Misconfigured, "a certificate needs its key, and a key its certificate",
			"Name both --tls-cert and --tls-key")
	}
	cert, err := os.ReadFile(certFile)
	if err != nil {
		what := "the file " + certFile + " (--tls-cert) cannot be read: " + fault.From(err).Msg
		return pair, fault.New(fault.Misconfigured, what, "Name a file of certificates in PEM").Because(err)
	}
	key, err := readSecret(keyFile, "--tls-key")
	if err != nil {
		return pair, err
	}
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		what := "the certificate " + certFile + " and the key " + keyFile + " do not make a pair"
		return pair, fault.New(fault.Misconfigured, what, "Name PEM files of a certificate and of its key").Because(err)
	}
	return pair, nil
}

// loopback reports whether only this machine reaches a host; no host is every address.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// HTTPListener is an address that is listened on: connections wait until Serve lets them in.
type HTTPListener struct {
	plan     *HTTPPlan
	listener net.Listener
}

// OpenHTTP reads what the settings name and listens. An address that is taken, or not this
// machine's, is Misconfigured.
func OpenHTTP(ctx context.Context, s HTTPSettings) (*HTTPListener, error) {
	p, err := s.Plan()
	if err != nil {
		return nil, err
	}
	var c net.ListenConfig
	c.SetMultipathTCP(false) // its sockets are not the ones that the kernel's rules for TCP know
	l, err := c.Listen(ctx, "tcp", s.Listen)
	if err != nil {
		what := "the address " + s.Listen + " cannot be listened on: " + fault.From(err).Msg
		return nil, fault.New(fault.Misconfigured, what, "Name another one with --listen").Because(err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !p.Exposed && (!ok || !at.IP.IsLoopback()) {
		l.Close()
		return nil, fault.New(fault.Misconfigured, "the name in "+s.Listen+" is of an address that other machines reach",
			"Listen on 127.0.0.1")
	}
	return &HTTPListener{p, l}, nil
}

// Plan is what the listener was opened with.
func (l *HTTPListener) Plan() *HTTPPlan { return l.plan }

// URL is where messages are sent to. For an address that is every address it has this
// machine's name for itself.
func (l *HTTPListener) URL() string {
	scheme := "http"
	if l.plan.Secure {
		scheme = "https"
	}
	at := l.listener.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(at.Port)) + httpPath
}

// Close lets nobody in any longer.
func (l *HTTPListener) Close() error {
	if err := l.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// HTTPOptions are the limits of a server. Zero fields mean the default.
type HTTPOptions struct {
	Name        string        // of the server, in challenges
	MaxBody     int           // bytes of one message; default 16 MiB
	MaxRequests int           // at once, subscriptions included; default 512
	MaxConns    int           // at once; default 1000. More take the place of those without a token, or wait
	Header      time.Duration // for the head of a request; default 10 s
	Pace        time.Duration // for each 64 KiB of a body, and of an answer; default 10 s
	Idle        time.Duration // between requests of a connection; default 2 min
	Beat        time.Duration // how long a client that waits hears nothing; default 15 s
	Drain       time.Duration // how long Serve may take to end; default 4 s
	Log         *slog.Logger  // diagnostics; default: none

	// Context, if set, makes the context of each request: the place to put the
	// request's id where error envelopes and the audit log find it.
	Context func(ctx context.Context, requestID string) context.Context
	// Trace, if set, takes the caller's trace out of the head of a request.
	Trace func(ctx context.Context, head http.Header) context.Context
}

func positive[T int | time.Duration](n, otherwise T) T { return cmp.Or(max(n, 0), otherwise) }
