package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// By these names leaves what the conventions for MCP have no name for.
const (
	outcomeKey = "mcp_server.outcome"    // ok, error or refused, as in the audit log
	codeKey    = "mcp_server.error.code" // of the table of errors
	bytesKey   = "mcp_server.bytes"      // of content that was read or written
)

// operation is a request on its way. Its methods are called by the goroutine that answers
// the request.
type operation struct {
	of                    *Telemetry
	span                  trace.Span
	started               time.Time
	method, tool, version string
	outcome, code         string
	bytes                 int64
	failed                bool
}

var (
	_ toolkit.Tracing = (*Telemetry)(nil)
	_ tracing.Span    = (*operation)(nil)
)

// Start begins the span of a request. The span that mcp-go asks for around the tool within
// it is the same one: a call is one span.
func (t *Telemetry) Start(ctx context.Context, name string, kind tracing.SpanKind, _ ...tracing.Attribute) (context.Context, tracing.Span) {
	if kind != tracing.SpanKindServer {
		return ctx, within{tracing.SpanFromContext(ctx)}
	}
	o := &operation{of: t, started: time.Now(), method: methodOf(strings.TrimPrefix(name, "mcp."))}
	if v := server.RequestProtocolVersion(ctx); mcp.IsValidProtocolVersion(v) {
		o.version = v
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(o.started)}
	if ambient, ok := ctx.Value(ambientKey{}).(trace.SpanContext); ok {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: ambient}))
	}
	ctx, o.span = t.tracer.Start(ctx, o.method, options...)
	return tracing.ContextWithSpan(ctx, o), o
}

// within is a part of a request that is no span of its own.
type within struct{ tracing.Span }

func (within) End() {}

// SetAttributes takes what is known to be harmless.
func (o *operation) SetAttributes(attrs ...tracing.Attribute) {
	for _, a := range attrs {
		switch a.Key {
		case toolkit.TracedTool:
			o.tool = a.Value // mcp-go sets it only for a tool that there is
		case toolkit.TracedOutcome:
			o.outcome = a.Value
		case toolkit.TracedCode:
			o.code = a.Value
		case toolkit.TracedBytes:
			o.bytes, _ = strconv.ParseInt(a.Value, 10, 64)
		}
	}
}

// RecordError drops the error: its text may come from anybody.
func (o *operation) RecordError(error) { o.failed = true }

// SetStatus drops the text.
func (o *operation) SetStatus(code tracing.StatusCode, _ string) {
	o.failed = o.failed || code == tracing.StatusError
}

// End ends the span and records its metrics.
func (o *operation) End() {
	now := time.Now()
	kind := ""
	switch {
	case !o.failed:
	case o.tool != "":
		kind = "tool_error"
	case o.code != "":
		kind = o.code
	default:
		kind = other
	}

	// The attributes of the OpenTelemetry conventions for MCP, and after them our own.
	attrs := []attribute.KeyValue{attribute.String("mcp.method.name", o.method)}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	if o.tool != "" {
		add("gen_ai.operation.name", "execute_tool")
	}
	add("gen_ai.tool.name", o.tool)
	add("error.type", kind)
	add("mcp.protocol.version", o.version)
	add("network.transport", o.of.transport)
	add(outcomeKey, o.outcome)
	add(codeKey, o.code)

	ctx := context.Background() // the SDK takes only exemplars from it, and there are none here
	if o.tool != "" {
		o.span.SetName(o.method + " " + o.tool)
		o.of.content.Add(ctx, o.bytes, metric.WithAttributes(attribute.String("gen_ai.tool.name", o.tool)))
	}
	o.of.duration.Record(ctx, now.Sub(o.started).Seconds(), metric.WithAttributes(attrs...))
	if o.failed {
		o.span.SetStatus(codes.Error, "")
	}
	o.span.SetAttributes(append(attrs, attribute.Int64(bytesKey, o.bytes))...)
	o.span.End(trace.WithTimestamp(now))
}

// other is what OpenTelemetry calls what has no name of its own.
const other = "_OTHER"

// methodOf is the name of a method that there is: a client can send any other word.
func methodOf(name string) string {
	switch mcp.MCPMethod(name) {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodServerDiscover, mcp.MethodSubscriptionsListen,
		mcp.MethodToolsList, mcp.MethodToolsCall,
		mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
		mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodSetLogLevel, mcp.MethodCompletionComplete:
		return name
	}
	return other
}

type ambientKey struct{}

// Extract takes the trace context of an HTTP request. mcp-go asks again after the message
// was read, without headers, which changes nothing.
func (t *Telemetry) Extract(ctx context.Context, headers http.Header) context.Context {
	return t.context.Extract(ctx, propagation.HeaderCarrier(headers))
}

// ExtractMeta takes the trace context of a message (SEP-414), which is the parent also
// where the HTTP request that brought it has another; that one is then a link.
func (t *Telemetry) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	if meta == nil {
		return ctx
	}
	carrier := propagation.MapCarrier{}
	for _, key := range t.context.Fields() {
		if text, ok := meta.AdditionalFields[key].(string); ok {
			carrier[key] = text
		}
	}
	with := t.context.Extract(ctx, carrier)
	ambient := trace.SpanContextFromContext(ctx)
	if !ambient.IsValid() || ambient.Equal(trace.SpanContextFromContext(with)) {
		return with
	}
	return context.WithValue(with, ambientKey{}, ambient)
}

// Inject and InjectMeta tell nobody: a server of ours calls no other.
func (t *Telemetry) Inject(context.Context, http.Header) {}

// InjectMeta leaves meta as it is.
func (t *Telemetry) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }
