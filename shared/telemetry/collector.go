package telemetry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Collector is where spans and metrics go: one address, and nothing else.
type Collector struct {
	base    *url.URL
	proxy   *url.URL // nil: none
	headers http.Header
	client  *http.Client
	log     *slog.Logger
	away    atomic.Bool // sending failed, and has not succeeded since
}

// CollectorAt reads the address of a collector, and headers as OTEL_EXPORTER_OTLP_HEADERS
// has them: key=value,key=value. It connects to nothing.
func CollectorAt(endpoint, headers string) (*Collector, error) {
	base, err := url.Parse(endpoint)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fault.New(fault.Misconfigured, "the address of the OpenTelemetry collector is no address of http or https",
			"Write one such as http://localhost:4318")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fault.New(fault.Misconfigured, "the address of the OpenTelemetry collector holds more than an address",
			"Write it without user, query and fragment; credentials belong in OTEL_EXPORTER_OTLP_HEADERS")
	}
	c := &Collector{base: base, log: slog.New(slog.DiscardHandler)}
	if c.headers, err = headersOf(headers); err != nil {
		return nil, err
	}
	if c.proxy, err = http.ProxyFromEnvironment(&http.Request{URL: base}); err != nil {
		return nil, fault.New(fault.Misconfigured,
			"the address of the OpenTelemetry collector cannot be reached by the proxy of the environment",
			"Correct HTTP_PROXY or HTTPS_PROXY, or name the collector in NO_PROXY")
	}

	// Connecting is prepared for a process that has given up its rights: the certificates are
	// read now.
	t := &http.Transport{
		Proxy: http.ProxyURL(c.proxy), DialContext: dial,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: attempt,
	}
	if c.base.Scheme == "https" || c.next().Scheme == "https" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fault.New(fault.Misconfigured,
				"the certificates of this machine cannot be read, and the OpenTelemetry collector is reached by https",
				"Install them, or name them in SSL_CERT_FILE").Because(err)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	c.client = &http.Client{Transport: t, Timeout: attempt, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // headers with credentials go nowhere else
	}}
	return c, nil
}

// tokenForm is that of the name of a header (RFC 9110, 5.6.2).
const tokenForm = "^[a-zA-Z0-9_.!#$%&'*+^`|~-]+$"

// headersOf reads pairs whose values may be percent-encoded. No fault tells a value: it is
// a credential more often than not.
func headersOf(text string) (http.Header, error) {
	headers := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		token, _ := regexp.MatchString(tokenForm, key)
		control := func(r rune) bool { return r < ' ' || r == 0x7f }
		if !ok || err != nil || !token || strings.ContainsFunc(value, control) {
			return nil, fault.New(fault.Misconfigured, "OTEL_EXPORTER_OTLP_HEADERS is no list of headers",
				"Write key=value,key=value, with values percent-encoded where they hold a comma")
		}
		headers.Set(key, value)
	}
	return headers, nil
}

const (
	attempt    = 10 * time.Second       // how long one request may take
	firstPause = 100 * time.Millisecond // before it is tried again; each further one is twice as long
)

// local are the addresses of the name localhost, for which nobody is asked.
var local = []string{"127.0.0.1", "::1"}

// dial connects by TCP. It asks servers of names by TCP, too, where the process has no other
// socket.
func dial(ctx context.Context, _, address string) (conn net.Conn, err error) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, server string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, server)
		if errors.Is(err, os.ErrPermission) {
			return d.DialContext(ctx, "tcp", server)
		}
		return conn, err
	}}
	d := net.Dialer{Resolver: resolver}
	d.SetMultipathTCP(false) // which a restricted process cannot
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "localhost" {
		return d.DialContext(ctx, "tcp", address)
	}
	for _, at := range local {
		if conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(at, port)); err == nil {
			break
		}
	}
	return conn, err
}

// next is the first machine on the way to the collector.
func (c *Collector) next() *url.URL {
	if c.proxy != nil {
		return c.proxy
	}
	return c.base
}

// named says that the host has to be looked up.
func named(host string) bool {
	_, err := netip.ParseAddr(host)
	return err != nil && host != "localhost"
}

// Ports are the TCP ports that sending connects to: that of the collector, or of the proxy
// before it, and 53 where a name has to be looked up.
func (c *Collector) Ports() []uint16 {
	to := c.next()
	port, err := strconv.ParseUint(to.Port(), 10, 16)
	if err != nil {
		port = map[string]uint64{"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}[to.Scheme]
	}
	if !named(to.Hostname()) {
		return []uint16{uint16(port)}
	}
	return []uint16{uint16(port), 53}
}

// Files are what looking up a name reads: of these the ones that there are. What replaces
// /etc/resolv.conf lies beside its target, as that of systemd-resolved does.
func (c *Collector) Files() []string {
	if !named(c.next().Hostname()) {
		return nil
	}
	var files []string
	for _, file := range []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"} {
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && filepath.Dir(real) != "/etc" {
		files = append(files, filepath.Dir(real))
	}
	return files
}

// String is the address.
func (c *Collector) String() string { return c.base.String() }

// Open says that what is sent can be read on its way.
func (c *Collector) Open() bool {
	ip, err := netip.ParseAddr(c.base.Hostname())
	return c.base.Scheme == "http" && c.base.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}

// Try sends a message with nothing in it.
func (c *Collector) Try(ctx context.Context) error {
	return withoutURL(c.post(ctx, "v1/traces", []byte(`{"resourceSpans":[]}`)))
}

// refused is an answer of the collector, and whether trying again makes sense
// (OTLP specification, OTLP/HTTP Response).
type refused struct {
	status string
	again  bool
}

func (r refused) Error() string { return "it answered " + r.status }

// post sends one message, once.
func (c *Collector) post(ctx context.Context, path string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = c.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()                                       //nolint:errcheck // only read from
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode/100 == 2 {
		return nil
	}
	passing := []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	return refused{answer.Status, slices.Contains(passing, answer.StatusCode)}
}

// deliver sends a message, tries again for as long as ctx lasts where that may help and is
// asked for, and tells once where it does not.
func (c *Collector) deliver(ctx context.Context, path string, message any, again bool) {
	body, err := json.Marshal(message)
	if err != nil { // these types always encode
		c.log.Error("what the OpenTelemetry collector was to be told cannot be encoded", "error", err)
		return
	}
	err = c.post(ctx, path, body)
	for pause := firstPause; again && err != nil && ctx.Err() == nil; pause *= 2 {
		if answer, ok := errors.AsType[refused](err); ok && !answer.again {
			break
		}
		c.report(err)
		select {
		case <-time.After(pause):
			err = c.post(ctx, path, body)
		case <-ctx.Done():
		}
	}
	c.report(err)
}

// report logs the first failure, and that it is over.
func (c *Collector) report(err error) {
	was := c.away.Swap(err != nil)
	switch {
	case err != nil && !was:
		c.log.Warn("the OpenTelemetry collector cannot be reached; calls go on, and what does not fit into memory meanwhile is dropped",
			"endpoint", c.String(), "error", withoutURL(err))
	case err == nil && was:
		c.log.Warn("the OpenTelemetry collector can be reached again", "endpoint", c.String())
	}
}

// withoutURL is err without the address, which is logged beside it.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
