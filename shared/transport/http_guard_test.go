package transport

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// head is a request with these headers besides those that every request needs.
func head(line string, headers ...string) string {
	return line + "\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n"
}

func bearer(token string) string { return "Authorization: Bearer " + token }

const (
	isJSON = "Content-Type: application/json"
	isHost = "Host: HOST"
	post   = "POST /mcp HTTP/1.1"
)

func postMessage(body string, headers ...string) string {
	return head(post, append(headers, isHost, isJSON, fmt.Sprint("Content-Length: ", len(body)))...) + body
}

func TestHostileRequestsAreRefused(t *testing.T) {
	const max = 1 << 20
	token := bearer(secret)
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, "tester "+secret), Hosts: []string{"files.example"}, Origins: []string{"https://app.example"}},
		HTTPOptions{MaxBody: max, Header: 5 * time.Second, Pace: 300 * time.Millisecond}, toolkit.Rate{})
	for _, c := range []struct {
		what, request string
		status        int
		code          string
	}{
		{"a name that was led here by DNS", head(post, "Host: evil.example", token), 403, "SECURITY_003"},
		{"such a name with our port", head(post, "Host: localhost.evil.example:8080", token), 403, "SECURITY_003"},
		{"an address that is not ours", head(post, "Host: 192.0.2.1", token), 403, "SECURITY_003"},
		{"such a name in an absolute address", head("POST http://evil.example/mcp HTTP/1.1", isHost, token), 403, "SECURITY_003"},
		{"no name, as before HTTP/1.1", head("POST /mcp HTTP/1.0", token), 403, "SECURITY_003"},
		{"a page of another origin", head(post, isHost, "Origin: https://evil.example", token), 403, "SECURITY_003"},
		{"a page of another port", head(post, isHost, "Origin: http://127.0.0.1:1", token), 403, "SECURITY_003"},
		{"a page without an origin", head(post, isHost, "Origin: null", token), 403, "SECURITY_003"},
		{"a page whose browser says that it is another", head(post, isHost, "Sec-Fetch-Site: cross-site", token), 403, "SECURITY_003"},
		{"a page that asks what it may send", head("OPTIONS /mcp HTTP/1.1", isHost, "Origin: https://evil.example", "Access-Control-Request-Method: POST"), 403, "SECURITY_003"},
		{"an origin that only begins as one of ours", head(post, isHost, "Origin: https://app.example.evil", token), 403, "SECURITY_003"},
		{"no token", head(post, isHost, isJSON), 401, "AUTH_001"},
		{"another scheme", head(post, isHost, isJSON, "Authorization: Basic dGVzdGVyOnRlc3Rlcg=="), 401, "AUTH_001"},
		{"an empty token", head(post, isHost, isJSON, "Authorization: Bearer "), 401, "AUTH_001"},
		{"a wrong token", head(post, isHost, isJSON, bearer(strings.Repeat("f", len(secret)))), 401, "AUTH_002"},
		{"half a token", head(post, isHost, isJSON, bearer(secret[:16])), 401, "AUTH_002"},
		{"a token and more", head(post, isHost, isJSON, bearer(secret+"0")), 401, "AUTH_002"},
		{"a token in other letters", head(post, isHost, isJSON, bearer(strings.ToUpper(secret))), 401, "AUTH_002"},
		{"the name of a token", head(post, isHost, isJSON, bearer("tester")), 401, "AUTH_002"},
		{"two tokens", head(post, isHost, isJSON, bearer(strings.Repeat("f", 32)), token), 400, "PARAM_002"},
		{"a token in the address", head("POST /mcp?access_token="+secret+" HTTP/1.1", isHost, isJSON), 400, "PARAM_002"},
		{"a token in the address beside the right one", head("POST /mcp?access_token="+secret+" HTTP/1.1", isHost, isJSON, token), 400, "PARAM_002"},
		{"a token in the body", postMessage("access_token="+secret, "Content-Type: application/x-www-form-urlencoded"), 400, "PARAM_002"}, // the type stands twice
		{"listening", head("GET /mcp HTTP/1.1", isHost, token, "Accept: text/event-stream"), 405, "PARAM_002"},
		{"ending a session", head("DELETE /mcp HTTP/1.1", isHost, token), 405, "PARAM_002"},
		{"PUT", head("PUT /mcp HTTP/1.1", isHost, token), 405, "PARAM_002"},
		{"TRACE", head("TRACE /mcp HTTP/1.1", isHost, token), 405, "PARAM_002"},
		{"another place", head("POST / HTTP/1.1", isHost, token), 404, "RESOURCE_003"},
		{"a place that would be cleaned", head("POST //mcp HTTP/1.1", isHost, token), 404, "RESOURCE_003"},
		{"a proxy that this is not", head("CONNECT evil.example:443 HTTP/1.1", "Host: evil.example:443"), 403, "SECURITY_003"},
		{"a form", head(post, isHost, token, "Content-Type: text/plain", "Content-Length: 2") + "{}", 415, "PARAM_002"},
		{"a compressed body", head(post, isHost, token, isJSON, "Content-Encoding: gzip", "Content-Length: 2") + "{}", 415, "PARAM_002"},
		{"a client that takes pictures", head(post, isHost, token, isJSON, "Accept: image/png", "Content-Length: 2") + "{}", 406, "PARAM_002"},
		{"a body that says it is too large", head(post, isHost, token, isJSON, "Content-Length: 99999999999"), 413, "RESOURCE_005"},
		{"a body that does not say so", head(post, isHost, token, isJSON, "Transfer-Encoding: chunked") + "200000\r\n" + strings.Repeat("x", 0x200000) + "\r\n0\r\n\r\n", 413, "RESOURCE_005"},
		{"a body that does not come", head(post, isHost, token, isJSON, "Content-Length: 10") + `{"a`, 408, "EXECUTION_002"},
		{"a body and a length that differ", head(post, isHost, token, isJSON, "Content-Length: 5", "Content-Length: 6"), 400, ""},
		{"a length and a coding, the coding unknown", head(post, isHost, token, isJSON, "Content-Length: 5", "Transfer-Encoding: xchunked"), 501, ""},
		{"two codings", head(post, isHost, token, isJSON, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"), 501, ""},
		{"a name with a space before its colon", head(post, isHost, token, "Content-Length : 5"), 400, ""},
		{"two hosts", head(post, isHost, "Host: evil.example", token), 400, ""},
		{"a head without end", head(post, isHost, "X-A: "+strings.Repeat("x", 2*maxHead)), 431, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, body := w.raw(c.request)
			if r.StatusCode != c.status || codeOf(body) != c.code {
				t.Errorf("%d %s", r.StatusCode, body)
			}
			if strings.Contains(body, secret) {
				t.Errorf("a token is repeated: %s", body)
			}
		})
	}
	if len(w.events.all) > 0 {
		t.Errorf("a refused request was worked on: %+v", w.events.all)
	}
}

