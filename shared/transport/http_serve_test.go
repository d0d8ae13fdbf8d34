package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestAHandshakeIsAnsweredWithASessionThatSaysWhoTheClientIs(t *testing.T) {
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, "ci "+secret)}, HTTPOptions{}, toolkit.Rate{})
	auth := map[string]string{"Authorization": "Bearer " + secret}
	r, body := w.post(t.Context(), initialize, auth)
	session := r.Header.Get("Mcp-Session-Id")
	if r.StatusCode != 200 || session == "" || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("%d %v %s", r.StatusCode, r.Header, body)
	}
	auth["Mcp-Session-Id"], auth["Mcp-Protocol-Version"] = session, "2025-11-25"
	if r, _ := w.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, auth); r.StatusCode != 202 {
		t.Errorf("a notification is answered with %d", r.StatusCode)
	}
	w.post(t.Context(), callMessage(2, "echo", ""), auth)
	if e := w.events.last(t); e.Client != "tester 7" || e.Session != "http:ci@127.0.0.1" || e.RequestID != "2" {
		t.Errorf("recorded as %q in %q, request %q", e.Client, e.Session, e.RequestID)
	}
	again, _ := w.post(t.Context(), initialize, auth)
	if again.Header.Get("Mcp-Session-Id") == session {
		t.Error("two clients have one session")
	}
	auth["Mcp-Session-Id"] = "mcp-session-of-another-server"
	if r, _ := w.post(t.Context(), callMessage(2, "echo", ""), auth); r.StatusCode != 404 {
		t.Errorf("another server's session is answered with %d", r.StatusCode)
	}
}

func TestARequestOf2026SaysItselfWhoItIsFrom(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	r, body := w.post(t.Context(), callMessage(`"a"`, "echo", modernMeta), modernHead("tools/call", "echo"))
	if r.StatusCode != 200 || r.Header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, `"id":"a"`) || !strings.Contains(body, `"resultType"`) {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
	}
	if e := w.events.last(t); e.Client != "modern 3" || e.Session != "http:127.0.0.1" || e.RequestID != "a" {
		t.Errorf("recorded as %q in %q, request %q", e.Client, e.Session, e.RequestID)
	}
}

func TestAHeadThatIsNotThatOfItsMessageIsRefused(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	echo := callMessage(1, "echo", modernMeta)
	legacy := callMessage(1, "echo", "")
	for _, c := range []struct {
		what, body string
		head       map[string]string
		status     int
		rpc        int
	}{
		{"another tool", echo, modernHead("tools/call", "wait"), 400, -32020},
		{"another method", echo, modernHead("tools/list", "echo"), 400, -32020},
		{"no method", echo, map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Name": "echo"}, 400, -32020},
		{"no tool", echo, map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}, 400, -32020},
		{"no version", echo, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "echo"}, 400, -32020},
		{"an older version", echo, map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}, 400, -32020},
		{"another method before an old message", legacy, map[string]string{"Mcp-Method": "tools/list"}, 400, -32020},
		{"no method before an old message", legacy, map[string]string{"Mcp-Method": ""}, 400, -32020},
		{"other letters before an old message", legacy, map[string]string{"Mcp-Method": "Tools/call"}, 400, -32020},
		{"another tool before an old message", legacy, map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/call", "Mcp-Name": "wait"}, 400, -32020},
		{"a tool before an old message without one", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Method": "tools/list", "Mcp-Name": "echo"}, 400, -32020},
		{"another resource before an old message", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`, map[string]string{"Mcp-Name": "a:c"}, 400, -32020},
		{"another method before a handshake", initialize, map[string]string{"Mcp-Method": "ping"}, 400, -32020},
		{"another method before a cancellation", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, map[string]string{"Mcp-Method": "notifications/initialized"}, 400, -32020},
		{"a method before an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, map[string]string{"Mcp-Method": "tools/call"}, 400, -32020},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"wait","arguments":{}}}`, nil, 400, -32600},
		{"the new version before an old message", legacy, modernHead("tools/call", "echo"), 400, -32602},
		{"a version that will be", strings.ReplaceAll(echo, "2026-07-28", "2099-01-01"), map[string]string{"Mcp-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}, 400, -32022},
		{"a version that never was", legacy, map[string]string{"Mcp-Protocol-Version": "2001-01-01"}, 400, -32600},
		{"a method that is not there", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"no/such","params":{%s}}`, modernMeta[1:]), modernHead("no/such", ""), 404, -32601},
		{"an answer to nothing", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{},"params":{%s}}`, modernMeta[1:]), modernHead("", ""), 400, -32600},
		{"no JSON", `{"jsonrpc"`, nil, 400, -32700},
		{"nothing", ` `, nil, 400, -32700},
		{"a batch", `[` + legacy + `]`, nil, 400, -32600},
		{"two messages", legacy + legacy, nil, 400, -32700},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, body := w.post(t.Context(), c.body, c.head)
			var e struct{ Error struct{ Code int } }
			if err := json.Unmarshal([]byte(body), &e); err != nil || r.StatusCode != c.status || e.Error.Code != c.rpc {
				t.Errorf("%d %s", r.StatusCode, body)
			}
		})
	}
	if len(w.events.all) > 0 {
		t.Errorf("a refused message was worked on: %+v", w.events.all)
	}
}

