package stdio

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// clientSession is the id of the one client there is.
const clientSession = "stdio"

// maxNotes is how many notifications of a request may wait to be written;
// mcp-go drops what comes on top. Only a client that does not read gets there.
const maxNotes = 512

// session is the client as handlers see it. Each request gets one of its own,
// made of what the connection knows, and its own queue of notifications.
type session struct {
	*peer
	id     string
	conn   *conn
	call   *call           // whose notifications these are; nil for the client's own session
	stream json.RawMessage // the subscription that notifications are marked with, or nil
	modern bool

	open    sync.Once
	notes   chan mcp.JSONRPCNotification // nil until somebody asks for it
	over    chan struct{}
	flushed chan struct{}
}

var (
	_ server.SessionWithLogging               = (*session)(nil)
	_ server.SessionWithClientInfo            = (*session)(nil)
	_ server.SessionWithElicitation           = (*session)(nil)
	_ server.SessionWithRoots                 = (*session)(nil)
	_ server.SessionWithProtocolVersion       = (*session)(nil)
	_ server.SessionWithResourceSubscriptions = (*session)(nil)
	_ server.SessionWithSubscriptionFilter    = (*session)(nil)
)

func newSession(c *conn, id string) *session {
	return &session{peer: &peer{}, id: id, conn: c}
}

// forRequest is the session of one message. A request of 2026-07-28 says itself
// what its client is and can; nothing is taken from, or left to, other requests.
func (s *session) forRequest(m message, of *call) *session {
	own := &session{peer: s.peer, id: s.id, conn: s.conn, call: of}
	if !m.modern {
		return own
	}
	own.peer, own.modern = &peer{}, true
	if m.isListen() {
		own.id = fmt.Sprintf("%s/listen/%d", s.id, s.conn.streams.Add(1))
		own.stream = m.id
	}
	return own
}

// SessionID names the client.
func (s *session) SessionID() string { return s.id }

// Waits says that the request begins something that takes its time, as a program
// does: others are read meanwhile, without a look first at how long it takes.
func (s *session) Waits() {
	if s.call != nil {
		s.conn.turn.yield()
	}
}

// After has done called when the response of the request is written, or will not be: when
// nothing that it was made of is needed any more. It is for the handler of the request,
// not for its goroutines.
func (s *session) After(done func()) {
	if s.call != nil {
		s.call.after = append(s.call.after, done)
	}
}

// NotificationChannel takes notifications for the client. They are written in
// their order, and before the response of the request they belong to.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification {
	s.open.Do(func() {
		s.notes = make(chan mcp.JSONRPCNotification, maxNotes)
		s.over, s.flushed = make(chan struct{}), make(chan struct{})
		go s.forward()
	})
	return s.notes
}

func (s *session) forward() {
	defer close(s.flushed)
	for {
		select {
		case n := <-s.notes:
			s.send(n)
		case <-s.over:
			s.flush()
			return
		}
	}
}

func (s *session) flush() {
	for {
		select {
		case n := <-s.notes:
			s.send(n)
		default:
			return
		}
	}
}

// send writes a notification. One that cannot be encoded is a fault of ours
// that must not cost the connection.
func (s *session) send(n mcp.JSONRPCNotification) {
	if s.stream != nil {
		n = marked(n, s.stream)
	}
	line, err := marshal(n)
	if err != nil {
		s.conn.o.Log.Error("a notification could not be encoded", "method", n.Method, "error", err)
		return
	}
	s.conn.out.write(line, s.wanted)
}

// wanted reports whether the client still wants to hear of the request.
func (s *session) wanted() bool {
	return s.call == nil || !s.call.dropped.Load()
}

// marked is n with the subscription it belongs to. The original is shared with
// other sessions and stays as it is.
func marked(n mcp.JSONRPCNotification, stream json.RawMessage) mcp.JSONRPCNotification {
	meta := maps.Clone(n.Params.Meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaKeySubscriptionID] = stream
	n.Params.Meta = meta
	return n
}

// end returns when every notification sent so far is written. What is sent later
// reaches nobody: its request is over.
func (s *session) end() {
	s.open.Do(func() {})
	if s.notes == nil {
		return
	}
	close(s.over)
	<-s.flushed
}

// forget is end for a session whose output may be stuck: it does not wait.
func (s *session) forget() {
	s.open.Do(func() {})
	if s.notes != nil {
		close(s.over)
	}
}

// SubscriptionFilter is what a listening client opted in to. From 2026-07-28 on
// every notification needs that; before, none does.
func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filter, s.modern
}

// peer is what is known of the client.
type peer struct {
	mu      sync.Mutex
	ready   bool
	info    mcp.Implementation
	can     mcp.ClientCapabilities
	version string
	level   mcp.LoggingLevel
	filter  mcp.SubscriptionFilter
	watched map[string]bool // resource URIs
}

// Initialize marks the end of the handshake, or that there is none.
func (p *peer) Initialize() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = true
}

// Initialized reports whether notifications may be sent.
func (p *peer) Initialized() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

// SetLogLevel records the least severity of log messages for the client.
func (p *peer) SetLogLevel(level mcp.LoggingLevel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.level = level
}

// GetLogLevel is "error" until the client says otherwise.
func (p *peer) GetLogLevel() mcp.LoggingLevel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.level == "" {
		return mcp.LoggingLevelError
	}
	return p.level
}

// SetClientInfo records the client's name and version.
func (p *peer) SetClientInfo(info mcp.Implementation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = info
}

// GetClientInfo is the client's name and version.
func (p *peer) GetClientInfo() mcp.Implementation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.info
}

// SetClientCapabilities records what the client can.
func (p *peer) SetClientCapabilities(can mcp.ClientCapabilities) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.can = can
}

// GetClientCapabilities is what the client declared.
func (p *peer) GetClientCapabilities() mcp.ClientCapabilities {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.can
}

// SetProtocolVersion records the version agreed on in the handshake.
func (p *peer) SetProtocolVersion(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = version
}

// ProtocolVersion is the version agreed on in the handshake, or "".
func (p *peer) ProtocolVersion() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// SetSubscriptionFilter records what a listening client opted in to.
func (p *peer) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filter = filter
}

// SubscribeToResource records that the client wants to hear of changes.
func (p *peer) SubscribeToResource(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched == nil {
		p.watched = map[string]bool{}
	}
	p.watched[uri] = true
}

// UnsubscribeFromResource takes that back.
func (p *peer) UnsubscribeFromResource(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watched, uri)
}

// SubscribedResources is a copy, in order.
func (p *peer) SubscribedResources() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.watched))
}

// IsSubscribedToResource reports whether the client wants to hear of changes.
func (p *peer) IsSubscribedToResource(uri string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watched[uri]
}
