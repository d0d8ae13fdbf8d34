package telemetry

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// message is a message of OTLP as JSON (OTLP specification, JSON Protobuf Encoding): numbers
// of 64 bits are texts, ids are in hex, enumerations are numbers. Only what this package makes
// is here.
type message = map[string]any

const (
	cumulative  = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE: sums since the start, all there is here
	statusError = 2 // STATUS_CODE_ERROR
)

// nanos is a time in nanoseconds since 1970.
func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// flagsOf are the flags of W3C Trace Context, and whether another is remote.
func flagsOf(c, of trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	flags := uint32(c.TraceFlags()) | known
	if of.IsRemote() {
		flags |= remote
	}
	return flags
}

// dataOf is the data of a metric of the two kinds that this package makes, and the name of
// the kind.
func dataOf(data metricdata.Aggregation) (kind string, _ message) {
	points := []message{}
	if d, ok := data.(metricdata.Sum[int64]); ok {
		for _, p := range d.DataPoints {
			point := pointOf(p.Attributes, p.StartTime, p.Time)
			point["asInt"] = strconv.FormatInt(p.Value, 10)
			points = append(points, point)
		}
		return "sum", message{"aggregationTemporality": cumulative, "isMonotonic": d.IsMonotonic, "dataPoints": points}
	}
	d, _ := data.(metricdata.Histogram[float64])
	for _, p := range d.DataPoints {
		point := pointOf(p.Attributes, p.StartTime, p.Time)
		point["count"], point["sum"], point["explicitBounds"] = strconv.FormatUint(p.Count, 10), p.Sum, p.Bounds
		buckets := make([]string, len(p.BucketCounts))
		for i, n := range p.BucketCounts {
			buckets[i] = strconv.FormatUint(n, 10)
		}
		point["bucketCounts"] = buckets
		if least, ok := p.Min.Value(); ok {
			point["min"] = least
		}
		if most, ok := p.Max.Value(); ok {
			point["max"] = most
		}
		points = append(points, point)
	}
	return "histogram", message{"aggregationTemporality": cumulative, "dataPoints": points}
}

// pointOf is what a point of either kind has.
func pointOf(attrs attribute.Set, start, now time.Time) message {
	return message{"attributes": attributesOf(attrs.ToSlice()), "startTimeUnixNano": nanos(start), "timeUnixNano": nanos(now)}
}

func resourceOf(r *resource.Resource) message {
	return message{"attributes": attributesOf(r.Attributes())}
}

func scopeOf(s instrumentation.Scope) message { return message{"name": s.Name, "version": s.Version} }

func attributesOf(attrs []attribute.KeyValue) []message {
	all := make([]message, len(attrs))
	for i, a := range attrs {
		value := message{"stringValue": a.Value.String()}
		if a.Value.Type() == attribute.INT64 {
			value = message{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		}
		all[i] = message{"key": string(a.Key), "value": value}
	}
	return all
}
