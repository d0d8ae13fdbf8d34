package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// bearing sends a token along with every request.
type bearing struct {
	token string
	with  http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.with.RoundTrip(r)
}

// library is another people's client, connected.
type library struct {
	version string
	call    func(ctx context.Context, tool string) (string, error)
	close   func() error
}

// told are the messages of progress, which a library may hand on after the response.
type told chan string

func (p told) add(message string) { p <- message }

// five are the next five, in order.
func (p told) five(t *testing.T) string {
	t.Helper()
	all := make([]string, 5)
	for i := range all {
		select {
		case all[i] = <-p:
		case <-time.After(2 * time.Minute):
			t.Fatalf("after %q nothing more is told", all[:i])
		}
	}
	return strings.Join(all, ", ")
}

// libraries connect to a URL with a version.
var libraries = map[string]func(t *testing.T, url, version string, by *http.Client, p told) library{
	"mcp-go": func(t *testing.T, url, version string, by *http.Client, p told) library {
		c, err := mcpgo.NewStreamableHttpClient(url, transport.WithHTTPBasicClient(by))
		fatal(t, err)
		fatal(t, c.Start(t.Context()))
		c.OnNotification(func(n mcp.JSONRPCNotification) {
			if n.Method == "notifications/progress" {
				p.add(fmt.Sprint(n.Params.AdditionalFields["message"]))
			}
		})
		r := mcp.InitializeRequest{}
		r.Params.ProtocolVersion, r.Params.ClientInfo = version, mcp.Implementation{Name: "library", Version: "1"}
		_, err = c.Initialize(t.Context(), r)
		fatal(t, err)
		return library{c.ProtocolVersion(), func(ctx context.Context, tool string) (string, error) {
			r := mcp.CallToolRequest{}
			r.Params.Name, r.Params.Arguments = tool, map[string]any{}
			r.Params.Meta = &mcp.Meta{ProgressToken: "p"}
			a, err := c.CallTool(ctx, r)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(a.StructuredContent), nil
		}, c.Close}
	},
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOtherPeoplesClientsAgree(t *testing.T) {
	cert, key, authority := certificate(t)
	tokens := tokenFile(t, "ci "+secret)
	secure := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true}
	for _, c := range []struct {
		what string
		s    HTTPSettings
		with http.RoundTripper
	}{
		{"in the clear", HTTPSettings{TokenFile: tokens}, http.DefaultTransport},
		{"by TLS and HTTP/2", HTTPSettings{TokenFile: tokens, CertFile: cert, KeyFile: key}, secure},
	} {
		for name, connect := range libraries {
			for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
				t.Run(fmt.Sprint(name, " ", version, " ", c.what), func(t *testing.T) {
					w := serve(t, c.s, HTTPOptions{Drain: 200 * time.Millisecond}, toolkit.Rate{}) // HTTP/2 takes what it gets
					p := make(told, 64)
					l := connect(t, w.listener.URL(), version, &http.Client{Transport: bearing{secret, c.with}}, p)
					if l.version != version {
						t.Errorf("it speaks %s", l.version)
					}
					w.agrees(t, l, p)
					if err := l.close(); err != nil {
						t.Errorf("it closes with %v", err)
					}
				})
			}
		}
	}
}

// agrees calls tools: one that answers, one that tells of its progress, one that is cancelled.
func (w *fixture) agrees(t *testing.T, l library, p told) {
	t.Helper()
	if got, err := l.call(t.Context(), "echo"); err != nil || got != "map[text:]" {
		t.Errorf("it hears %s %v", got, err)
	}
	if e := w.events.last(t); e.Client != "library 1" || e.Session != "http:ci@127.0.0.1" {
		t.Errorf("recorded as %q in %q", e.Client, e.Session)
	}
	if got, err := l.call(t.Context(), "count"); err != nil || got != "map[text:done]" {
		t.Errorf("it hears %s %v", got, err)
	}
	if got := p.five(t); got != "step 1, step 2, step 3, step 4, step 5" {
		t.Errorf("before that it hears %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-w.hooks.began; cancel() }()
	if got, err := l.call(ctx, "wait"); err == nil {
		t.Errorf("a call that was cancelled answers %s", got)
	}
	<-w.hooks.ended
}

func TestServersBehindABalancerAreOne(t *testing.T) {
	for name, connect := range libraries {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				one, two := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{}), serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
				var turn atomic.Int64
				balancer := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
					to, _ := url.Parse("http://" + []*fixture{one, two}[turn.Add(1)%2].addr())
					r.SetURL(to)
					// It takes a request whole before it sends it on: net/http's transport gives up
					// a request whose answer begins before it has seen the end of the body.
					body, _ := io.ReadAll(r.In.Body)
					r.Out.Body = io.NopCloser(bytes.NewReader(body))
				}})
				defer balancer.Close()
				p := make(told, 64)
				l := connect(t, balancer.URL+httpPath, version, &http.Client{}, p)
				for range 6 {
					if got, err := l.call(t.Context(), "count"); err != nil || got != "map[text:done]" {
						t.Errorf("%s %v", got, err)
					}
				}
				for _, w := range []*fixture{one, two} {
					if n := len(w.events.all); n < 2 || w.events.last(t).Client != "library 1" {
						t.Errorf("of 6 calls one server had %d, the last of %q", n, w.events.last(t).Client)
					}
				}
				fatal(t, l.close())
			})
		}
	}
}

