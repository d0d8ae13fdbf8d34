package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Tracing follows requests. Its spans are handed more than may leave the machine, by
// mcp-go above all; what leaves is for it to choose.
type Tracing interface {
	tracing.Tracer
	tracing.Propagator
	tracing.MetaPropagator
}

// By these names the span of a request is told about the call in it; the tool only where
// there is one of that name.
const (
	TracedTool    = "mcp.tool.name" // mcp-go's
	TracedOutcome = "outcome"       // as in the audit log
	TracedCode    = "code"          // of the table of errors; also where the request itself is refused
	TracedBytes   = "bytes"         // as in the audit log
)

// traceOptions let mcp-go begin a span for each request.
func (c Config) traceOptions() []server.ServerOption {
	if c.Tracing == nil {
		return nil
	}
	return []server.ServerOption{server.WithTracer(c.Tracing), server.WithPropagator(c.Tracing), server.WithMetaPropagator(c.Tracing)}
}

// TraceOf is ctx with the caller's trace as the head of an HTTP request tells it.
func (s *Server) TraceOf(ctx context.Context, head http.Header) context.Context {
	if s.config.Tracing == nil {
		return ctx
	}
	return s.config.Tracing.Extract(ctx, head)
}

// traceCall is a call that no request brought, as its span has it.
func (s *Server) traceCall(ctx context.Context, t *Tool, args json.RawMessage) *mcp.CallToolResult {
	if s.config.Tracing == nil {
		return s.call(ctx, t, args, extra{})
	}
	ctx, span := s.config.Tracing.Start(ctx, "mcp."+string(mcp.MethodToolsCall), tracing.SpanKindServer)
	defer span.End()
	span.SetAttributes(tracing.String(TracedTool, t.Name))
	result := s.call(ctx, t, args, extra{})
	if result.IsError {
		span.SetStatus(tracing.StatusError, "")
	}
	return result
}

// trace tells the span of the request how the call ended.
func (c *call) trace(e audit.Event) {
	if c.span == nil {
		return
	}
	c.span.SetAttributes(tracing.String(TracedOutcome, e.Outcome), tracing.String(TracedCode, e.Code),
		tracing.String(TracedBytes, strconv.FormatInt(e.Bytes, 10)))
}

// traceError tells the span of a request why the request itself is refused.
func (s *Server) traceError(ctx context.Context, err error) {
	if s.config.Tracing == nil {
		return
	}
	code := fault.Code("")
	if known, ok := errors.AsType[*fault.Error](err); ok {
		code = known.Code
	} else if errors.Is(err, server.ErrToolNotFound) {
		code = s.config.Vocabulary.absent(plainText(messageFrom(ctx).name)).Code
	}
	tracing.SpanFromContext(ctx).SetAttributes(tracing.String(TracedCode, string(code)))
}