func TestAHeadThatIsThatOfItsMessageIsTaken(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	for _, head := range []map[string]string{
		nil,
		{"Mcp-Method": "tools/call"},
		{"Mcp-Method": "tools/call", "Mcp-Name": "echo"},
		{"Mcp-Name": "=?base64?ZWNobw==?="},
		{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Name": "echo"},
	} {
		if r, body := w.post(t.Context(), callMessage(1, "echo", ""), head); r.StatusCode != 200 || !strings.Contains(body, `"result"`) {
			t.Errorf("%v: %d %s", head, r.StatusCode, body)
		}
	}
}

// events of a stream, as JSON-RPC messages.
func messages(t *testing.T, body string) (all []string) {
	t.Helper()
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, strings.TrimSpace(data))
		}
	}
	return all
}

func TestProgressComesWholeAndBeforeItsResponse(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	for what, c := range map[string]struct {
		more string
		head map[string]string
	}{
		"2025": {`,"_meta":{"progressToken":"p"}`, nil},
		"2026": {strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"progressToken":"p",`, 1), modernHead("tools/call", "count")},
	} {
		r, body := w.post(t.Context(), callMessage(1, "count", c.more), c.head)
		all := messages(t, body)
		if r.Header.Get("Content-Type") != "text/event-stream" || len(all) != 6 {
			t.Fatalf("%s: %v %s", what, r.Header, body)
		}
		for i, m := range all[:5] {
			if !strings.Contains(m, fmt.Sprintf(`"progress":%d`, i+1)) {
				t.Errorf("%s: message %d is %s", what, i, m)
			}
		}
		if !strings.Contains(all[5], `"done"`) {
			t.Errorf("%s: the last one is %s", what, all[5])
		}
	}
	r, body := w.post(t.Context(), callMessage(1, "count", `,"_meta":{"progressToken":"p"}`), map[string]string{"Accept": "application/json"})
	if r.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"done"`) {
		t.Errorf("a client that takes no stream gets %v %s", r.Header, body)
	}
	r, body = w.post(t.Context(), callMessage(1, "echo", ""), map[string]string{"Accept": "text/event-stream"})
	if r.Header.Get("Content-Type") != "text/event-stream" || len(messages(t, body)) != 1 {
		t.Errorf("a client that takes nothing else gets %v %s", r.Header, body)
	}
}

func TestAClientThatWaitsHearsThatItIsWaitedWith(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{Beat: 20 * time.Millisecond}, toolkit.Rate{})
	go func() {
		<-w.hooks.began
		time.Sleep(100 * time.Millisecond)
		close(w.hooks.free)
	}()
	r, body := w.post(t.Context(), callMessage(1, "wait", ""), nil)
	if all := messages(t, body); r.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(body, ": waiting\n\n") || len(all) != 1 || !strings.Contains(all[0], `"free"`) {
		t.Errorf("%v %s", r.Header, body)
	}
}

