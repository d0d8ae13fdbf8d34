package telemetry_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/telemetry"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// secret stands in everything that a client sends in these tests.
const secret = "s3cret-marker"

type greetIn struct {
	Name string `json:"name" doc:"whom to greet" path:"read"`
}

type greetOut struct {
	Greeting string `json:"greeting" doc:"the words"`
}

func (g greetOut) Bytes() int64 { return int64(len(g.Greeting)) }

func greet(_ context.Context, in greetIn) (greetOut, error) {
	if strings.HasPrefix(in.Name, "nobody") {
		return greetOut{}, fault.New(fault.OutsideAllowed, "no "+in.Name, "Greet somebody else").With("name", in.Name)
	}
	return greetOut{"hello " + in.Name}, nil
}

// fixture is a server that tells a collector of its calls.
type fixture struct {
	server    *toolkit.Server
	telemetry *telemetry.Telemetry
	log       *mcptest.Buffer // what was logged
}

func newFixture(t testing.TB, endpoint string) fixture {
	t.Helper()
	to, err := telemetry.CollectorAt(endpoint, "")
	must(t, err)
	log := &mcptest.Buffer{}
	told, err := telemetry.Open(to, telemetry.Options{Server: "greeter", Version: "1.2.3", Transport: "pipe", Log: slog.New(slog.NewTextHandler(log, nil))})
	must(t, err)
	return fixture{greeter(t, told), told, log}
}

// greeter is a server whose calls tracing follows; nil: nobody does.
func greeter(t testing.TB, tracing toolkit.Tracing) *toolkit.Server {
	t.Helper()
	s, err := toolkit.NewServer(toolkit.Config{
		Name: "greeter", Version: "1.2.3", Tracing: tracing,
		Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: []toolkit.Tool{
			toolkit.New(toolkit.Spec{Name: "greet", Title: "Greet", Doc: "Greets.", Toolset: "words", Effect: toolkit.Reads}, greet),
		}},
	})
	must(t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send hands a message to the server, with the headers of the request that brought it.
func (w fixture) send(message string, headers http.Header) {
	w.server.HandleMessage(w.telemetry.Extract(context.Background(), headers), json.RawMessage(message))
}

// call is a tools/call of 2026-07-28, with more in its _meta.
func call(tool, name, meta string) string {
	return `{"jsonrpc":"2.0","id":"` + secret + `","method":"tools/call","params":{"name":"` + tool + `","arguments":{"name":"` + name + `"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"` + secret + `","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}` + meta + `}}}`
}

// told closes the server's telemetry and is what the collector got.
func (w fixture) told(t *testing.T, c *mcptest.Collector) []mcptest.Span {
	t.Helper()
	must(t, w.telemetry.Close())
	return c.Spans(t)
}
