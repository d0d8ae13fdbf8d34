package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter and metricExporter send to a collector what the SDK has gathered. The
// collector logs a failure once; the SDK would log each.

type spanExporter struct{ to *Collector }

// ExportSpans tries again where that may help: what does not fit into the SDK's queue
// meanwhile is dropped there.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	all := make([]message, len(spans))
	for i, s := range spans {
		self, parent := s.SpanContext(), s.Parent()
		all[i] = message{
			"traceId": self.TraceID().String(), "spanId": self.SpanID().String(), "flags": flagsOf(self, parent),
			"name": s.Name(), "kind": s.SpanKind(), // numbered as in OTLP
			"startTimeUnixNano": nanos(s.StartTime()), "endTimeUnixNano": nanos(s.EndTime()),
			"attributes": attributesOf(s.Attributes()),
		}
		if state := self.TraceState().String(); state != "" {
			all[i]["traceState"] = state
		}
		if parent.HasSpanID() {
			all[i]["parentSpanId"] = parent.SpanID().String()
		}
		var links []message
		for _, l := range s.Links() {
			c := l.SpanContext
			links = append(links, message{"traceId": c.TraceID().String(), "spanId": c.SpanID().String(), "flags": flagsOf(c, c)})
		}
		if links != nil {
			all[i]["links"] = links
		}
		if s.Status().Code == codes.Error {
			all[i]["status"] = message{"code": statusError}
		}
	}
	scope := message{"scope": scopeOf(spans[0].InstrumentationScope()), "spans": all}
	resource := message{"resource": resourceOf(spans[0].Resource()), "scopeSpans": []message{scope}}
	e.to.deliver(ctx, "v1/traces", message{"resourceSpans": []message{resource}}, true)
	return nil
}

func (spanExporter) Shutdown(context.Context) error { return nil }

type metricExporter struct{ to *Collector }

// Export tries once: metrics are sums since the start, and the next ones hold these.
func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	if len(all.ScopeMetrics) == 0 {
		return nil
	}
	scopes := make([]message, len(all.ScopeMetrics))
	for i, s := range all.ScopeMetrics {
		metrics := make([]message, len(s.Metrics))
		for j, m := range s.Metrics {
			metrics[j] = message{"name": m.Name, "description": m.Description, "unit": m.Unit}
			kind, data := dataOf(m.Data)
			metrics[j][kind] = data
		}
		scopes[i] = message{"scope": scopeOf(s.Scope), "metrics": metrics}
	}
	resource := message{"resource": resourceOf(all.Resource), "scopeMetrics": scopes}
	e.to.deliver(ctx, "v1/metrics", message{"resourceMetrics": []message{resource}}, false)
	return nil
}

func (metricExporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

func (metricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (metricExporter) ForceFlush(context.Context) error { return nil }
func (metricExporter) Shutdown(context.Context) error   { return nil }