func TestAClientThatGoesAwayCancelsItsCall(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-w.hooks.began; leave() }()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.listener.URL(), strings.NewReader(callMessage(1, "wait", "")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Fatalf("the client did not go away: %v", err)
	}
	select {
	case <-w.hooks.ended:
	case <-time.After(2 * time.Minute):
		t.Error("the call goes on")
	}
}

func TestASessionIsOfOneToken(t *testing.T) {
	const second = "abcdefghijklmnopqrstuvwxyz0123456789"
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, "one "+secret, "two "+second)}, HTTPOptions{}, toolkit.Rate{})
	r, _ := w.post(t.Context(), initialize, map[string]string{"Authorization": "Bearer " + secret})
	id := r.Header.Get("Mcp-Session-Id")
	mine := map[string]string{"Authorization": "Bearer " + secret, "Mcp-Session-Id": id}
	theirs := map[string]string{"Authorization": "Bearer " + second, "Mcp-Session-Id": id}
	changed := map[string]string{"Authorization": "Bearer " + secret, "Mcp-Session-Id": strings.Replace(id, id[:1], string(id[0]^1), 1)}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`
	var canceller sync.WaitGroup
	canceller.Go(func() {
		<-w.hooks.began
		for what, head := range map[string]map[string]string{"another token": theirs, "a changed id": changed} {
			for _, body := range []string{cancel, callMessage(6, "echo", "")} {
				if r, _ := w.post(t.Context(), body, head); r.StatusCode != http.StatusNotFound {
					t.Errorf("with %s, %s is answered with %d", what, body, r.StatusCode)
				}
			}
		}
		select {
		case <-w.hooks.ended:
			t.Error("another client cancelled the call")
			w.hooks.ended <- nil
		default:
		}
		if r, _ := w.post(t.Context(), cancel, mine); r.StatusCode != http.StatusAccepted {
			t.Errorf("its own cancellation is answered with %d", r.StatusCode)
		}
	})
	if r, body := w.post(t.Context(), callMessage(5, "wait", ""), mine); r.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	canceller.Wait()
}

func TestACancelledCallIsAnsweredNoMore(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	r, _ := w.post(t.Context(), initialize, nil)
	mine := map[string]string{"Mcp-Session-Id": r.Header.Get("Mcp-Session-Id")}
	r, _ = w.post(t.Context(), initialize, nil)
	others := map[string]string{"Mcp-Session-Id": r.Header.Get("Mcp-Session-Id")}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`
	var canceller sync.WaitGroup
	canceller.Go(func() {
		<-w.hooks.began
		w.post(t.Context(), cancel, others)
		w.post(t.Context(), cancel, nil)
		w.post(t.Context(), callMessage(6, "echo", ""), mine) // time for these to do harm
		select {
		case <-w.hooks.ended:
			t.Error("another client cancelled the call")
			w.hooks.ended <- nil
		default:
		}
		w.post(t.Context(), cancel, mine)
	})
	r, body := w.post(t.Context(), callMessage(5, "wait", ""), mine)
	if r.StatusCode != http.StatusNoContent || body != "" {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	canceller.Wait()
	if why := <-w.hooks.ended; !errors.Is(why, errCancelled) {
		t.Errorf("it ended because %v", why)
	}
}

