package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// secret is a token that is long enough.
const secret = "0123456789abcdef0123456789abcdef"

// fixture is a server on a port of its own.
type fixture struct {
	t        testing.TB
	listener *HTTPListener
	events   *events
	stop     context.CancelFunc
	ended    chan error
	hooks    *hooks

	changed func(uri string) // tells of a resource
}

// hooks let a test see into calls of wait.
type hooks struct {
	began chan struct{}
	ended chan error // why the context of a call ended
	free  chan struct{}
}

type in struct {
	Text string `json:"text,omitempty" doc:"what to say"`
}

type out struct {
	Text string `json:"text" doc:"what was said"`
}

func httpTools(h *hooks) []toolkit.Tool {
	return []toolkit.Tool{
		toolkit.New(toolkit.Spec{Name: "echo", Title: "Echo", Doc: "Echoes.", Toolset: "t", Effect: toolkit.Reads},
			func(_ context.Context, in in) (out, error) { return out(in), nil }),
		toolkit.New(toolkit.Spec{Name: "wait", Title: "Wait", Doc: "Waits.", Toolset: "t", Effect: toolkit.Reads},
			func(ctx context.Context, _ in) (out, error) {
				h.began <- struct{}{}
				select {
				case <-ctx.Done():
					h.ended <- context.Cause(ctx)
					return out{}, fault.New(fault.TimedOut, "ended", "")
				case <-h.free:
					return out{"free"}, nil
				}
			}),
		toolkit.New(toolkit.Spec{Name: "count", Title: "Count", Doc: "Counts.", Toolset: "t", Effect: toolkit.Reads},
			func(ctx context.Context, _ in) (out, error) {
				for i := range 5 {
					toolkit.Progress(ctx, float64(i+1), 5, fmt.Sprint("step ", i+1))
				}
				return out{"done"}, nil
			}),
		toolkit.New(toolkit.Spec{Name: "ask", Title: "Ask", Doc: "Asks.", Toolset: "t", Effect: toolkit.Runs},
			func(ctx context.Context, _ in) (out, error) {
				return out{"agreed"}, toolkit.Confirm(ctx, toolkit.Question{ID: "q", Title: "May I?"})
			}),
	}
}

// events are what the audit log would hold.
type events struct {
	mu  sync.Mutex
	all []audit.Event
}

func (e *events) Record(one audit.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, one)
	return nil
}

func (e *events) last(t testing.TB) audit.Event {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.all) == 0 {
		t.Fatal("nothing was recorded")
	}
	return e.all[len(e.all)-1]
}

// serve starts a fixture. It is stopped at the end of the test, and has to end by itself.
func serve(t testing.TB, s HTTPSettings, o HTTPOptions, rate toolkit.Rate) *fixture {
	t.Helper()
	if s.Listen == "" {
		s.Listen = "127.0.0.1:0"
	}
	ctx, stop := context.WithCancel(context.Background())
	listener, err := OpenHTTP(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, listener: listener, events: &events{}, stop: stop, ended: make(chan error, 1),
		hooks: &hooks{began: make(chan struct{}, 64), ended: make(chan error, 64), free: make(chan struct{})}}
	clock := time.Now()
	ticks := func() time.Time { clock = clock.Add(time.Second); return clock } // each step of progress is worth telling
	var mu sync.Mutex
	resources := &toolkit.Resources{URITemplate: "test:///{name}", Name: "test", Watch: func(changed func(string)) { w.changed = changed },
		Read: func(context.Context, string) ([]toolkit.ResourceContent, error) { return nil, nil }}
	h, err := toolkit.NewServer(toolkit.Config{Name: "test", Version: "1", Audit: w.events, Rate: rate, Resources: resources,
		Clock:      func() time.Time { mu.Lock(); defer mu.Unlock(); return ticks() },
		Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: httpTools(w.hooks)}})
	if err != nil {
		t.Fatal(err)
	}
	o.Name, o.Context = "test", toolkit.WithRequestID
	go func() { w.ended <- listener.Serve(ctx, h, o) }()
	t.Cleanup(w.end)
	return w
}

func (w *fixture) end() {
	w.stop()
	select {
	case err := <-w.ended:
		if err != nil {
			w.t.Errorf("serving ended with %v", err)
		}
		w.ended <- nil
	case <-time.After(2 * time.Minute):
		w.t.Error("serving does not end")
	}
	if err := w.listener.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *fixture) addr() string { return w.listener.listener.Addr().String() }

// tokenFile is a file with these lines.
func tokenFile(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// raw sends bytes as they are and reads one answer.
func (w *fixture) raw(text string) (*http.Response, string) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	go conn.Write([]byte(strings.ReplaceAll(text, "HOST", w.addr()))) // the answer may come before all is taken
	method, _, _ := strings.Cut(text, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("%.80q: %v", text, err)
	}
	body, _ := io.ReadAll(r.Body)
	return r, string(body)
}

// codeOf is the code of the error table in a body.
func codeOf(body string) string {
	var e fault.Envelope
	_ = json.Unmarshal([]byte(body), &e)
	return string(e.Error.Code)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"tester","version":"7"}}}`

func callMessage(id any, tool string, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":{}%s}}`, id, tool, more)
}

// modernMeta is what a request of 2026-07-28 says of itself.
const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"modern","version":"3"}}`

func modernHead(method, name string) map[string]string {
	h := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	return h
}

// post sends a message and gives the answer.
func (w *fixture) post(ctx context.Context, body string, headers map[string]string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.listener.URL(), bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	return a, string(text)
}
