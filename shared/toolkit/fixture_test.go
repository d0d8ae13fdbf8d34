package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
)

// The tools of these tests: one of every effect, and one that misbehaves.

type sayIn struct {
	Word  string `json:"word" doc:"what to say"`
	Times int    `json:"times,omitempty" min:"1" max:"9" default:"2"`
}

type sayOut struct {
	Said  string   `json:"said"`
	Parts []string `json:"parts"`
}

func (o sayOut) Text() string { return "I say " + o.Said }
func (o sayOut) Bytes() int64 { return int64(len(o.Said)) }

func say(_ context.Context, in sayIn) (sayOut, error) {
	if in.Word == "" {
		return sayOut{}, fault.New(fault.ParamInvalid, "there is nothing to say", "Send a word")
	}
	return sayOut{Said: strings.Repeat(in.Word, in.Times)}, nil
}

type storeIn struct {
	Path    string `json:"path" path:"write"`
	Content string `json:"content" content:"true"`
	Token   string `json:"token,omitempty" secret:"true"`
}

type storeOut struct {
	Stored int `json:"stored"`
}

type breakIn struct {
	How string `json:"how"`
}

type breakOut struct {
	How string `json:"how"`
}

// Text panics too: results are rendered under the same guard.
func (o *breakOut) Text() string {
	if o.How == "in Text" {
		panic("text of /etc/shadow")
	}
	return o.How
}

func misbehave(ctx context.Context, in breakIn) (breakOut, error) {
	switch in.How {
	case "panic":
		panic("the password is hunter2")
	case "index":
		return breakOut{}, []error{nil}[len(in.How)]
	case "raw error":
		return breakOut{}, errors.New("open /home/someone/secret: odd")
	case "forbidden":
		return breakOut{}, fault.New(fault.Forbidden, "no", "").With("rule", "links").Because(errors.New("the deep cause"))
	case "odd details":
		return breakOut{}, fault.New(fault.NotFound, "gone", "").With("f", func() {})
	case "cancelled":
		return breakOut{}, ctx.Err()
	}
	return breakOut(in), nil
}

// fixture is a server with what it wrote to its log.
type fixture struct {
	*Server
	log    *recorder
	stored []string // by the store tool
}

type recorder struct {
	mu     sync.Mutex
	events []audit.Event
	fail   func(audit.Event) bool
}

func (r *recorder) Record(e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil && r.fail(e) {
		return errors.New("no space left on device")
	}
	r.events = append(r.events, e)
	return nil
}

func (r *recorder) all() []audit.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]audit.Event(nil), r.events...)
}

func newFixture(t testing.TB, change func(*Config)) *fixture {
	t.Helper()
	w := &fixture{log: &recorder{}}
	store := func(_ context.Context, in storeIn) (storeOut, error) {
		w.stored = append(w.stored, in.Content)
		return storeOut{len(in.Content)}, nil
	}
	c := Config{
		Name: "file-test", Version: "1.2.3", Title: "Test", Instructions: "Use say.",
		Vocabulary: Vocabulary{Name: "standard", Tools: []Tool{
			New(Spec{Name: "say", Title: "Say", Doc: "Say a word.", Toolset: "talk", Effect: Reads}, say),
			New(Spec{Name: "store", Title: "Store", Doc: "Store content.", Toolset: "keep", Effect: Writes, Destructive: true}, store),
			New(Spec{Name: "misbehave", Title: "Misbehave", Doc: "Break.", Toolset: "talk", Effect: Runs}, misbehave),
		}},
		Audit: w.log,
	}
	if change != nil {
		change(&c)
	}
	s, err := NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = s
	return w
}

// answer is a JSON-RPC message as a client reads it.
type answer struct {
	ID     any             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func (w *fixture) send(t testing.TB, ctx context.Context, line string) answer {
	t.Helper()
	raw, err := json.Marshal(w.HandleMessage(ctx, json.RawMessage(line)))
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return a
}

// toolResult is a result of tools/call as a client reads it.
type toolResult struct {
	Content []struct {
		Type, Text, Data, MimeType string
		Resource                   struct{ URI, MimeType, Blob string }
	}
	StructuredContent json.RawMessage
	IsError           bool
}

func (r toolResult) failure(t testing.TB) fault.Failure {
	t.Helper()
	var e fault.Envelope
	if err := json.Unmarshal(r.StructuredContent, &e); err != nil || !r.IsError {
		t.Fatalf("no failure: %s", r.StructuredContent)
	}
	return e.Error
}

func read(t testing.TB, raw any) toolResult {
	t.Helper()
	bytes, ok := raw.(json.RawMessage)
	if !ok {
		bytes, _ = json.Marshal(raw)
	}
	var r toolResult
	if err := json.Unmarshal(bytes, &r); err != nil {
		t.Fatalf("%s: %v", bytes, err)
	}
	return r
}

// client is a session that declares roots and counts what it is asked.
type client struct {
	id       string
	notes    chan mcp.JSONRPCNotification
	caps     mcp.ClientCapabilities
	mu       sync.Mutex
	asked    int
	answer   func(context.Context) (*mcp.ListRootsResult, error)
	greeting bool
	waits    int
}

func newClient(id string) *client {
	return &client{id: id, notes: make(chan mcp.JSONRPCNotification, 1000)}
}

func (c *client) Waits()                                              { c.waits++ }
func (c *client) Initialize()                                         { c.greeting = true }
func (c *client) Initialized() bool                                   { return true }
func (c *client) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.notes }
func (c *client) SessionID() string                                   { return c.id }
func (c *client) GetClientInfo() mcp.Implementation {
	return mcp.Implementation{Name: "host", Version: "9"}
}
func (c *client) SetClientInfo(mcp.Implementation)                  {}
func (c *client) GetClientCapabilities() mcp.ClientCapabilities     { return c.caps }
func (c *client) SetClientCapabilities(caps mcp.ClientCapabilities) { c.caps = caps }
func (c *client) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	return c.answer(ctx)
}

var (
	_ server.SessionWithClientInfo = (*client)(nil)
	_ server.SessionWithRoots      = (*client)(nil)
)

const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"2"}}`
