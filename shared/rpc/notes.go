package rpc

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxNotes is how many notifications may wait to be written; mcp-go drops what comes on
// top. Only a client that does not read gets there.
const maxNotes = 512

// Notes are the notifications of one request on their way to the client: they are sent
// one after the other, in their order, and none after the end. The zero Notes are empty.
type Notes struct {
	open    sync.Once
	queue   chan mcp.JSONRPCNotification // nil until somebody asks for it
	over    chan struct{}
	flushed chan struct{}
}

// Channel takes notifications, each of which send brings to the client; the first
// caller's send does.
func (n *Notes) Channel(send func(mcp.JSONRPCNotification)) chan<- mcp.JSONRPCNotification {
	n.open.Do(func() {
		n.queue = make(chan mcp.JSONRPCNotification, maxNotes)
		n.over, n.flushed = make(chan struct{}), make(chan struct{})
		go n.forward(send)
	})
	return n.queue
}

func (n *Notes) forward(send func(mcp.JSONRPCNotification)) {
	defer close(n.flushed)
	for {
		select {
		case note := <-n.queue:
			send(note)
		case <-n.over:
			n.flush(send)
			return
		}
	}
}

func (n *Notes) flush(send func(mcp.JSONRPCNotification)) {
	for {
		select {
		case note := <-n.queue:
			send(note)
		default:
			return
		}
	}
}

// End returns when every notification so far is sent. What comes later reaches
// nobody: its request is over.
func (n *Notes) End() {
	if n.stop() {
		<-n.flushed
	}
}

// Forget is End where sending may be stuck: it does not wait.
func (n *Notes) Forget() { n.stop() }

// stop reports whether there was anything to stop.
func (n *Notes) stop() bool {
	n.open.Do(func() {})
	if n.queue == nil {
		return false
	}
	close(n.over)
	return true
}

// Marked is n with the subscription it belongs to. The original is shared with
// other sessions and stays as it is.
func Marked(n mcp.JSONRPCNotification, stream json.RawMessage) mcp.JSONRPCNotification {
	meta := maps.Clone(n.Params.Meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaKeySubscriptionID] = stream
	n.Params.Meta = meta
	return n
}
