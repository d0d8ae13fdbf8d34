package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
)

func processID() int { return os.Getpid() }

// call is one call on its way. Its invariant: every call leaves exactly one
// last event, whatever its function does.
type call struct {
	server  *Server
	id      string
	session string
	counted string // whose calls the rate limit counts together
	effect  Effect
	started time.Time
	event   audit.Event // what begin and end have in common
	ran     bool        // the function was started
	sent    progress
	replies replies      // of a person, to what the function asks
	after   func(func()) // has something done when the response is sent; nil where nobody tells
	span    tracing.Span // of the request; nil where nobody traces
}

// extra is what a request says besides its arguments.
type extra struct {
	token mcp.ProgressToken
	again mcp.MultiRoundTripParams // the answer to what an earlier call asked
}

// waiter is a session of a transport that reads on while a call waits for something. It
// finds that out, but not for nothing; what a program does is slow beside it.
type waiter interface{ Waits() }

// sender is a session of a transport that tells when a response is sent.
type sender interface{ After(func()) }

// counted is a session of a transport that has no sessions: its calls count together with
// those of the same client.
type counted interface{ Counted() string }

type callKey struct{}

// callFrom is the call whose function runs with ctx, or nil.
func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Caller is which tool runs with ctx, and the id of the request that called it, as
// in the audit log; empty where none does.
func Caller(ctx context.Context) (tool, requestID string) {
	c := callFrom(ctx)
	if c == nil {
		return "", ""
	}
	return c.event.Tool, c.id
}

// Touches adds to the record of the call that runs with ctx a path that its arguments
// do not tell, absolute. It is for the function of a tool, not for its goroutines.
func Touches(ctx context.Context, path string) {
	if c := callFrom(ctx); c != nil {
		c.event.Paths = append(c.event.Paths, path)
	}
}

// Under names in the record of the call that runs with ctx what its verdict rests on, unless
// a refusal names a rule of its own. It is for the function of a tool, not for its goroutines.
func Under(ctx context.Context, rule string) {
	if c := callFrom(ctx); c != nil {
		c.event.Rule = rule
	}
}

// Room is an empty slice with room for n bytes, which may hold anything, for what the call
// that runs with ctx answers: others get it when that is sent. It is for the function of a
// tool, not for its goroutines.
func Room(ctx context.Context, n int) []byte {
	c := callFrom(ctx)
	if c == nil || c.after == nil {
		return make([]byte, 0, n)
	}
	b := c.server.kept.Get(n)
	c.after(func() { c.server.kept.Put(b) })
	return b
}

// Text is b as text, without a copy: of a large result, the copy would be most of the work.
// Nobody may change b as long as anybody has the text.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// call takes a tool call all the way: rate limit, decoding, begin recorded,
// function, end recorded, result. A failure is a result.
func (s *Server) call(ctx context.Context, t *Tool, args json.RawMessage, more extra) *mcp.CallToolResult {
	result, _ := s.answer(ctx, t, args, more)
	return result
}

// answer is call, for whom a failure may be more than a result.
func (s *Server) answer(ctx context.Context, t *Tool, args json.RawMessage, more extra) (*mcp.CallToolResult, *fault.Error) {
	c := s.open(ctx, t.Name, t.Effect)
	c.sent.token = more.token
	c.event.Arguments = s.masked(args, t.quiet)
	out, err := c.attempt(ctx, t, args, more.again)
	if failed := c.end(out, err); failed != nil {
		err = failed
	}
	if err != nil {
		return s.refusal(err, s.config.Clock(), c.id), err
	}
	if out.pause != nil {
		return out.pause.result(), nil
	}
	return s.result(out), nil
}

// open starts the record of a call.
func (s *Server) open(ctx context.Context, name string, effect Effect) *call {
	c := &call{server: s, id: requestID(ctx), effect: effect, started: s.config.Clock()}
	c.event = audit.Event{
		Server: s.config.Name, Version: s.config.Version, PID: s.pid,
		RequestID: c.id, Tool: name, Verdict: "allow",
	}
	if session := server.ClientSessionFromContext(ctx); session != nil {
		c.session = session.SessionID()
		c.counted = c.session
		if s, ok := session.(counted); ok {
			c.counted = s.Counted()
		}
		if s, ok := session.(sender); ok {
			c.after = s.After
		}
	}
	c.event.Session, c.event.Client = c.session, clientName(ctx)
	if s.config.Tracing != nil {
		c.span = tracing.SpanFromContext(ctx)
	}
	return c
}

// clientName is how the client calls itself; nobody has verified it.
func clientName(ctx context.Context) string {
	var client mcp.Implementation
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		client = *info.ClientInfo
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		client = session.GetClientInfo()
	}
	if client.Version == "" {
		return clip(client.Name)
	}
	return clip(client.Name + " " + client.Version)
}

