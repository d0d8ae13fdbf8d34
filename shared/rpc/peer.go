package rpc

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// Peer is what is known of the client at the other end. The zero Peer knows nothing.
type Peer struct {
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
func get[T any](p *Peer, field *T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *field
}

func set[T any](p *Peer, field *T, value T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*field = value
}

// Initialize marks the end of the handshake, or that there is none.
func (p *Peer) Initialize() { set(p, &p.ready, true) }

// Initialized reports whether notifications may be sent.
func (p *Peer) Initialized() bool { return get(p, &p.ready) }

// SetLogLevel records the least severity of log messages for the client.
func (p *Peer) SetLogLevel(level mcp.LoggingLevel) { set(p, &p.level, level) }

// GetLogLevel is "error" until the client says otherwise.
func (p *Peer) GetLogLevel() mcp.LoggingLevel { return cmp.Or(get(p, &p.level), mcp.LoggingLevelError) }

// SetClientInfo records the client's name and version.
func (p *Peer) SetClientInfo(info mcp.Implementation) { set(p, &p.info, info) }

// GetClientInfo is the client's name and version.
func (p *Peer) GetClientInfo() mcp.Implementation { return get(p, &p.info) }

// SetClientCapabilities records what the client can.
func (p *Peer) SetClientCapabilities(can mcp.ClientCapabilities) { set(p, &p.can, can) }

// GetClientCapabilities is what the client declared.
func (p *Peer) GetClientCapabilities() mcp.ClientCapabilities { return get(p, &p.can) }

// SetProtocolVersion records the version agreed on in the handshake.
func (p *Peer) SetProtocolVersion(version string) { set(p, &p.version, version) }

// ProtocolVersion is the version agreed on in the handshake, or "".
func (p *Peer) ProtocolVersion() string { return get(p, &p.version) }

// SetSubscriptionFilter records what a listening client opted in to.
func (p *Peer) SetSubscriptionFilter(filter mcp.SubscriptionFilter) { set(p, &p.filter, filter) }

// Filter is what a listening client opted in to.
func (p *Peer) Filter() mcp.SubscriptionFilter { return get(p, &p.filter) }

// SubscribeToResource records that the client wants to hear of changes.
func (p *Peer) SubscribeToResource(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched == nil {
		p.watched = map[string]bool{}
	}
	p.watched[uri] = true
}

// UnsubscribeFromResource takes that back.
func (p *Peer) UnsubscribeFromResource(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watched, uri)
}

// SubscribedResources is a copy, in order.
func (p *Peer) SubscribedResources() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.watched))
}

// IsSubscribedToResource reports whether the client wants to hear of changes.
func (p *Peer) IsSubscribedToResource(uri string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watched[uri]
}
