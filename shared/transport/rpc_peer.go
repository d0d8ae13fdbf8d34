package transport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// peer is what is known of the client at the other end. The zero peer knows nothing.
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

// get and set reach a field of p.
func get[T any](p *peer, field *T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *field
}

func set[T any](p *peer, field *T, value T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*field = value
}

// Initialize marks the end of the handshake, or that there is none.
func (p *peer) Initialize() { set(p, &p.ready, true) }

// Initialized reports whether notifications may be sent.
func (p *peer) Initialized() bool { return get(p, &p.ready) }

// SetLogLevel records the least severity of log messages for the client.
func (p *peer) SetLogLevel(level mcp.LoggingLevel) { set(p, &p.level, level) }

// GetLogLevel is "error" until the client says otherwise.
func (p *peer) GetLogLevel() mcp.LoggingLevel { return cmp.Or(get(p, &p.level), mcp.LoggingLevelError) }

// SetClientInfo records the client's name and version.
func (p *peer) SetClientInfo(info mcp.Implementation) { set(p, &p.info, info) }

// GetClientInfo is the client's name and version.
func (p *peer) GetClientInfo() mcp.Implementation { return get(p, &p.info) }

// SetClientCapabilities records what the client can.
func (p *peer) SetClientCapabilities(can mcp.ClientCapabilities) { set(p, &p.can, can) }

// GetClientCapabilities is what the client declared.
func (p *peer) GetClientCapabilities() mcp.ClientCapabilities { return get(p, &p.can) }

// SetProtocolVersion records the version agreed on in the handshake.
func (p *peer) SetProtocolVersion(version string) { set(p, &p.version, version) }

// ProtocolVersion is the version agreed on in the handshake, or "".
func (p *peer) ProtocolVersion() string { return get(p, &p.version) }

// SetSubscriptionFilter records what a listening client opted in to.
func (p *peer) SetSubscriptionFilter(filter mcp.SubscriptionFilter) { set(p, &p.filter, filter) }

// Filter is what a listening client opted in to.
func (p *peer) Filter() mcp.SubscriptionFilter { return get(p, &p.filter) }

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

// maxNotes is how many notifications may wait to be written; mcp-go drops what comes on
// top. Only a client that does not read gets there.
const maxNotes = 512

// session is the client as handlers see it, for one request: what each transport's session
// has. Its notifications are sent one after the other, in their order, and none after the end.
type session struct {
	*peer
	id     string
	modern bool            // of a request of 2026-07-28
	stream json.RawMessage // the subscription that notifications are marked with, or nil

	open    sync.Once
	queue   chan mcp.JSONRPCNotification // nil until a handler asks for it
	over    chan struct{}
	flushed chan struct{}
}

// SessionID names the client.
func (s *session) SessionID() string { return s.id }

// SubscriptionFilter is what a listening client opted in to. From 2026-07-28 on
// every notification needs that; before, none does.
func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) { return s.Filter(), s.modern }

// notifications takes notifications, each of which send brings to the client as a line; the
// first caller's send does. The error of one that cannot be encoded goes there, too.
func (s *session) notifications(send func(line []byte, err error)) chan<- mcp.JSONRPCNotification {
	s.open.Do(func() {
		s.queue = make(chan mcp.JSONRPCNotification, maxNotes)
		s.over, s.flushed = make(chan struct{}), make(chan struct{})
		forward := func(n mcp.JSONRPCNotification) {
			if s.stream != nil {
				n = marked(n, s.stream)
			}
			line, err := marshalLine(n)
			if err != nil {
				err = fmt.Errorf("%s: %w", n.Method, err)
			}
			send(line, err)
		}
		go func() {
			defer close(s.flushed)
			for {
				select {
				case n := <-s.queue:
					forward(n)
				case <-s.over:
					for len(s.queue) > 0 { // nobody else receives
						forward(<-s.queue)
					}
					return
				}
			}
		}()
	})
	return s.queue
}

// flush returns when every notification so far is sent. What comes later reaches
// nobody: its request is over.
func (s *session) flush() {
	if s.stop() {
		<-s.flushed
	}
}

// stop is flush without waiting, for where sending may be stuck. It reports whether there
// was anything to stop.
func (s *session) stop() bool {
	s.open.Do(func() {})
	if s.queue == nil {
		return false
	}
	close(s.over)
	return true
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
