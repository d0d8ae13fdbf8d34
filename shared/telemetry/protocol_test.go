package telemetry_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

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
	collector := mcptest.NewCollector(t)
	w := newWorld(t, collector.URL)
	w.send(call("greet", "nobody", `,"traceparent":"`+parent+`","tracestate":"a=b"`), http.Header{"Traceparent": {ambient}})
	must(t, w.telemetry.Close())
	var m traces.TracesData
	decoded(t, collector.Bodies("/v1/traces")[0], &m)
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
	collector := mcptest.NewCollector(t)
	w := newWorld(t, collector.URL)
	for _, name := range []string{"Ada", "Bo", "nobody"} {
		w.send(call("greet", name, ""), nil)
	}
	must(t, w.telemetry.Close())
	var m metrics.MetricsData
	decoded(t, collector.Bodies("/v1/metrics")[0], &m)
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
