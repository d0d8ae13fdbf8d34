package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"
	"unsafe"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
)

// call is one call on its way. Its invariant: every call leaves exactly one
// last event, whatever its function does.
type call struct {
	server    *Server
	id        string
	session   string
	counted   string // whose calls the rate limit counts together
	effect    Effect
	started   time.Time
	args      jsonx.Value
	malformed error       // what is wrong with the arguments
	event     audit.Event // what begin and end have in common
	ran       bool        // the function was started
	sent      progress
	replies   replies      // of a person, to what the function asks
	span      tracing.Span // of the request; nil where nobody traces
}

// extra is what a request says besides its arguments.
type extra struct {
	token mcp.ProgressToken
	again mcp.MultiRoundTripParams // the answer to what an earlier call asked
}

// waiter is a session of a transport that reads on while a call waits for something. It
// finds that out, but not for nothing; what a program does is slow beside it.
type waiter interface{ Waits() }

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

// Text is b as text, without a copy: of a large result, the copy would be most of the work.
// Nobody may change b as long as anybody has the text.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// call takes a tool call all the way. A failure is a result; the error beside it says which.
func (s *Server) call(ctx context.Context, t *Tool, raw json.RawMessage, more extra) (result *mcp.CallToolResult, err error) {
	c := s.open(ctx, t.Name, t.Effect, raw, t.quiet)
	c.sent.token = more.token
	var out outcome
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
		err = c.end(out, err)
		switch {
		case err != nil:
			result = s.refusal(err, c.id)
		case out.pause != nil:
			result = out.pause.result()
		default:
			result = s.result(out)
		}
	}()

	if err := c.limit(); err != nil {
		return nil, err
	}
	if c.malformed != nil {
		return nil, c.malformed
	}
	ready, err := t.prepare(c.args)
	if err != nil {
		return nil, err
	}
	for _, path := range ready.paths {
		c.event.Paths = append(c.event.Paths, s.config.Locate(path))
	}

	// The answer to a question of an earlier call counts before anything of this one runs. A
	// state that is not exactly what was given out for this call is refused, whether or not
	// the tool would ask.
	if again := more.again; server.IsModernRequest(ctx) && again.RequestState != "" {
		st, err := s.states.take(s.config.Clock(), again.RequestState, c.identity())
		if err != nil {
			c.event.Rule = "confirm:state"
			return nil, err
		}
		for _, question := range st.agreed {
			c.replies.keep(question, reply{answer: agreed})
		}
		c.replies.keep(st.asked, replyOf(server.ElicitationResponse(again.InputResponses, questionKey)))
	}

	// The intent of what writes or runs is recorded. Where the record is required and
	// fails, nothing is started.
	if c.effect != Reads {
		e := c.event
		e.Outcome, e.Time = "begin", c.started
		if err := c.record(e); err != nil {
			return nil, err
		}
	}

	c.ran = true
	if session, ok := server.ClientSessionFromContext(ctx).(waiter); ok && c.effect == Runs {
		session.Waits()
	}
	defer c.sent.close()
	out, err = ready.run(context.WithValue(ctx, callKey{}, c))
	if p, ok := errors.AsType[*pause](err); ok {
		out, err = outcome{pause: p}, nil
	}
	return nil, err
}

// open starts the record of a call. In quiet are the parameters whose values are not recorded.
func (s *Server) open(ctx context.Context, name string, effect Effect, raw json.RawMessage, quiet map[string]bool) *call {
	c := &call{server: s, id: requestID(ctx), effect: effect, started: s.config.Clock()}
	c.args, c.malformed = readArguments(raw)
	c.event = audit.Event{
		Server: s.config.Name, Version: s.config.Version, PID: s.pid,
		RequestID: c.id, Tool: name, Verdict: "allow",
	}
	if s.config.Audit != nil {
		c.event.Arguments = audit.MaskValue(c.args, raw, quiet)
	}

	// What is known of the client. How it calls itself nobody has verified.
	session := server.ClientSessionFromContext(ctx)
	if session != nil {
		c.session = session.SessionID()
		c.counted = c.session
		if s, ok := session.(counted); ok {
			c.counted = s.Counted()
		}
	}
	var client mcp.Implementation
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		client = *info.ClientInfo
	} else if known, ok := session.(server.SessionWithClientInfo); ok {
		client = known.GetClientInfo()
	}
	c.event.Session, c.event.Client = c.session, client.Name
	if client.Version != "" {
		c.event.Client += " " + client.Version
	}
	c.event.Client = clip(c.event.Client)

	if s.config.Tracing != nil {
		c.span = tracing.SpanFromContext(ctx)
	}
	return c
}

// panicked is the error of a call whose function panicked, with the stack as its cause.
func panicked(r any) error { return fmt.Errorf("panic: %v\n%s", r, debug.Stack()) }

// limit refuses a call that is one too many for its client.
func (c *call) limit() error {
	err := c.server.limits.take(c.counted, c.started)
	if err != nil {
		c.event.Verdict, c.event.Rule = "deny", "rate-limit"
	}
	return err
}

// end records how the call ended, and returns its error as one of the table. Where the record
// is required and fails, what was read is withheld; what was written or run has happened, and
// is reported.
func (c *call) end(out outcome, err error) error {
	e := c.event
	now := c.server.config.Clock()
	e.Time, e.DurationMS = now, float64(now.Sub(c.started))/float64(time.Millisecond)
	e.Outcome, e.Bytes = "ok", out.bytes
	if out.pause != nil {
		e.Verdict, e.Rule, e.Cause = "ask", "confirm", out.pause.question.name()
	}

	if known := fault.From(err); known != nil {
		err = known
		e.Code, e.Outcome = string(known.Code), "error"
		if category := known.Code.Category(); category == "SECURITY" || category == "AUTH" {
			e.Verdict = "deny"
		}
		if e.Verdict == "deny" || !c.ran {
			e.Outcome = "refused"
		}
		if rule, ok := known.Details["rule"].(string); ok {
			e.Rule = rule
		}
		if known.Err != nil {
			e.Cause = known.Err.Error()
		}
		if log := c.server.config.Log; known.Code == fault.Internal {
			log.Error("a call met a fault of the server", "tool", e.Tool, "request_id", e.RequestID)
			log.Debug("its cause", "request_id", e.RequestID, "cause", e.Cause) // may hold what the tool worked on
		}
	}

	if failed := c.record(e); failed != nil && c.effect == Reads && err == nil {
		err = failed
		e.Outcome, e.Code = "error", string(fault.From(failed).Code)
	}
	if c.span != nil {
		c.span.SetAttributes(tracing.String(TracedOutcome, e.Outcome), tracing.String(TracedCode, e.Code),
			tracing.String(TracedBytes, strconv.FormatInt(e.Bytes, 10)))
	}
	return err
}

// record stores an event; nil also where it failed and is not required.
func (c *call) record(e audit.Event) error {
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
	do := "Ask the person who runs this server to check its audit log"
	return fault.New(fault.Unavailable, "the audit log cannot be written, and this server does nothing unrecorded", do).Because(err)
}

// refuseUnknown records and answers a call of a tool that is not offered.
func (s *Server) refuseUnknown(ctx context.Context, name string, args json.RawMessage) *mcp.CallToolResult {
	c := s.open(ctx, clip(name), Reads, args, nil)
	return s.refusal(c.end(outcome{}, s.config.Vocabulary.absent(name)), c.id)
}
