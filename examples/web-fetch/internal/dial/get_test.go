package dial

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestAPageComesWithWhereItCameFrom(t *testing.T) {
	s := local(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.Redirect(w, r, "/page", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s", r.UserAgent(), r.Header.Get("Accept"))
	})
	g := New(Options{Open: []Opening{s.opening()}, Agent: "tester"})
	p, err := get(t.Context(), g, s.URL+"/first#part")
	is(t, "a page", err, "")
	if p.URL.String() != s.URL+"/page" || len(p.Via) != 1 || p.Via[0] != s.URL+"/first" || p.Type != "text/plain" || string(p.Body) != "tester */*" {
		t.Errorf("%+v %s", p, p.Body)
	}
	if len(p.From) != 2 || p.From[0].String() != s.at.String() {
		t.Errorf("it came from %v", p.From)
	}
}

// Whatever way leads there, the site that nobody opened is never connected to.
func TestNoWayLeadsToAPrivateAddress(t *testing.T) {
	secret := local(t, says("secret"))
	_, port, _ := net.SplitHostPort(secret.at.String())
	tricks := map[string]string{
		"/plain":    secret.URL,
		"/name":     secret.named("localhost"),
		"/mapped":   "http://[::ffff:127.0.0.1]:" + port + "/",
		"/decimal":  secret.named("2130706433"),
		"/relative": "//127.0.0.1:" + port + "/",
		"/user":     "http://example.com@127.0.0.1:" + port + "/",
		"/wide":     secret.named("１２７.０.０.１"),
		"/any":      secret.named("0.0.0.0"),
		"/file":     "file:///etc/passwd",
		"/gopher":   "gopher://127.0.0.1:" + port + "/",
		"/metadata": "http://169.254.169.254/latest/meta-data/",
		"/empty":    "http://",
	}
	open := local(t, func(w http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.Path, "/2"); ok { // a step more
			w.Header().Set("Location", "/1"+to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Location", tricks[strings.TrimPrefix(r.URL.Path, "/1")])
		w.WriteHeader(http.StatusFound)
	})
	g := New(Options{Open: []Opening{open.opening()}, Ports: []uint16{secret.at.Port()}})
	for path, to := range tricks {
		_, err := get(t.Context(), g, to)
		refusedAs(t, "asked for: "+to, err)
		for _, step := range []string{"/1", "/2"} {
			before := open.hits.Load()
			p, err := get(t.Context(), g, open.URL+step+path)
			refusedAs(t, "redirected in step "+step+": "+to, err)
			if len(p.Via) == 0 || open.hits.Load() == before {
				t.Errorf("%s: no redirect was followed", to)
			}
		}
	}
	if open.hits.Load() == 0 {
		t.Error("no attack was made")
	}
	if n := secret.hits.Load(); n > 0 {
		t.Errorf("the secret was connected to %d times", n)
	}
}

func refusedAs(t *testing.T, what string, err error) {
	t.Helper()
	switch fault.From(err).Code {
	case fault.OutsideAllowed, fault.Forbidden, fault.ParamMalformed:
	default:
		t.Errorf("%s: %v", what, err)
	}
}

func TestANameIsCheckedByTheAddressThatIsConnectedTo(t *testing.T) {
	open := serve(t, "127.0.0.1", 0, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("open"))
	})
	secret := serve(t, "127.0.0.2", open.at.Port(), says("secret"))
	for _, c := range []struct {
		what    string
		answers [][]string
		path    string
		want    fault.Code
	}{
		{"the open one", [][]string{{"127.0.0.1"}}, "", ""},
		{"the secret one", [][]string{{"127.0.0.2"}}, "", fault.OutsideAllowed},
		{"open at first, secret when redirected", [][]string{{"127.0.0.1"}, {"127.0.0.2"}}, "again", fault.OutsideAllowed},
		{"both, the secret one first", [][]string{{"127.0.0.2", "127.0.0.1"}}, "", ""},
		{"a private one", [][]string{{"10.0.0.1"}}, "", fault.OutsideAllowed},
		{"metadata", [][]string{{"169.254.169.254"}}, "", fault.OutsideAllowed},
	} {
		n := &names{answers: c.answers}
		g := New(Options{Open: []Opening{open.opening()}, Resolver: n.resolver()})
		p, err := get(t.Context(), g, open.named("rebind.example")+c.path)
		is(t, c.what, err, c.want)
		if err == nil && string(p.Body) != "open" {
			t.Errorf("%s: %s", c.what, p.Body)
		}
		if want := int64(len(c.answers)); n.asked.Load() < want {
			t.Errorf("%s: the name was looked up %d times: no attack was made", c.what, n.asked.Load())
		}
	}
	if n := secret.hits.Load(); n > 0 {
		t.Errorf("the secret was connected to %d times", n)
	}
}

