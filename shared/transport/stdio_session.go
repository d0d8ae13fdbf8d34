package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// clientSession is the id of the one client there is.
const clientSession = "stdio"

// stdioSession is the client as handlers see it. Each request gets one of its own,
// made of what the connection knows, and its own queue of notifications.
type stdioSession struct {
	session
	conn *conn
	call *call // whose notifications these are; nil for the client's own session
}

var (
	_ server.SessionWithLogging               = (*stdioSession)(nil)
	_ server.SessionWithClientInfo            = (*stdioSession)(nil)
	_ server.SessionWithElicitation           = (*stdioSession)(nil)
	_ server.SessionWithRoots                 = (*stdioSession)(nil)
	_ server.SessionWithProtocolVersion       = (*stdioSession)(nil)
	_ server.SessionWithResourceSubscriptions = (*stdioSession)(nil)
	_ server.SessionWithSubscriptionFilter    = (*stdioSession)(nil)
)

// forRequest is the session of one message. A request of 2026-07-28 says itself
// what its client is and can; nothing is taken from, or left to, other requests.
func (s *stdioSession) forRequest(m message, of *call) *stdioSession {
	own := &stdioSession{session: session{peer: s.peer, id: s.id}, conn: s.conn, call: of}
	if !m.Modern {
		return own
	}
	own.peer, own.modern = &peer{}, true
	if m.isListen() {
		own.id = fmt.Sprintf("%s/listen/%d", s.id, s.conn.streams.Add(1))
		own.stream = m.ID
	}
	return own
}

// Waits says that the request begins something that takes its time, as a program
// does: others are read meanwhile, without a look first at how long it takes.
func (s *stdioSession) Waits() {
	if s.call != nil {
		s.conn.turn.yield()
	}
}

// NotificationChannel takes notifications for the client. They are written in
// their order, and before the response of the request they belong to.
func (s *stdioSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.notifications(func(line []byte, err error) {
		if err != nil { // a bug of ours, which must not cost the connection
			s.conn.o.Log.Error("a notification could not be encoded", "error", err)
			return
		}
		s.conn.out.write(line, s.wanted)
	})
}

// wanted reports whether the client still wants to hear of the request.
func (s *stdioSession) wanted() bool { return s.call == nil || !s.call.dropped.Load() }

// inlineKey marks the context of a handler that the reader waits for: the
// answer to a question would stand behind it in the stream for ever.
type inlineKey struct{}

var errInline = errors.New("the handler of a notification cannot ask the client")

// RequestElicitation asks the person behind the client, where the client said
// that it can do that, in that mode. A capability without members means forms, as it did
// before there were other modes (2025-06-18).
func (s *stdioSession) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	can := s.GetClientCapabilities().Elicitation
	if can == nil || request.Params.Mode == mcp.ElicitationModeURL && can.URL == nil ||
		request.Params.Mode != mcp.ElicitationModeURL && can.URL != nil && can.Form == nil {
		return nil, server.ErrElicitationNotSupported
	}
	return ask[mcp.ElicitationResult](ctx, s, mcp.MethodElicitationCreate, request.Params)
}

// ListRoots asks for the client's roots, where the client said that it has some.
func (s *stdioSession) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	if s.GetClientCapabilities().Roots == nil {
		return nil, server.ErrRootsNotSupported
	}
	return ask[mcp.ListRootsResult](ctx, s, mcp.MethodListRoots, nil)
}

// question is a request of ours.
type question struct {
	JSONRPC string        `json:"jsonrpc"`
	ID      int64         `json:"id"`
	Method  mcp.MCPMethod `json:"method"`
	Params  any           `json:"params,omitempty"`
}

// ask sends a request to the client and waits for its answer. It waits as long
// as ctx lasts; a person may be at the other end.
func ask[Result any](ctx context.Context, s *stdioSession, method mcp.MCPMethod, params any) (*Result, error) {
	if s.modern {
		return nil, server.ErrServerInitiatedRequestUnsupported
	}
	if ctx.Value(inlineKey{}) != nil {
		return nil, errInline
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	id, answers := s.conn.asks.begin()
	defer s.conn.asks.end(id)
	line, err := marshalLine(question{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil {
		return nil, err
	}
	if err := s.conn.out.write(line, s.wanted); err != nil {
		return nil, err
	}
	s.conn.turn.yield() // somebody must read the answer
	var m message
	select {
	case answer, ok := <-answers:
		if !ok {
			return nil, errClosed
		}
		m = answer
	case <-ctx.Done(): // nobody waits for the client's answer any more
		line, _ := marshalLine(map[string]any{
			"jsonrpc": mcp.JSONRPC_VERSION,
			"method":  mcp.MethodNotificationCancelled,
			"params":  map[string]any{"requestId": id},
		})
		s.conn.out.write(line, nil)
		return nil, context.Cause(ctx)
	}

	if m.Fault != nil {
		var e mcp.JSONRPCErrorDetails
		if err := json.Unmarshal(m.Fault, &e); err != nil {
			return nil, fmt.Errorf("%s: the client's error is malformed: %w", method, err)
		}
		return nil, fmt.Errorf("%s: the client refuses: %s (%d)", method, e.Message, e.Code)
	}
	result := new(Result)
	if err := json.Unmarshal(m.Result, result); err != nil {
		return nil, fmt.Errorf("%s: the client's answer is malformed: %w", method, err)
	}
	return result, nil
}

// asks are the questions to the client that wait for an answer.
type asks struct {
	mu      sync.Mutex
	last    int64
	waiting map[string]chan message
	closed  bool
}

// begin gives a question its id. The channel brings one answer, or is closed
// when none can come.
func (a *asks) begin() (int64, <-chan message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	answers := make(chan message, 1)
	if a.closed {
		close(answers)
	} else {
		a.waiting[strconv.FormatInt(a.last, 10)] = answers
	}
	return a.last, answers
}

func (a *asks) end(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, strconv.FormatInt(id, 10))
}

// answer brings an answer to its question. One that nobody waits for is left
// alone: the question may have been withdrawn a moment ago.
func (a *asks) answer(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answers, ok := a.waiting[m.Key]; ok {
		delete(a.waiting, m.Key)
		answers <- m
	}
}

// close ends all waiting: the input has ended.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for key, answers := range a.waiting {
		delete(a.waiting, key)
		close(answers)
	}
}
