package toolkit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// rootsPatience is how long a client may take to list its roots.
const rootsPatience = 10 * time.Second

// ClientRoots are the URIs of the roots that the client of this call works in.
// The client is asked once, and again after it said that they changed. ok is
// false where it has none to tell: it did not declare roots, or speaks
// 2026-07-28, which has no requests from server to client.
func ClientRoots(ctx context.Context) (roots []string, ok bool, err error) {
	c := callFrom(ctx)
	session, named := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	if c == nil || !named || server.IsModernRequest(ctx) || session.GetClientCapabilities().Roots == nil {
		return nil, false, nil
	}
	failed := func(err error) ([]string, bool, error) {
		return nil, false, fault.New(fault.Unavailable, "the client did not list its roots", "Try again").Because(err)
	}
	r := c.server.rootsOf(c.session)
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	}
	r.mu.Lock()
	roots, known, before := r.roots, r.known, r.changes
	r.mu.Unlock()
	if known {
		return slices.Clone(roots), true, nil
	}

	ctx, cancel := context.WithTimeout(ctx, rootsPatience)
	defer cancel()
	result, err := c.server.mcp.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		return failed(err)
	}
	roots = make([]string, len(result.Roots))
	for i, root := range result.Roots {
		roots[i] = root.URI
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == before { // they did not change while the answer was on its way
		r.roots, r.known = roots, true
	}
	return slices.Clone(roots), true, nil
}

// sessionRoots is one session's answer. asking holds a token while the client
// is being asked, so that calls at once ask once and each can still give up.
type sessionRoots struct {
	asking  chan struct{}
	mu      sync.Mutex
	known   bool
	roots   []string
	changes int
}

func (s *Server) rootsOf(session string) *sessionRoots {
	r, _ := s.roots.LoadOrStore(session, &sessionRoots{asking: make(chan struct{}, 1)})
	return r.(*sessionRoots)
}

// rootsChanged handles notifications/roots/list_changed.
func (s *Server) rootsChanged(ctx context.Context, _ mcp.JSONRPCNotification) {
	if session := server.ClientSessionFromContext(ctx); session != nil {
		r := s.rootsOf(session.SessionID())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known, r.roots = false, nil
		r.changes++
	}
}
