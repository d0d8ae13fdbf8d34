package toolkit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"
	"golang.org/x/time/rate"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Config is all a server is made of.
type Config struct {
	Name, Version, Title string
	Instructions         string // for models, on how to use the tools together
	Vocabulary           Vocabulary
	TextOnly             bool // results as text only: no structuredContent, no outputSchema
	Rate                 Rate
	Audit                audit.Recorder // nil records nothing
	AuditRequired        bool           // what cannot be recorded is refused
	Locate               func(string) string
	Clock                func() time.Time // nil is time.Now
	Resources            *Resources       // nil for none
	Log                  *slog.Logger     // diagnostics for the operator; nil for none
	Tracing              Tracing          // nil for none
}

// Tracing follows requests. Its spans are handed more than may leave the machine, by
// mcp-go above all; what leaves is for it to choose.
type Tracing interface {
	tracing.Tracer
	tracing.Propagator
	tracing.MetaPropagator
}

// The attributes of the span of a request that describe the call in it; the tool only where
// there is one of that name.
const (
	TracedTool    = "mcp.tool.name" // mcp-go's
	TracedOutcome = "outcome"       // as in the audit log
	TracedCode    = "code"          // of the table of errors; also where the request itself is refused
	TracedBytes   = "bytes"         // as in the audit log
)

// Server answers MCP for one vocabulary. Its methods may be called by many
// goroutines at once.
type Server struct {
	config Config
	mcp    *server.MCPServer
	limits *limits
	roots  sync.Map // *sessionRoots by session
	states *states
	pid    int

	watching sync.Map // the sessions that may have subscribed to resources, by id
}

// NewServer registers the vocabulary's tools. What contradicts itself is
// Misconfigured: two tools of one name, a required audit without a log.
func NewServer(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Locate == nil {
		c.Locate = func(path string) string { return path }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Vocabulary.Tools = slices.Clone(c.Vocabulary.Tools)
	s := &Server{
		config: c, pid: os.Getpid(),
		limits: &limits{rate: c.Rate, sessions: map[string]*rate.Limiter{}},
		states: &states{open: map[number]time.Time{}},
	}
	rand.Read(s.states.key[:]) // never fails (crypto/rand)

	// Changes of lists are never announced: the tools are the same for as long as the server
	// lives. There is no logging, which 2026-07-28 deprecates.
	var options []server.ServerOption
	if c.Tracing != nil {
		options = append(options, server.WithTracer(c.Tracing), server.WithPropagator(c.Tracing), server.WithMetaPropagator(c.Tracing))
	}
	options = append(options, server.WithTitle(c.Title), server.WithInstructions(c.Instructions),
		server.WithToolCapabilities(false), server.WithHooks(s.noteErrors()))
	if r := c.Resources; r != nil {
		options = append(options, server.WithResourceCapabilities(r.Watch != nil, false))
		if r.Complete != nil {
			options = append(options, server.WithCompletions(), server.WithResourceCompletionProvider(completer{s}))
		}
	}
	s.mcp = server.NewMCPServer(c.Name, c.Version, options...)

	for i := range c.Vocabulary.Tools {
		t := &c.Vocabulary.Tools[i]
		s.mcp.AddTool(t.definition(c.TextOnly), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			more := extra{again: r.Params.MultiRoundTripParams}
			if r.Params.Meta != nil {
				more.token = r.Params.Meta.ProgressToken
			}
			result, err := s.call(ctx, t, arguments(ctx, r), more)
			if errors.Is(err, errForged) {
				return nil, err
			}
			return result, nil
		})
	}
	if r := c.Resources; r != nil {
		template := mcp.NewResourceTemplate(r.URITemplate, r.Name, mcp.WithTemplateTitle(r.Title), mcp.WithTemplateDescription(r.Doc))
		s.mcp.AddResourceTemplate(template, s.readResource)
		if r.Watch != nil {
			r.Watch(s.changed)
		}
	}
	s.mcp.AddNotificationHandler(mcp.MethodNotificationRootsListChanged, s.rootsChanged)
	return s, nil
}

