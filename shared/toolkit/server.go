package toolkit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/rpc"
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

// Server answers MCP for one vocabulary. Its methods may be called by many
// goroutines at once.
type Server struct {
	config Config
	mcp    *server.MCPServer
	limits *limits
	roots  *rootsMemory
	states *states
	pid    int
	kept   rpc.Buffers // of results

	watching watching
}

// NewServer registers the vocabulary's tools. What contradicts itself is
// Misconfigured: two tools of one name, a required audit without a log.
func NewServer(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.fillIn()
	s := &Server{config: c, limits: newLimits(c.Rate), roots: newRootsMemory(), states: newStates(), pid: processID()}
	s.mcp = server.NewMCPServer(c.Name, c.Version, s.options()...)
	for i := range c.Vocabulary.Tools {
		t := &c.Vocabulary.Tools[i]
		s.mcp.AddTool(t.definition(c.TextOnly), s.handler(t))
	}
	if c.Resources != nil {
		s.mcp.AddResourceTemplate(c.Resources.template(), s.readResource)
		if c.Resources.Watch != nil {
			c.Resources.Watch(s.changed)
		}
	}
	s.mcp.AddNotificationHandler(mcp.MethodNotificationRootsListChanged, s.rootsChanged)
	return s, nil
}

func (c Config) check() error {
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
	if c.Resources != nil {
		return c.Resources.check()
	}
	return nil
}

func misconfigured(what string) error {
	return fault.New(fault.Misconfigured, what, "Correct the server's configuration")
}

func (c *Config) fillIn() {
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
}

// options never announce changes of lists: the tools are the same for as long
// as the server lives. There is no logging, which 2026-07-28 deprecates.
func (s *Server) options() []server.ServerOption {
	c := s.config
	all := append(c.traceOptions(),
		server.WithTitle(c.Title),
		server.WithInstructions(c.Instructions),
		server.WithToolCapabilities(false),
		server.WithHooks(s.noteErrors()),
	)
	if c.Resources != nil {
		all = append(all, server.WithResourceCapabilities(c.Resources.Watch != nil, false))
	}
	if c.Resources != nil && c.Resources.Complete != nil {
		all = append(all, server.WithCompletions(), server.WithResourceCompletionProvider(completer{s}))
	}
	return all
}

// MCP is the server beneath, for transports that need it. Its HandleMessage has
// the same guards, but not the wording of protocol errors.
func (s *Server) MCP() *server.MCPServer { return s.mcp }

// Tools lists what is offered, in the order of the vocabulary.
func (s *Server) Tools() []Tool { return slices.Clone(s.config.Vocabulary.Tools) }

// RegisterSession makes a client's session known.
func (s *Server) RegisterSession(ctx context.Context, session server.ClientSession) error {
	s.watching.add(session)
	return s.mcp.RegisterSession(ctx, session)
}

// UnregisterSession forgets all that was remembered of a session.
func (s *Server) UnregisterSession(ctx context.Context, id string) {
	s.mcp.UnregisterSession(ctx, id)
	s.limits.forget(id)
	s.roots.forget(id)
	s.watching.forget(id)
}

// WithContext ties a context to a session.
func (s *Server) WithContext(ctx context.Context, session server.ClientSession) context.Context {
	return s.mcp.WithContext(ctx, session)
}

// Call runs a tool outside of MCP, as from a command line: with the same
// guards, the same record, the same result.
func (s *Server) Call(ctx context.Context, tool string, args json.RawMessage) *mcp.CallToolResult {
	t, ok := s.config.Vocabulary.find(tool)
	if !ok {
		return s.refuseUnknown(ctx, tool, args)
	}
	return s.traceCall(ctx, t, args)
}

func (s *Server) handler(t *Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		more := extra{again: r.Params.MultiRoundTripParams}
		if r.Params.Meta != nil {
			more.token = r.Params.Meta.ProgressToken
		}
		result, failed := s.answer(ctx, t, arguments(ctx, r), more)
		if failed != nil && errors.Is(failed, errForged) {
			return nil, failed
		}
		return result, nil
	}
}

// requestID is the name of the request, or a random one.
func requestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok && id != "" {
		return id
	}
	return rand.Text()
}
