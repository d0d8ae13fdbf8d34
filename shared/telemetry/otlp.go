package telemetry

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The messages of OTLP as JSON (OTLP specification, JSON Protobuf Encoding): numbers of 64
// bits are texts, ids are in hex, enumerations are numbers. Only what this package makes
// is here.

type tracesMessage struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resourceMessage `json:"resource"`
	ScopeSpans []scopeSpans    `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope scopeMessage  `json:"scope"`
	Spans []spanMessage `json:"spans"`
}

type resourceMessage struct {
	Attributes []attributeMessage `json:"attributes"`
}

type scopeMessage struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type spanMessage struct {
	TraceID    string             `json:"traceId"`
	SpanID     string             `json:"spanId"`
	TraceState string             `json:"traceState,omitempty"`
	ParentID   string             `json:"parentSpanId,omitempty"`
	Flags      uint32             `json:"flags"`
	Name       string             `json:"name"`
	Kind       trace.SpanKind     `json:"kind"` // numbered as in OTLP
	Start      unixNano           `json:"startTimeUnixNano"`
	End        unixNano           `json:"endTimeUnixNano"`
	Attributes []attributeMessage `json:"attributes"`
	Links      []linkMessage      `json:"links,omitempty"`
	Status     statusMessage      `json:"status"`
}

type linkMessage struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
	Flags   uint32 `json:"flags"`
}

type statusMessage struct {
	Code int `json:"code,omitempty"`
}

type metricsMessage struct {
	ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
}

type resourceMetrics struct {
	Resource     resourceMessage `json:"resource"`
	ScopeMetrics []scopeMetrics  `json:"scopeMetrics"`
}

type scopeMetrics struct {
	Scope   scopeMessage    `json:"scope"`
	Metrics []metricMessage `json:"metrics"`
}

type metricMessage struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Unit        string `json:"unit,omitempty"`
	Histogram   *data  `json:"histogram,omitempty"`
	Sum         *data  `json:"sum,omitempty"`
}

type data struct {
	Points      []pointMessage `json:"dataPoints"`
	Temporality int            `json:"aggregationTemporality"`
	Monotonic   bool           `json:"isMonotonic,omitempty"`
}

const (
	cumulative  = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE: sums since the start, all there is here
	statusError = 2 // STATUS_CODE_ERROR
)

// pointMessage is a point of either kind.
type pointMessage struct {
	Attributes []attributeMessage `json:"attributes"`
	Start      unixNano           `json:"startTimeUnixNano"`
	Time       unixNano           `json:"timeUnixNano"`
	Int        *int64             `json:"asInt,string,omitempty"`
	Count      *uint64            `json:"count,string,omitempty"`
	Sum        *float64           `json:"sum,omitempty"`
	Buckets    []text64           `json:"bucketCounts,omitempty"`
	Bounds     []float64          `json:"explicitBounds,omitempty"`
	Min        *float64           `json:"min,omitempty"`
	Max        *float64           `json:"max,omitempty"`
}

type attributeMessage struct {
	Key   string       `json:"key"`
	Value valueMessage `json:"value"`
}

// valueMessage is a value of one of these types.
type valueMessage struct {
	Text *string `json:"stringValue,omitempty"`
	Int  *int64  `json:"intValue,string,omitempty"`
}

// unixNano is a time in nanoseconds since 1970, as text.
type unixNano time.Time

func (t unixNano) MarshalJSON() ([]byte, error) { return text64(time.Time(t).UnixNano()).MarshalJSON() }

// text64 is a number of 64 bits as text.
type text64 uint64

func (n text64) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(n), 10)), nil
}

// tracesOf is a batch of spans, all of one resource.
func tracesOf(spans []sdktrace.ReadOnlySpan) tracesMessage {
	first := spans[0]
	all := make([]spanMessage, len(spans))
	for i, s := range spans {
		all[i] = spanOf(s)
	}
	return tracesMessage{[]resourceSpans{{resourceOf(first.Resource()), []scopeSpans{{scopeOf(first.InstrumentationScope()), all}}}}}
}

func spanOf(s sdktrace.ReadOnlySpan) spanMessage {
	self, parent := s.SpanContext(), s.Parent()
	m := spanMessage{
		TraceID: self.TraceID().String(), SpanID: self.SpanID().String(), TraceState: self.TraceState().String(),
		Flags: flagsOf(self, parent), Name: s.Name(), Kind: s.SpanKind(),
		Start: unixNano(s.StartTime()), End: unixNano(s.EndTime()),
		Attributes: attributesOf(s.Attributes()),
	}
	if parent.HasSpanID() {
		m.ParentID = parent.SpanID().String()
	}
	for _, l := range s.Links() {
		m.Links = append(m.Links, linkMessage{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), flagsOf(l.SpanContext, l.SpanContext)})
	}
	if s.Status().Code == codes.Error {
		m.Status.Code = statusError
	}
	return m
}

// flagsOf are the flags of W3C Trace Context, and whether another is remote.
func flagsOf(c, of trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	flags := uint32(c.TraceFlags()) | known
	if of.IsRemote() {
		flags |= remote
	}
	return flags
}

// metricsOf is all metrics of one resource.
func metricsOf(all *metricdata.ResourceMetrics) metricsMessage {
	out := resourceMetrics{Resource: resourceOf(all.Resource)}
	for _, s := range all.ScopeMetrics {
		metrics := scopeMetrics{Scope: scopeOf(s.Scope)}
		for _, m := range s.Metrics {
			metrics.Metrics = append(metrics.Metrics, metricOf(m))
		}
		out.ScopeMetrics = append(out.ScopeMetrics, metrics)
	}
	return metricsMessage{[]resourceMetrics{out}}
}

// metricOf knows the two kinds that this package makes.
func metricOf(m metricdata.Metrics) metricMessage {
	out := metricMessage{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch d := m.Data.(type) {
	case metricdata.Histogram[float64]:
		out.Histogram = &data{Temporality: cumulative}
		for _, p := range d.DataPoints {
			out.Histogram.Points = append(out.Histogram.Points, histogramPoint(p))
		}
	case metricdata.Sum[int64]:
		out.Sum = &data{Temporality: cumulative, Monotonic: d.IsMonotonic}
		for _, p := range d.DataPoints {
			out.Sum.Points = append(out.Sum.Points, pointMessage{
				Attributes: attributesOf(p.Attributes.ToSlice()), Start: unixNano(p.StartTime), Time: unixNano(p.Time), Int: &p.Value,
			})
		}
	}
	return out
}

func histogramPoint(p metricdata.HistogramDataPoint[float64]) pointMessage {
	out := pointMessage{
		Attributes: attributesOf(p.Attributes.ToSlice()), Start: unixNano(p.StartTime), Time: unixNano(p.Time),
		Count: &p.Count, Sum: &p.Sum, Bounds: p.Bounds,
	}
	for _, n := range p.BucketCounts {
		out.Buckets = append(out.Buckets, text64(n))
	}
	if least, ok := p.Min.Value(); ok {
		out.Min = &least
	}
	if most, ok := p.Max.Value(); ok {
		out.Max = &most
	}
	return out
}

func resourceOf(r *resource.Resource) resourceMessage {
	return resourceMessage{attributesOf(r.Attributes())}
}

func scopeOf(s instrumentation.Scope) scopeMessage { return scopeMessage{s.Name, s.Version} }

func attributesOf(attrs []attribute.KeyValue) []attributeMessage {
	out := make([]attributeMessage, len(attrs))
	for i, a := range attrs {
		out[i].Key = string(a.Key)
		if a.Value.Type() == attribute.INT64 {
			n := a.Value.AsInt64()
			out[i].Value.Int = &n
			continue
		}
		text := a.Value.String()
		out[i].Value.Text = &text
	}
	return out
}