func (c Config) check() error {
	misconfigured := func(what string) error {
		return fault.New(fault.Misconfigured, what, "Correct the server's configuration")
	}
	var names []string
	for _, t := range c.Vocabulary.Tools {
		if t.prepare == nil {
			return misconfigured(fmt.Sprintf("the tool %q was not made by New", t.Name))
		}
		if slices.Contains(names, t.Name) {
			return misconfigured(fmt.Sprintf("vocabulary %q has two tools named %q", c.Vocabulary.Name, t.Name))
		}
		names = append(names, t.Name)
	}
	switch {
	case c.Name == "":
		return misconfigured("the server has no name")
	case len(names) == 0:
		return misconfigured(fmt.Sprintf("vocabulary %q offers no tool", c.Vocabulary.Name))
	case c.AuditRequired && c.Audit == nil:
		return misconfigured("an audit log is required and there is none")
	case c.Rate != (Rate{}) && !c.Rate.limits():
		return misconfigured("the rate limit is not a number of calls in a span of time")
	}
	if r := c.Resources; r != nil {
		var t mcp.URITemplate
		if err := t.UnmarshalJSON(mustJSON(r.URITemplate)); err != nil || r.URITemplate == "" {
			return misconfigured("the resource template " + quote(r.URITemplate) + " is not well-formed")
		}
		if r.Name == "" || r.Read == nil {
			return misconfigured("the resource template has no name or nothing that reads it")
		}
	}
	return nil
}

// MCP is the server of mcp-go, for transports that need it. Its HandleMessage has
// the same guards, but not the wording of protocol errors.
func (s *Server) MCP() *server.MCPServer { return s.mcp }

// Tools lists what is offered, in the order of the vocabulary.
func (s *Server) Tools() []Tool { return slices.Clone(s.config.Vocabulary.Tools) }

// RegisterSession makes a client's session known.
func (s *Server) RegisterSession(ctx context.Context, session server.ClientSession) error {
	if subscriber, ok := session.(server.SessionWithResourceSubscriptions); ok {
		s.watching.Store(session.SessionID(), subscriber)
	}
	return s.mcp.RegisterSession(ctx, session)
}

// UnregisterSession forgets all that was remembered of a session.
func (s *Server) UnregisterSession(ctx context.Context, id string) {
	s.mcp.UnregisterSession(ctx, id)
	s.limits.forget(id)
	s.roots.Delete(id)
	s.watching.Delete(id)
}

// WithContext ties a context to a session.
func (s *Server) WithContext(ctx context.Context, session server.ClientSession) context.Context {
	return s.mcp.WithContext(ctx, session)
}

// TraceOf is ctx with the caller's trace as the head of an HTTP request tells it.
func (s *Server) TraceOf(ctx context.Context, head http.Header) context.Context {
	if s.config.Tracing == nil {
		return ctx
	}
	return s.config.Tracing.Extract(ctx, head)
}

// Call runs a tool outside of MCP, as from a command line: with the same
// guards, the same record, the same result.
func (s *Server) Call(ctx context.Context, tool string, args json.RawMessage) *mcp.CallToolResult {
	t, ok := s.config.Vocabulary.find(tool)
	if !ok {
		return s.refuseUnknown(ctx, tool, args)
	}
	if s.config.Tracing == nil {
		result, _ := s.call(ctx, t, args, extra{})
		return result
	}
	ctx, span := s.config.Tracing.Start(ctx, "mcp."+string(mcp.MethodToolsCall), tracing.SpanKindServer)
	defer span.End()
	span.SetAttributes(tracing.String(TracedTool, t.Name))
	result, _ := s.call(ctx, t, args, extra{})
	if result.IsError {
		span.SetStatus(tracing.StatusError, "")
	}
	return result
}

type requestIDKey struct{}

// WithRequestID names the request a call belongs to, for the error envelope and
// the audit log. Without it a call gets a random name.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// requestID is the name of the request, or a random one.
func requestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok && id != "" {
		return id
	}
	return rand.Text()
}
