package interop

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/telemetry"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

const (
	parent  = `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`
	ambient = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`
)

type greetIn struct {
	Name string `json:"name" doc:"whom to greet"`
}

type greetOut struct {
	Greeting string `json:"greeting" doc:"the words"`
}

func (g greetOut) Bytes() int64 { return int64(len(g.Greeting)) }

// greeted greets people, each by a message with more in its _meta and these headers, and returns what the collector got.
func greeted(t *testing.T, path, meta string, headers http.Header, people ...string) []byte {
	t.Helper()
	collector := mcptest.NewCollector(t)
	to, err := telemetry.CollectorAt(collector.URL, "")
	must(t, err)
	exporter, err := telemetry.Open(to, telemetry.Options{Server: "greeter", Version: "1.2.3", Transport: "pipe", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	must(t, err)
	greet := func(_ context.Context, in greetIn) (greetOut, error) {
		if in.Name == "nobody" {
			return greetOut{}, fault.New(fault.OutsideAllowed, "no "+in.Name, "Greet somebody else")
		}
		return greetOut{"hello " + in.Name}, nil
	}
	s, err := toolkit.NewServer(toolkit.Config{
		Name: "greeter", Version: "1.2.3", Tracing: exporter,
		Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: []toolkit.Tool{
			toolkit.New(toolkit.Spec{Name: "greet", Title: "Greet", Doc: "Greets.", Toolset: "words", Effect: toolkit.Reads}, greet),
		}},
	})
	must(t, err)
	for _, name := range people {
		s.HandleMessage(exporter.Extract(t.Context(), headers), json.RawMessage(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"`+name+`"},"_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"interop","version":"1"},`+
				`"io.modelcontextprotocol/clientCapabilities":{}`+meta+`}}}`))
	}
	must(t, exporter.Close())
	return collector.Bodies(path)[0]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// decoded reads a message as the protocol's own definition has it, in which an unknown
// member is an error. OTLP writes ids in hex where JSON of Protocol Buffers has base64.
func decoded(t *testing.T, body []byte, into proto.Message) {
	t.Helper()
	var any any
	must(t, json.Unmarshal(body, &any))
	inBase64(any)
	body, err := json.Marshal(any)
	must(t, err)
	if err := protojson.Unmarshal(body, into); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

func inBase64(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			inBase64(e)
		}
	case map[string]any:
		for key, e := range v {
			if text, ok := e.(string); ok && (key == "traceId" || strings.HasSuffix(strings.ToLower(key), "spanid")) {
				id, _ := hex.DecodeString(text)
				v[key] = base64.StdEncoding.EncodeToString(id)
			}
			inBase64(e)
		}
	}
}

func TestSpansAreThoseOfTheProtocol(t *testing.T) {
	body := greeted(t, "/v1/traces", `,"traceparent":"`+parent+`","tracestate":"a=b"`, http.Header{"Traceparent": {ambient}}, "nobody")
	var m traces.TracesData
	decoded(t, body, &m)
	if got := m.ResourceSpans[0].Resource.Attributes[0]; got.Value.GetStringValue() == "" {
		t.Errorf("the resource is %v", m.ResourceSpans[0].Resource)
	}
	scope := m.ResourceSpans[0].ScopeSpans[0]
	span := scope.Spans[0]
	if scope.Scope.Version != "1.2.3" || span.Name != "tools/call greet" || span.Kind != traces.Span_SPAN_KIND_SERVER || span.Status.Code != traces.Status_STATUS_CODE_ERROR || span.TraceState != "a=b" {
		t.Errorf("%v of %v", span, scope.Scope)
	}
	if hex.EncodeToString(span.TraceId) != parent[3:35] || hex.EncodeToString(span.ParentSpanId) != parent[36:52] || len(span.SpanId) != 8 {
		t.Errorf("the ids are %x %x %x", span.TraceId, span.SpanId, span.ParentSpanId)
	}
	if span.Flags != 0x301 || span.StartTimeUnixNano == 0 || span.EndTimeUnixNano < span.StartTimeUnixNano {
		t.Errorf("the flags are %#x, the times %d and %d", span.Flags, span.StartTimeUnixNano, span.EndTimeUnixNano)
	}
	if len(span.Links) != 1 || hex.EncodeToString(span.Links[0].SpanId) != ambient[36:52] {
		t.Errorf("the links are %v", span.Links)
	}
	for _, a := range span.Attributes {
		if a.Key == "mcp_server.bytes" && a.Value.GetIntValue() != 0 || a.Key == "mcp_server.error.code" && a.Value.GetStringValue() != "SECURITY_002" {
			t.Errorf("an attribute is %v", a)
		}
	}
}

func TestMetricsAreThoseOfTheProtocol(t *testing.T) {
	body := greeted(t, "/v1/metrics", "", nil, "Ada", "Bo", "nobody")
	var m metrics.MetricsData
	decoded(t, body, &m)
	all := map[string]*metrics.Metric{}
	for _, metric := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		all[metric.Name] = metric
	}
	duration := all["mcp.server.operation.duration"]
	if duration.GetUnit() != "s" || duration.GetHistogram().GetAggregationTemporality() != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Fatalf("%v", duration)
	}
	counts := map[string]uint64{}
	for _, p := range duration.GetHistogram().DataPoints {
		code := "ok"
		for _, a := range p.Attributes {
			if a.Key == "mcp_server.error.code" {
				code = a.Value.GetStringValue()
			}
		}
		counts[code] += p.Count
		sum := uint64(0)
		for _, n := range p.BucketCounts {
			sum += n
		}
		if sum != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 || p.GetSum() <= 0 || p.GetMax() < p.GetMin() || p.TimeUnixNano < p.StartTimeUnixNano {
			t.Errorf("%v", p)
		}
	}
	if counts["ok"] != 2 || counts["SECURITY_002"] != 1 || len(counts) != 2 {
		t.Errorf("the counts are %v", counts)
	}
	content := all["mcp_server.content.io"].GetSum()
	if p := content.GetDataPoints(); len(p) != 1 || p[0].GetAsInt() != int64(len("hello Adahello Bo")) || !content.IsMonotonic {
		t.Errorf("%v", content)
	}
}