func TestAChallengeSaysWhatIsMissing(t *testing.T) {
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, secret)}, HTTPOptions{}, toolkit.Rate{})
	for request, want := range map[string]string{
		head(post, isHost): `Bearer realm="test"`,
		head(post, isHost, bearer(strings.Repeat("f", 32))): `Bearer realm="test", error="invalid_token", error_description="the token is not one of this server"`,
		head("POST /mcp?a=b HTTP/1.1", isHost):              `Bearer realm="test", error="invalid_request"`,
	} {
		if r, _ := w.raw(request); r.Header.Get("WWW-Authenticate") != want {
			t.Errorf("%q is challenged with %s", request, r.Header.Get("WWW-Authenticate"))
		}
	}
}

func TestRequestsThatMayComeDo(t *testing.T) {
	token := bearer(secret)
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, secret), Hosts: []string{"Files.Example."}, Origins: []string{"https://App.Example"}}, HTTPOptions{}, toolkit.Rate{})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct{ what, request string }{
		{"with our address", postMessage(ping, token)},
		{"with another port, as of a forwarded connection", head(post, "Host: localhost:1", isJSON, token, fmt.Sprint("Content-Length: ", len(ping))) + ping},
		{"with the other loopback address", head(post, "Host: [::1]:1", isJSON, token, fmt.Sprint("Content-Length: ", len(ping))) + ping},
		{"with a name that was allowed", head(post, "Host: files.example:443", isJSON, token, fmt.Sprint("Content-Length: ", len(ping))) + ping},
		{"from a page that was allowed", postMessage(ping, token, "Origin: https://app.example", "Sec-Fetch-Site: cross-site")},
		{"from a page of our own", postMessage(ping, token, "Origin: http://HOST")},
		{"by a scheme in other letters", postMessage(ping, "Authorization: bearer "+secret)},
		{"in more than one type of answer", postMessage(ping, token, "Accept: text/html;q=0.9, */*;q=0.1")},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, body := w.raw(c.request)
			if r.StatusCode != 200 || !strings.Contains(body, `"result":{}`) {
				t.Errorf("%d %s", r.StatusCode, body)
			}
			if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("a browser may guess or keep the answer: %v", r.Header)
			}
		})
	}
}