func TestTheEndWaitsForWhatIsInFlight(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	answered := make(chan string, 1)
	go func() {
		_, body := w.post(t.Context(), callMessage(1, "wait", ""), nil)
		answered <- body
	}()
	<-w.hooks.began
	w.stop()
	for {
		r, body := w.raw(head("GET /healthz HTTP/1.1", isHost))
		if r.StatusCode == http.StatusServiceUnavailable && body == "ending\n" {
			break
		}
	}
	if r, body := w.raw(postMessage(callMessage(2, "echo", ""))); r.StatusCode != 503 || codeOf(body) != "SYSTEM_002" || r.Header.Get("Retry-After") == "" {
		t.Errorf("a late request is answered with %d %s", r.StatusCode, body)
	}
	close(w.hooks.free)
	if body := <-answered; !strings.Contains(body, `"free"`) {
		t.Errorf("answered with %s", body)
	}
}

func TestTheEndDoesNotWaitForEver(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{Drain: 400 * time.Millisecond}, toolkit.Rate{})
	answered := make(chan string, 1)
	go func() {
		_, body := w.post(t.Context(), callMessage(1, "wait", ""), nil)
		answered <- body
	}()
	<-w.hooks.began
	w.stop()
	if why := <-w.hooks.ended; !errors.Is(why, errEnding) {
		t.Errorf("the call ended because %v", why)
	}
	if body := <-answered; !strings.Contains(body, "EXECUTION_002") {
		t.Errorf("answered with %s", body)
	}
}

func TestWhatIsWorkedOnIsBounded(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{MaxRequests: 2, MaxBody: 100_000}, toolkit.Rate{})
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { w.post(t.Context(), callMessage(i, "wait", ""), nil) })
	}
	<-w.hooks.began
	<-w.hooks.began
	if r, body := w.post(t.Context(), callMessage(9, "echo", ""), nil); r.StatusCode != 503 || codeOf(body) != "RESOURCE_005" || r.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", r.StatusCode, body)
	}
	if r, _ := w.raw(head("GET /healthz HTTP/1.1", isHost)); r.StatusCode != 200 {
		t.Errorf("a server with much to do says that it is not well: %d", r.StatusCode)
	}
	close(w.hooks.free)
	both.Wait()
}

func TestTheBytesOfMessagesAreBounded(t *testing.T) {
	w := &served{calls: calls{MaxCalls: 100, MaxBytes: 1000}}
	first := &call{Size: 5000}
	begin := func(size int) *rejection { return w.begin(&call{Size: size}) }
	if w.begin(first) != nil {
		t.Error("a single message was refused")
	}
	if no := begin(1); no == nil || !no.later || no.fault.Code != fault.LimitReached {
		t.Errorf("a message was taken while the room is used up: %v", no)
	}
	w.calls.end(first)
	if begin(600) != nil || begin(400) != nil || begin(1) == nil {
		t.Error("the room is not 1000 bytes")
	}
}

func TestTheBytesOfAnswersAreBounded(t *testing.T) {
	w := &served{calls: calls{MaxCalls: 1000, MaxBytes: 1 << 30}}
	begin := func(size int) *rejection { return w.begin(&call{Size: size}) }
	for range 2 {
		if begin(1) != nil {
			t.Fatal("two messages are too many")
		}
	}
	w.unsent.Add(httpMaxUnsent)
	if no := begin(1); no == nil || !no.later || no.fault.Code != fault.LimitReached {
		t.Errorf("a message was taken while answers wait: %v", no)
	}
	w.unsent.Add(-httpMaxUnsent)
	if no := begin(1); no != nil {
		t.Errorf("nothing waits, and it is refused: %v", no)
	}
}

func TestAnswersOnTheirWayAreCounted(t *testing.T) {
	r := &reply{s: &served{o: HTTPOptions{Pace: 10 * time.Second}}, plain: true}
	seen := int64(0)
	r.w = &watchedWriter{ResponseRecorder: httptest.NewRecorder(), wrote: func() { seen = r.s.unsent.Load() }}
	r.limits = http.NewResponseController(r.w)
	r.finish(http.StatusOK, mcp.JSONRPCError{JSONRPC: "2.0"}, json.RawMessage("1"))
	if seen == 0 || r.s.unsent.Load() != 0 {
		t.Errorf("while it is written %d bytes are counted, and %d afterwards", seen, r.s.unsent.Load())
	}
}