func TestWhatANameLeadsToIsToldToTheAuditLogOnly(t *testing.T) {
	n := &names{answers: [][]string{{"10.11.12.13"}}}
	_, err := get(t.Context(), New(Options{Resolver: n.resolver()}), "http://intranet.example/")
	f := fault.From(err)
	if f.Code != fault.OutsideAllowed || strings.Contains(f.Error()+fmt.Sprint(f.Details), "10.11") || !strings.Contains(f.Err.Error(), "10.11.12.13:80") {
		t.Errorf("%v, because %v", f, f.Err)
	}
}

func TestANameThatIsNone(t *testing.T) {
	n := &names{answers: [][]string{{}}}
	_, err := get(t.Context(), New(Options{Resolver: n.resolver()}), "http://nowhere.example/")
	is(t, "a name without addresses", err, fault.NotFound)
}

func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy, open := local(t, says("proxied")), local(t, says("direct"))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	n := &names{answers: [][]string{{"127.0.0.1"}}}
	p, err := get(t.Context(), New(Options{Open: []Opening{open.opening()}, Resolver: n.resolver()}), open.named("site.example"))
	is(t, "a page", err, "")
	if string(p.Body) != "direct" || proxy.hits.Load() > 0 {
		t.Errorf("%s, the proxy was connected to %d times", p.Body, proxy.hits.Load())
	}
}

func TestRedirectsAreCounted(t *testing.T) {
	s := local(t, func(w http.ResponseWriter, r *http.Request) {
		switch left := strings.TrimPrefix(r.URL.Path, "/"); left {
		case "":
			_, _ = w.Write([]byte("there"))
		case "loop":
			http.Redirect(w, r, "/loop", http.StatusMovedPermanently)
		default:
			http.Redirect(w, r, "/"+left[1:], http.StatusSeeOther)
		}
	})
	g := guard(s)
	for path, want := range map[string]fault.Code{"/": "", "/xxx": "", "/xxxx": fault.LimitReached, "/loop": fault.LimitReached} {
		_, err := get(t.Context(), g, s.URL+path)
		is(t, path, err, want)
	}
}

func TestAStatusIsACode(t *testing.T) {
	s := local(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		var status int
		fmt.Sscan(r.URL.Path[1:], &status)
		w.WriteHeader(status)
	})
	g := guard(s)
	for status, want := range map[int]fault.Code{
		200: "", 204: "", 302: fault.NetworkRefused, 304: fault.NetworkRefused, 400: fault.NetworkRefused, 401: fault.PermissionDenied, 403: fault.PermissionDenied,
		404: fault.NotFound, 408: fault.TimedOut, 410: fault.NotFound, 429: fault.LimitReached, 451: fault.PermissionDenied, 500: fault.NetworkRefused, 503: fault.NetworkRefused, 504: fault.TimedOut,
	} {
		_, err := get(t.Context(), g, fmt.Sprintf("%s/%d", s.URL, status))
		is(t, fmt.Sprint(status), err, want)
		if err != nil && (fault.From(err).Details["status"] != status || fault.From(err).Details["retry_after_seconds"] != 7) {
			t.Errorf("%d: %v", status, fault.From(err).Details)
		}
	}
}

func TestAPageIsBoundedWhileItIsRead(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for chunk := bytes.Repeat([]byte("a"), 64<<10); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	packed := func(size int64) http.HandlerFunc {
		body := pack(size)
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		}
	}
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		want    fault.Code
	}{
		{"one that never ends", endless, fault.LimitReached},
		{"a bomb of 8 MiB in 8 KiB", packed(8 << 20), fault.LimitReached},
		{"one byte too much", says(strings.Repeat("a", 1<<20+1)), fault.LimitReached},
		{"as much as it may be", says(strings.Repeat("a", 1<<20)), ""},
		{"packed, as much as it may be", packed(1 << 20), ""},
		{"a header without end", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("a", 1<<20)) }, fault.NetworkRefused},
	} {
		s := local(t, c.handler)
		p, err := get(t.Context(), guard(s), s.URL)
		is(t, c.what, err, c.want)
		if len(p.Body) > 1<<20+1 || s.hits.Load() == 0 {
			t.Errorf("%s: %d bytes were read", c.what, len(p.Body))
		}
	}
}