func (s *Server) masked(args json.RawMessage, quiet map[string]bool) json.RawMessage {
	if s.config.Audit == nil || len(bytes.TrimSpace(args)) == 0 {
		return nil
	}
	return audit.MaskArguments(args, quiet)
}

// attempt is everything between the two events that a client can be refused by.
func (c *call) attempt(ctx context.Context, t *Tool, args json.RawMessage, again mcp.MultiRoundTripParams) (outcome, *fault.Error) {
	if err := c.server.limits.take(c.counted, c.started); err != nil {
		c.event.Verdict, c.event.Rule = "deny", "rate-limit"
		return outcome{}, err
	}
	ready, err := t.prepare(args)
	if err != nil {
		return outcome{}, fault.From(err)
	}
	for _, path := range ready.paths {
		c.event.Paths = append(c.event.Paths, c.server.config.Locate(path))
	}
	if err := c.resume(ctx, args, again); err != nil {
		return outcome{}, err
	}
	if err := c.begin(); err != nil {
		return outcome{}, err
	}
	return guarded(func() (outcome, error) {
		c.ran = true
		if session, ok := server.ClientSessionFromContext(ctx).(waiter); ok && c.effect == Runs {
			session.Waits()
		}
		defer c.sent.close()
		out, err := ready.run(context.WithValue(ctx, callKey{}, c))
		if p, ok := errors.AsType[*pause](err); ok {
			return outcome{pause: p}, nil
		}
		return out, err
	})
}

// guarded runs a function of ours so that its panic is an error with the stack
// as its cause, and any error one of the table.
func guarded[T any](run func() (T, error)) (out T, failed *fault.Error) {
	defer func() {
		if r := recover(); r != nil {
			var zero T
			out, failed = zero, fault.From(fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	out, err := run()
	return out, fault.From(err)
}

// begin records the intent of what writes or runs. Where the record is
// required and fails, nothing is started.
func (c *call) begin() *fault.Error {
	if c.effect == Reads || c.server.config.Audit == nil {
		return nil
	}
	e := c.event
	e.Outcome, e.Time = "begin", c.started
	return c.record(e)
}

// end records how the call ended. Where the record is required and fails, what
// was read is withheld; what was written or run has happened, and is told.
func (c *call) end(out outcome, err *fault.Error) *fault.Error {
	e := c.event
	now := c.server.config.Clock()
	e.Time, e.DurationMS = now, float64(now.Sub(c.started))/float64(time.Millisecond)
	e.Outcome, e.Bytes = "ok", out.bytes
	if out.pause != nil {
		e.Verdict, e.Rule, e.Cause = "ask", "confirm", out.pause.question.name()
	}
	if err != nil {
		c.describe(&e, err)
	}
	failed := c.record(e)
	if failed != nil && c.effect == Reads && err == nil {
		e.Outcome, e.Code = "error", string(failed.Code)
	} else {
		failed = nil
	}
	c.trace(e)
	return failed
}

// describe writes a failure into an event.
func (c *call) describe(e *audit.Event, err *fault.Error) {
	e.Code, e.Outcome = string(err.Code), "error"
	switch err.Code.Category() {
	case "SECURITY", "AUTH":
		e.Verdict = "deny"
	}
	if e.Verdict == "deny" || !c.ran {
		e.Outcome = "refused"
	}
	if rule, ok := err.Details["rule"].(string); ok {
		e.Rule = rule
	}
	if err.Err != nil {
		e.Cause = err.Err.Error()
	}
	if err.Code == fault.Internal {
		c.server.config.Log.Error("a call met a fault of the server", "tool", e.Tool, "request_id", e.RequestID)
		c.server.config.Log.Debug("its cause", "request_id", e.RequestID, "cause", e.Cause) // may hold what the tool worked on
	}
}

// record stores an event; nil also where it failed and is not required.
func (c *call) record(e audit.Event) *fault.Error {
	s := c.server
	if s.config.Audit == nil {
		return nil
	}
	err := s.config.Audit.Record(e)
	if err == nil {
		return nil
	}
	s.config.Log.Error("an audit event could not be stored", "tool", e.Tool, "request_id", e.RequestID, "cause", err)
	if !s.config.AuditRequired {
		return nil
	}
	return fault.New(fault.Unavailable, "the audit log cannot be written, and this server does nothing unrecorded", "Ask the person who runs this server to check its audit log").Because(err)
}

// refuseUnknown records and answers a call of a tool that is not offered.
func (s *Server) refuseUnknown(ctx context.Context, name string, args json.RawMessage) *mcp.CallToolResult {
	c := s.open(ctx, clip(name), Reads)
	c.event.Arguments = s.masked(args, nil)
	err := s.config.Vocabulary.absent(name)
	c.end(outcome{}, err)
	return s.refusal(err, s.config.Clock(), c.id)
}
