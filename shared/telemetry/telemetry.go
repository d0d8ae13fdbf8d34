// Package telemetry tells an OpenTelemetry collector of calls: a span and metrics of
// each (OTLP over HTTP, as JSON).
//
// It refuses to tell what a call was about. What leaves is a name of a method or a tool
// that this server has, a code and an outcome of ours, numbers, and the caller's trace
// context; whatever else it is handed – arguments, paths, messages, names that a client
// made up – it drops. It refuses to make anybody wait: what is told stands in bounded
// memory until it is sent, and is dropped where the collector is away or slow. And it
// refuses to connect to anything but the collector it was given.
package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options describe the server to the collector.
type Options struct {
	Server, Version string
	Transport       string // "pipe" or "tcp": network.transport of OpenTelemetry
	Log             *slog.Logger
}

// Telemetry is what mcp-go traces by. Nothing is sent before the first call.
type Telemetry struct {
	transport string
	tracer    trace.Tracer
	context   propagation.TraceContext // of the caller; baggage is not taken
	duration  metric.Float64Histogram
	content   metric.Int64Counter
	spans     *sdktrace.TracerProvider
	metrics   *sdkmetric.MeterProvider
}

// parting is how long the end of a server may take for what was not sent yet.
const parting = 500 * time.Millisecond

// boundaries of durations, in seconds: those that the conventions for MCP recommend, and
// finer ones below, where most calls of a local server are.
var boundaries = []float64{
	0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005,
	0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
}

// Open makes a Telemetry that sends to a collector.
func Open(to *Collector, o Options) (*Telemetry, error) {
	to.log = o.Log
	of := resource.NewSchemaless(
		attribute.String("service.name", o.Server),
		attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", rand.Text()),
		attribute.String("telemetry.sdk.language", "go"),
		attribute.String("telemetry.sdk.name", "opentelemetry"),
		attribute.String("telemetry.sdk.version", sdk.Version()),
	)
	t := &Telemetry{transport: o.Transport}
	t.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(of), sdktrace.WithBatcher(spanExporter{to}))
	t.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(of), sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{to})))
	t.tracer = t.spans.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	meter := t.metrics.Meter(scope, metric.WithInstrumentationVersion(o.Version))
	var err, wrong error
	t.duration, err = meter.Float64Histogram("mcp.server.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("How long a request took"), metric.WithExplicitBucketBoundaries(boundaries...))
	t.content, wrong = meter.Int64Counter("mcp_server.content.io", metric.WithUnit("By"),
		metric.WithDescription("Content that calls read or wrote"))
	return t, errors.Join(err, wrong)
}

// scope names what made the spans and metrics.
const scope = "github.com/multiollama/mcp-server/shared/telemetry"

// Close sends what is left, as far as that is quickly done.
func (t *Telemetry) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { _ = t.metrics.Shutdown(ctx) }) // the Collector has logged what was not sent
	both.Go(func() { _ = t.spans.Shutdown(ctx) })
	both.Wait()
	return nil
}