func TestAPageThatMayCallCanReadTheAnswer(t *testing.T) {
	w := serve(t, HTTPSettings{Origins: []string{"https://app.example"}}, HTTPOptions{}, toolkit.Rate{})
	r, _ := w.raw(head("OPTIONS /mcp HTTP/1.1", isHost, "Origin: https://app.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"))
	if r.StatusCode != 204 || r.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("it asks, and hears %d %v", r.StatusCode, r.Header)
	}
	r, _ = w.raw(postMessage(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if r.StatusCode != 200 || r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a client that is no page hears %v", r.Header)
	}
}

func TestABalancerIsToldThatAllIsWellAndNothingElse(t *testing.T) {
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, secret)}, HTTPOptions{}, toolkit.Rate{})
	for request, want := range map[string]string{
		head("GET /healthz HTTP/1.1", "Host: 10.1.2.3:8080"):        "200 ok\n",
		head("HEAD /healthz HTTP/1.1", "Host: any", "Accept: */*"):  "200 ",
		head("POST /healthz HTTP/1.1", isHost, "Content-Length: 0"): "405 no\n",
	} {
		r, body := w.raw(request)
		if got := fmt.Sprint(r.StatusCode, " ", body); got != want {
			t.Errorf("%q: %q", request, got)
		}
	}
}

func TestAHeadThatComesTooSlowlyIsHungUpOn(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{Header: 200 * time.Millisecond}, toolkit.Rate{})
	conn, err := net.Dial("tcp", w.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost: ")
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("still open: %v", err)
	}
}

// dial opens connections that say nothing, until the end of the test.
func (w *fixture) dial(n int) (all []net.Conn) {
	w.t.Helper()
	for range n {
		c, err := net.Dial("tcp", w.addr())
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { c.Close() })
		all = append(all, c)
	}
	return all
}

// hungUp reports whether the other side has closed a connection.
func hungUp(c net.Conn) bool {
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	_, err := c.Read(make([]byte, 1))
	late, ok := err.(net.Error)
	return err != nil && !(ok && late.Timeout())
}

func TestACrowdOfIdleConnectionsIsBoundedAndKeepsNobodyOut(t *testing.T) {
	const most, more = 50, 1000
	w := serve(t, HTTPSettings{}, HTTPOptions{MaxConns: most}, toolkit.Rate{})
	idle := w.dial(more)
	if r, _ := w.raw(postMessage(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); r.StatusCode != 200 {
		t.Errorf("behind %d idle connections: %d", more, r.StatusCode)
	}
	for i, c := range idle[:more-most] {
		if !hungUp(c) {
			t.Fatalf("connection %d of %d is still open", i, more)
		}
	}
}

func TestAKnownClientIsNotSentAwayForStrangers(t *testing.T) {
	const most = 5
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, secret)}, HTTPOptions{MaxConns: most}, toolkit.Rate{})
	auth := map[string]string{"Authorization": "Bearer " + secret}
	answered := make(chan int, 1)
	go func() {
		r, _ := w.post(t.Context(), callMessage(1, "wait", ""), auth)
		answered <- r.StatusCode
	}()
	<-w.hooks.began
	if strangers := w.dial(4 * most); !hungUp(strangers[0]) {
		t.Error("no connection was closed")
	}
	close(w.hooks.free)
	if status := <-answered; status != 200 {
		t.Errorf("the client is answered with %d", status)
	}
}

func TestARefusedClientKeepsNoConnection(t *testing.T) {
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, secret)}, HTTPOptions{}, toolkit.Rate{})
	r, _ := w.raw(head(post, isHost))
	if !r.Close || r.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d, and the connection stays", r.StatusCode)
	}
}
