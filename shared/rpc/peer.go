package rpc

import (
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

// Initialize marks the end of the handshake, or that there is none.
func (p *Peer) Initialize() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = true
}

// Initialized reports whether notifications may be sent.
func (p *Peer) Initialized() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

// SetLogLevel records the least severity of log messages for the client.
func (p *Peer) SetLogLevel(level mcp.LoggingLevel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.level = level
}

// GetLogLevel is "error" until the client says otherwise.
func (p *Peer) GetLogLevel() mcp.LoggingLevel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.level == "" {
		return mcp.LoggingLevelError
	}
	return p.level
}

// SetClientInfo records the client's name and version.
func (p *Peer) SetClientInfo(info mcp.Implementation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info = info
}

// GetClientInfo is the client's name and version.
func (p *Peer) GetClientInfo() mcp.Implementation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.info
}

// SetClientCapabilities records what the client can.
func (p *Peer) SetClientCapabilities(can mcp.ClientCapabilities) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.can = can
}

// GetClientCapabilities is what the client declared.
func (p *Peer) GetClientCapabilities() mcp.ClientCapabilities {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.can
}

// SetProtocolVersion records the version agreed on in the handshake.
func (p *Peer) SetProtocolVersion(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = version
}

// ProtocolVersion is the version agreed on in the handshake, or "".
func (p *Peer) ProtocolVersion() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// SetSubscriptionFilter records what a listening client opted in to.
func (p *Peer) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filter = filter
}

// Filter is what a listening client opted in to.
func (p *Peer) Filter() mcp.SubscriptionFilter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.filter
}

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