// watchedWriter tells when something is written.
type watchedWriter struct {
	*httptest.ResponseRecorder
	wrote func()
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.wrote()
	return w.ResponseRecorder.Write(p)
}

func TestRatesAreCountedByTheNameOfTheToken(t *testing.T) {
	other := strings.Repeat("f", 32)
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, "a "+secret, "b "+other)}, HTTPOptions{}, toolkit.Rate{Calls: 2, Per: 1000 * time.Hour})
	call := func(token string) bool {
		_, body := w.post(t.Context(), callMessage(1, "echo", ""), map[string]string{"Authorization": "Bearer " + token})
		return !strings.Contains(body, "RESOURCE_005")
	}
	if got := []bool{call(secret), call(secret), call(secret), call(other), call(other), call(other)}; fmt.Sprint(got) != "[true true false true true false]" {
		t.Errorf("allowed: %v", got)
	}
}

func TestNobodyIsAskedWhoCannotBe(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	r, _ := w.post(t.Context(), initialize, nil) // it says that it can be asked
	_, body := w.post(t.Context(), callMessage(2, "ask", ""), map[string]string{"Mcp-Session-Id": r.Header.Get("Mcp-Session-Id")})
	if !strings.Contains(body, "SECURITY_003") || !strings.Contains(body, `"answer":"unsupported"`) {
		t.Errorf("a client of the handshake gets %s", body)
	}
}

func TestAQuestionOf2026IsTheResultOfTheCall(t *testing.T) {
	w := serve(t, HTTPSettings{}, HTTPOptions{}, toolkit.Rate{})
	_, body := w.post(t.Context(), callMessage(1, "ask", modernMeta), modernHead("tools/call", "ask"))
	var asked struct {
		Result struct{ ResultType, RequestState string }
	}
	if err := json.Unmarshal([]byte(body), &asked); err != nil || asked.Result.ResultType != "input_required" {
		t.Fatalf("%v %s", err, body)
	}
	answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"confirm":{"action":"accept","content":{"agree":true}}}`, asked.Result.RequestState)
	if _, body = w.post(t.Context(), callMessage(2, "ask", modernMeta+answer), modernHead("tools/call", "ask")); !strings.Contains(body, `"agreed"`) {
		t.Errorf("agreed to, it answers %s", body)
	}
	if _, body = w.post(t.Context(), callMessage(3, "ask", modernMeta+answer), modernHead("tools/call", "ask")); !strings.Contains(body, "SECURITY_003") {
		t.Errorf("an answer counted twice: %s", body)
	}
}

func FuzzSessions(f *testing.F) {
	f.Add("tester", "7", "x")
	f.Add("a\x00b", "\xff", "AAAAAAAAAAAAAAAAAAAAAAAAAA.AAAA")
	f.Add(strings.Repeat("日", 100), "", strings.Repeat(".", 600))
	f.Fuzz(func(t *testing.T, name, version, other string) {
		by := client{name: "one", seal: []byte("digest")}
		id := sessionOf(mcp.Implementation{Name: name, Version: version}, by)
		info, ok := introduced(id, by)
		if !ok || len(id) > maxSession || strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) {
			t.Errorf("%q is no session id", id)
		}
		if !strings.Contains(name, "\x00") && info.Name != cut(name) {
			t.Errorf("%q came back as %q", name, info.Name)
		}
		if _, ok := introduced(id, client{name: "one", seal: []byte("other")}); ok {
			t.Errorf("%q is a session of another client too", id)
		}
		introduced(other, by)
	})
}
