package confine

import (
	"context"
	"slices"
	"sync"
)

// Scope is what one client may name: the operator's directories, narrowed to those
// that the client works in where somebody asked for that. It never widens. It may be
// used by many goroutines; the zero value refuses every name.
type Scope struct {
	roots  *Roots
	client func(context.Context) (dirs []string, ok bool, err error)

	mu     sync.Mutex
	dirs   []string // the client's, as last seen …
	narrow *Roots   // … and what they leave of roots, so that not every call opens directories
}

// NewScope is a Scope of r. client tells the directories of the client of a call, and
// whether it has any to tell; nil: they do not count.
func NewScope(r *Roots, client func(context.Context) (dirs []string, ok bool, err error)) *Scope {
	return &Scope{roots: r, client: client}
}

// Parse reads a name as [Roots.Parse] does.
func (s *Scope) Parse(ctx context.Context, name string) (Path, error) {
	r, err := s.Roots(ctx)
	if err != nil {
		return Path{}, err
	}
	return r.Parse(name)
}

// Roots is what the client of this call may touch.
func (s *Scope) Roots(ctx context.Context) (*Roots, error) {
	if s == nil || s.roots == nil {
		return &Roots{}, nil
	}
	if s.client == nil {
		return s.roots, nil
	}
	dirs, ok, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return s.roots, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.narrow == nil || !slices.Equal(dirs, s.dirs) {
		narrow, err := s.roots.Narrow(dirs)
		if err != nil {
			return nil, err
		}
		s.dirs, s.narrow = dirs, narrow
	}
	return s.narrow, nil
}

// Narrow is a Scope of the part of s that lies in dirs, as [Roots.Narrow] reads them, for
// the same clients.
func (s *Scope) Narrow(dirs []string) (*Scope, error) {
	narrow, err := s.roots.Narrow(dirs)
	if err != nil {
		return nil, err
	}
	return NewScope(narrow, s.client), nil
}
