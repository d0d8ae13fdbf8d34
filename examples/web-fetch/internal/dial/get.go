package dial

import (
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Request is what to get and how much of it.
type Request struct {
	URL       URL
	Accept    string                  // types that are wanted, as in the header
	Bytes     int64                   // the most that a page may have, unpacked
	Redirects int                     // the most that are followed
	Read      func(done, total int64) // called as bytes come in; total is 0 where unknown; may be nil
}

// Page is what a server sent, with success.
type Page struct {
	URL  URL       // after redirects
	Via  []string  // the URLs that redirected to it
	From []Address // what was connected to, in order
	Type string    // the Content-Type as the server wrote it
	Body []byte    // unpacked
}

// redirects are the statuses by which a server redirects.
var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// Get gets a page. Every URL that a server redirects to is parsed as the first one was,
// and every connection is checked again. ctx bounds all of it.
func (g *Guard) Get(ctx context.Context, r Request) (Page, error) {
	var p Page
	if r.URL.u == nil || g.http == nil {
		return p, forbidden("a place that was not checked", nil)
	}
	for at := r.URL; ; {
		response, err := g.ask(ctx, at, r.Accept, &p)
		if err != nil {
			return p, unreachable(ctx, at.u.Hostname(), err)
		}
		location := response.Header.Get("Location")
		if !slices.Contains(redirects, response.StatusCode) || location == "" {
			p.URL = at
			err := g.read(ctx, &p, r, response)
			_ = response.Body.Close() // only read from
			return p, err
		}
		_ = response.Body.Close()
		if len(p.Via) == r.Redirects {
			return p, fault.New(fault.LimitReached, fmt.Sprintf("the server redirected more than %d times", r.Redirects),
				"Use the URL of the page itself").With("limit", r.Redirects)
		}
		p.Via = append(p.Via, at.String())
		if at, err = g.follow(at, location); err != nil { // it was not the URL of the caller that was refused
			f := *fault.From(err)
			f.Msg = "the server redirects, and " + f.Msg
			return p, &f
		}
	}
}

// ask makes one request, and notes in p which server responds, whose address is checked
// once more.
func (g *Guard) ask(ctx context.Context, u URL, accept string, p *Page) (*http.Response, error) {
	var connected atomic.Value // the last one, where a request was tried again
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { connected.Store(c.Conn.RemoteAddr().String()) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, malformed(u.String(), err)
	}
	request.Header.Set("User-Agent", g.agent)
	request.Header.Set("Accept", accept)
	response, failed := g.http.RoundTrip(request)
	if at, ok := connected.Load().(string); ok {
		from, err := g.address("tcp", at)
		if err != nil {
			if response != nil {
				_ = response.Body.Close()
			}
			return nil, err
		}
		p.From = append(p.From, from)
	}
	return response, failed
}

// read reads the body of the last response.
func (g *Guard) read(ctx context.Context, p *Page, r Request, response *http.Response) error {
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return failed(response)
	}
	if packed := response.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return fault.New(fault.Unavailable, "the page is packed as "+shown(packed)+", which nobody asked for", "Use another page")
	}
	body := &counted{response.Body, 0, max(response.ContentLength, 0), r.Read}
	var err error
	if response.ContentLength <= r.Bytes {
		if p.Body, err = io.ReadAll(io.LimitReader(body, r.Bytes+1)); err != nil {
			return unreachable(ctx, p.URL.u.Hostname(), err)
		}
	}
	if max(response.ContentLength, int64(len(p.Body))) > r.Bytes {
		return fault.New(fault.LimitReached, fmt.Sprintf("the page has more than %d bytes", r.Bytes),
			"Use a smaller page; the person who runs this server can raise --max-page-bytes").With("limit", r.Bytes)
	}
	p.Type = response.Header.Get("Content-Type")
	return nil
}

// counted reports how much came in.
type counted struct {
	io.Reader
	done, total int64
	report      func(done, total int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if c.done += int64(n); c.report != nil {
		c.report(c.done, c.total)
	}
	return n, err
}

// failed explains a status that is no success.
func failed(response *http.Response) error {
	status := response.StatusCode
	code, do := fault.NetworkRefused, "Try again later, or use another page"
	switch status {
	case http.StatusNotFound, http.StatusGone:
		code, do = fault.NotFound, "Check the URL, or search for the page"
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
		code, do = fault.PermissionDenied, "Use another page: this one is not for everybody, and nobody logs in here"
	case http.StatusTooManyRequests:
		code, do = fault.LimitReached, "Try again later"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = fault.TimedOut
	}
	f := fault.New(code, fmt.Sprintf("the server answers with status %d %s", status, http.StatusText(status)), do).With("status", status)

	// Retry-After has two forms (RFC 9110, 10.2.3).
	value := response.Header.Get("Retry-After")
	seconds, err := strconv.Atoi(value)
	if at, notTime := http.ParseTime(value); err != nil && notTime == nil {
		seconds = int(time.Until(at).Seconds())
	}
	if seconds > 0 {
		f = f.With("retry_after_seconds", seconds)
	}
	return f
}

// unreachable explains a failure of the network.
func unreachable(ctx context.Context, host string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	dns, noName := errors.AsType[*net.DNSError](err)
	timeout, ok := errors.AsType[net.Error](err)
	timedOut := ok && timeout.Timeout()
	certificate, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, protocol := errors.AsType[textproto.ProtocolError](err)
	_, corrupt := errors.AsType[flate.CorruptInputError](err)

	code, msg, do := fault.NetworkRefused, "", ""
	switch {
	case ctx.Err() != nil:
		code, msg, do = fault.TimedOut, "the page did not come in the time it may take", "Try again later, or use another page"
	case noName && !dns.IsTimeout && dns.IsNotFound:
		code, msg, do = fault.NotFound, "there is no host called "+host, "Check the spelling, or search for the page"
	case noName && !dns.IsTimeout:
		msg, do = "the name "+host+" cannot be looked up at the moment", "Try again later"
	case timedOut:
		code, msg, do = fault.TimedOut, host+" does not answer", "Try again later, or use another page"
	case bad:
		msg = "the certificate of " + host + " is not trusted: " + shown(certificate.Err.Error())
	case record:
		msg = host + " does not speak TLS at that port"
	case protocol:
		msg = host + " does not speak HTTP"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), corrupt:
		msg = "the page from " + host + " came broken or not whole"
	default:
		msg = "no connection to " + host + " comes about"
	}
	return fault.New(code, msg, cmp.Or(do, "Check the URL, try again later, or use another page")).Because(err)
}
