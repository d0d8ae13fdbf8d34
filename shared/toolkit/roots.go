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
	if c == nil || !declaresRoots(ctx) {
		return nil, false, nil
	}
	roots, err = c.server.roots.of(c.session).get(ctx, c.server.askRoots)
	if err != nil {
		return nil, false, fault.New(fault.Unavailable, "the client did not list its roots", "Try again").Because(err)
	}
	return slices.Clone(roots), true, nil
}

func declaresRoots(ctx context.Context) bool {
	session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	return ok && !server.IsModernRequest(ctx) && session.GetClientCapabilities().Roots != nil
}

func (s *Server) askRoots(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, rootsPatience)
	defer cancel()
	result, err := s.mcp.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		return nil, err
	}
	roots := make([]string, len(result.Roots))
	for i, r := range result.Roots {
		roots[i] = r.URI
	}
	return roots, nil
}

// rootsMemory keeps what each session said.
type rootsMemory struct {
	mu       sync.Mutex
	sessions map[string]*sessionRoots
}

func newRootsMemory() *rootsMemory {
	return &rootsMemory{sessions: map[string]*sessionRoots{}}
}

func (m *rootsMemory) of(session string) *sessionRoots {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.sessions[session]
	if !ok {
		r = &sessionRoots{asking: make(chan struct{}, 1)}
		m.sessions[session] = r
	}
	return r
}

func (m *rootsMemory) forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, session)
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

func (r *sessionRoots) get(ctx context.Context, ask func(context.Context) ([]string, error)) ([]string, error) {
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	roots, known, before := r.state()
	if known {
		return roots, nil
	}
	roots, err := ask(ctx)
	if err == nil {
		r.keep(roots, before)
	}
	return roots, err
}

func (r *sessionRoots) state() (roots []string, known bool, changes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roots, r.known, r.changes
}

// keep remembers an answer unless the roots changed while it was on its way.
func (r *sessionRoots) keep(roots []string, before int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == before {
		r.roots, r.known = roots, true
	}
}

func (r *sessionRoots) change() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.roots = false, nil
	r.changes++
}

// rootsChanged hears notifications/roots/list_changed.
func (s *Server) rootsChanged(ctx context.Context, _ mcp.JSONRPCNotification) {
	if session := server.ClientSessionFromContext(ctx); session != nil {
		s.roots.of(session.SessionID()).change()
	}
}