func TestASubscriptionLastsUntilTheServerEnds(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test:///a"]}%s}}`, modernMeta)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.listener.URL(), strings.NewReader(body))
	fatal(t, err)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range modernHead("subscriptions/listen", "") {
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	fatal(t, err)
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	next := func() (m struct {
		ID     any
		Method string
		Params struct {
			URI  string
			Meta map[string]any `json:"_meta"`
		}
	}) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				fatal(t, json.Unmarshal([]byte(data), &m))
				return m
			}
		}
		t.Fatalf("the stream ends: %v", lines.Err())
		return m
	}
	if m := next(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("first comes %+v", m)
	}
	w.changed("test:///b")
	w.changed("test:///a")
	if m := next(); m.Method != "notifications/resources/updated" || m.Params.URI != "test:///a" || m.Params.Meta["io.modelcontextprotocol/subscriptionId"] != "s" {
		t.Errorf("then comes %+v", m)
	}
	w.stop()
	if m := next(); m.ID != "s" {
		t.Errorf("last comes %+v", m)
	}
}

func TestOfSubscriptionsThatWouldHearNothingNoneIsMade(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	if _, body := w.post(t.Context(), initialize, nil); !strings.Contains(body, `"resources":{`) || strings.Contains(body, "subscribe") {
		t.Errorf("the handshake offers them: %s", body)
	}
	if _, body := w.post(t.Context(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, modernMeta[1:]), modernHead("server/discover", "")); !strings.Contains(body, `"subscribe":true`) {
		t.Errorf("2026-07-28 is not offered them: %s", body)
	}
	if _, body := w.post(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test:///a"}}`, nil); !strings.Contains(body, "2026-07-28") || !strings.Contains(body, `"error"`) {
		t.Errorf("answered with %s", body)
	}
}

// bomb is a handler that panics while its client waits.
type bomb struct{ *toolkit.Server }

func (b bomb) HandleMessage(context.Context, json.RawMessage) mcp.JSONRPCMessage {
	time.Sleep(20 * time.Millisecond)
	panic("bomb")
}

func TestAHandlerThatPanicsEndsItsRequestAndNothingElse(t *testing.T) {
	cert, key, authority := certificate(t)
	ctx, stop := context.WithCancel(t.Context())
	listener, err := OpenHTTP(ctx, HTTPSettings{Listen: "127.0.0.1:0", CertFile: cert, KeyFile: key})
	fatal(t, err)
	h, err := toolkit.NewServer(toolkit.Config{Name: "test", Version: "1", Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: httpTools(&hooks{})}})
	fatal(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- listener.Serve(ctx, bomb{h}, HTTPOptions{Beat: time.Millisecond, Drain: 200 * time.Millisecond})
	}()
	by := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true}}
	for range 5 {
		a, err := by.Post(listener.URL(), "application/json", strings.NewReader(callMessage(1, "echo", "")))
		if err != nil {
			continue
		}
		if _, err := io.ReadAll(a.Body); err == nil {
			t.Error("the answer looks whole")
		}
		a.Body.Close()
	}
	a, err := by.Get(strings.TrimSuffix(listener.URL(), httpPath) + healthPath)
	if err != nil || a.StatusCode != 200 {
		t.Errorf("afterwards its health is %v %v", a, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
