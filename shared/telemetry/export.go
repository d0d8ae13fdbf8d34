package telemetry

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter and metricExporter hand to a collector what the SDK has gathered. Their
// failures are told by the collector, once; the SDK would tell each.

type spanExporter struct{ to *Collector }

// ExportSpans tries again where that may help: what does not fit into the SDK's queue
// meanwhile is dropped there.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) > 0 {
		e.to.deliver(ctx, "v1/traces", tracesOf(spans), true)
	}
	return nil
}

func (spanExporter) Shutdown(context.Context) error { return nil }

type metricExporter struct{ to *Collector }

// Export tries once: metrics are sums since the start, and the next ones hold these.
func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	if len(all.ScopeMetrics) > 0 {
		e.to.deliver(ctx, "v1/metrics", metricsOf(all), false)
	}
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