// pack packs zeros.
func pack(size int64) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.CopyN(w, zeros{}, size)
	_ = w.Close()
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestABrokenAnswerIsNoPage(t *testing.T) {
	for _, c := range []struct {
		what, answer string
		want         fault.Code
	}{
		{"more promised than sent", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", fault.NetworkRefused},
		{"less promised than sent", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort and more", ""},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nshort", fault.NetworkRefused},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nshort", fault.NetworkRefused},
		{"chunks that end too early", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", fault.NetworkRefused},
		{"gzip that is none", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nshort", fault.NetworkRefused},
		{"gzip in gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: 5\r\n\r\nshort", fault.Unavailable},
		{"packed as nobody asked", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 5\r\n\r\nshort", fault.Unavailable},
		{"no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", fault.NetworkRefused},
		{"nothing", "", fault.NetworkRefused},
		{"redirects to nothing", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", fault.NetworkRefused},
	} {
		g, url := raw(t, func(conn net.Conn) { _, _ = io.WriteString(conn, c.answer) })
		_, err := get(t.Context(), g, url)
		is(t, c.what, err, c.want)
	}
}

// raw is a server that answers each connection by a function, after its request began:
// a Guard that lets through exactly it, and its URL.
func raw(t *testing.T, answer func(net.Conn)) (g *Guard, url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				answer(conn)
			}()
		}
	}()
	at := listener.Addr().String()
	o, _ := ParseOpening(at)
	return New(Options{Open: []Opening{o}}), "http://" + at
}

func TestTheTimeOfAPageIsBoundedWhateverTheServerDoes(t *testing.T) {
	drip := func(conn net.Conn, every string) {
		for {
			if _, err := io.WriteString(conn, every); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	for what, answer := range map[string]func(net.Conn){
		"a server that says nothing":          func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) },
		"a header that comes byte by byte":    func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "); drip(conn, "a") },
		"headers that come one by one":        func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"); drip(conn, "X: a\r\n") },
		"a body that comes byte by byte":      func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); drip(conn, "a") },
		"answers before the answer, for ever": func(conn net.Conn) { drip(conn, "HTTP/1.1 103 Early Hints\r\n\r\n") },
	} {
		g, url := raw(t, answer)
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := get(ctx, g, url)
		stop()
		if code := fault.From(err).Code; code != fault.TimedOut && code != fault.NetworkRefused {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestACancelledCallEnds(t *testing.T) {
	began := make(chan struct{})
	s := local(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		close(began)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := get(ctx, guard(s), s.URL); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	s := httptest.NewTLSServer(says("hello"))
	defer s.Close()
	o, _ := ParseOpening(s.Listener.Addr().String())
	roots := x509.NewCertPool()
	_, err := get(t.Context(), New(Options{Open: []Opening{o}, Roots: roots}), s.URL)
	is(t, "a certificate that nobody trusts", err, fault.NetworkRefused)
	if !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	roots.AddCert(s.Certificate())
	p, err := get(t.Context(), New(Options{Open: []Opening{o}, Roots: roots}), s.URL)
	is(t, "one that is trusted", err, "")
	if string(p.Body) != "hello" {
		t.Errorf("%s", p.Body)
	}
	_, err = get(t.Context(), New(Options{Open: []Opening{o}, Roots: roots}), strings.Replace(s.URL, "https", "http", 1))
	is(t, "http at a port of https", err, fault.NetworkRefused)
	plain := local(t, says("hello"))
	_, err = get(t.Context(), guard(plain), strings.Replace(plain.URL, "http", "https", 1))
	is(t, "https at a port of http", err, fault.NetworkRefused)
}

func TestNothingIsRememberedOfAServer(t *testing.T) {
	s := local(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "x"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%q %q %q", r.Header.Get("Cookie"), r.Header.Get("Referer"), r.Header.Get("Authorization"))
	})
	p, err := get(t.Context(), guard(s), s.URL)
	is(t, "a page", err, "")
	if string(p.Body) != `"" "" ""` {
		t.Errorf("%s", p.Body)
	}
}
