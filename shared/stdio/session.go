package stdio

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/rpc"
)

// clientSession is the id of the one client there is.
const clientSession = "stdio"

// session is the client as handlers see it. Each request gets one of its own,
// made of what the connection knows, and its own queue of notifications.
type session struct {
	*rpc.Peer
	notes  rpc.Notes
	id     string
	conn   *conn
	call   *call           // whose notifications these are; nil for the client's own session
	stream json.RawMessage // the subscription that notifications are marked with, or nil
	modern bool
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

// forRequest is the session of one message. A request of 2026-07-28 says itself
// what its client is and can; nothing is taken from, or left to, other requests.
func (s *session) forRequest(m rpc.Message, of *call) *session {
	own := &session{Peer: s.Peer, id: s.id, conn: s.conn, call: of}
	if !m.Modern {
		return own
	}
	own.Peer, own.modern = &rpc.Peer{}, true
	if m.IsListen() {
		own.id = fmt.Sprintf("%s/listen/%d", s.id, s.conn.streams.Add(1))
		own.stream = m.ID
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

// NotificationChannel takes notifications for the client. They are written in
// their order, and before the response of the request they belong to.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.notes.Channel(func(n mcp.JSONRPCNotification) {
		if s.stream != nil {
			n = rpc.Marked(n, s.stream)
		}
		line, err := rpc.Marshal(n)
		if err != nil { // a fault of ours, that must not cost the connection
			s.conn.o.Log.Error("a notification could not be encoded", "method", n.Method, "error", err)
			return
		}
		s.conn.out.write(line, s.wanted)
	})
}

// wanted reports whether the client still wants to hear of the request.
func (s *session) wanted() bool { return s.call == nil || !s.call.Dropped() }

// SubscriptionFilter is what a listening client opted in to. From 2026-07-28 on
// every notification needs that; before, none does.
func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) { return s.Filter(), s.modern }
