package dial

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
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
	Read      func(done, total int64) // told as bytes come in; total is 0 where unknown; nil: nobody
}

// Page is what a server answered, with success.
type Page struct {
	URL  URL       // after redirects
	Via  []string  // the URLs that redirected to it
	From []Address // what was connected to, in order
	Type string    // the Content-Type as the server wrote it
	Body []byte    // unpacked
}

// Get gets a page. Every URL that a server redirects to is parsed as the first one was,
// and every connection is checked anew. ctx bounds all of it.
func (g *Guard) Get(ctx context.Context, r Request) (Page, error) {
	var p Page
	if r.URL.u == nil || g.http == nil {
		return p, forbidden("a place that was not checked")
	}
	for at := r.URL; ; {
		response, err := g.ask(ctx, at, r.Accept, &p)
		if err != nil {
			return p, unreachable(ctx, at.u.Hostname(), err)
		}
		location := response.Header.Get("Location")
		if !redirects(response.StatusCode) || location == "" {
			defer discard(response)
			p.URL = at
			return g.take(ctx, p, r, response)
		}
		discard(response)
		if len(p.Via) == r.Redirects {
			return p, tooManyRedirects(r.Redirects)
		}
		p.Via = append(p.Via, at.String())
		if at, err = g.follow(at, location); err != nil {
			return p, redirected(err)
		}
	}
}

// redirected says that it was not the URL of the caller that was refused.
func redirected(err error) error {
	f := *fault.From(err)
	f.Msg = "the server redirects, and " + f.Msg
	return &f
}

// ask makes one request, and notes in p who answers. What answers is checked once more.
func (g *Guard) ask(ctx context.Context, u URL, accept string, p *Page) (*http.Response, error) {
	var connected atomic.Value // the last one, where a request was tried again
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { connected.Store(c.Conn.RemoteAddr().String()) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, malformed(u.String()).Because(err)
	}
	request.Header.Set("User-Agent", g.agent)
	request.Header.Set("Accept", accept)
	response, failed := g.http.RoundTrip(request)
	if at, ok := connected.Load().(string); ok {
		from, err := g.address("tcp", at)
		if err != nil {
			discard(response)
			return nil, err
		}
		p.From = append(p.From, from)
	}
	return response, failed
}

func discard(response *http.Response) {
	if response != nil {
		response.Body.Close() //nolint:errcheck // only read from
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// take reads the body of the last answer.
func (g *Guard) take(ctx context.Context, p Page, r Request, response *http.Response) (Page, error) {
	if err := refused(response); err != nil {
		return p, err
	}
	if packed := response.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return p, fault.New(fault.Unavailable, "the page is packed as "+shown(packed)+", which nobody asked for", "Use another page")
	}
	if response.ContentLength > r.Bytes {
		return p, tooLarge(r.Bytes)
	}
	body := io.LimitReader(&counted{response.Body, 0, max(response.ContentLength, 0), r.Read}, r.Bytes+1)
	var err error
	if p.Body, err = io.ReadAll(body); err != nil {
		return p, unreachable(ctx, p.URL.u.Hostname(), err)
	}
	if int64(len(p.Body)) > r.Bytes {
		return p, tooLarge(r.Bytes)
	}
	p.Type = response.Header.Get("Content-Type")
	return p, nil
}

// counted tells how much came in.
type counted struct {
	io.Reader
	done, total int64
	tell        func(done, total int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if c.done += int64(n); c.tell != nil {
		c.tell(c.done, c.total)
	}
	return n, err
}

// refused is a status that is no success, as a code of the table; nil: it is one.
func refused(response *http.Response) error {
	status := response.StatusCode
	if status >= 200 && status <= 299 {
		return nil
	}
	f := fault.New(fault.NetworkRefused, "", "Try again later, or use another page")
	switch status {
	case http.StatusNotFound, http.StatusGone:
		f = fault.New(fault.NotFound, "", "Check the URL, or search for the page")
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons:
		f = fault.New(fault.PermissionDenied, "", "Use another page: this one is not for everybody, and nobody logs in here")
	case http.StatusTooManyRequests:
		f = fault.New(fault.LimitReached, "", "Try again later")
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		f = fault.New(fault.TimedOut, "", "Try again later, or use another page")
	}
	f.Msg = fmt.Sprintf("the server answers with status %d %s", status, http.StatusText(status))
	f = f.With("status", status)
	if after := retryAfter(response.Header.Get("Retry-After")); after > 0 {
		f = f.With("retry_after_seconds", after)
	}
	return f
}

// retryAfter is the seconds of a Retry-After, in either of its forms (RFC 9110, 10.2.3).
func retryAfter(value string) int {
	if n, err := strconv.Atoi(value); err == nil {
		return n
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return int(time.Until(at).Seconds())
}
