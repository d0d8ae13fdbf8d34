package confine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
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
	// Narrowing is kept until the client's directories change: it resolves links, which
	// would be several system calls on every call of a tool.
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

// Narrow is what r and dirs have in common: where a directory of dirs lies under
// an allowed one, it; where it contains an allowed one, that. It is never wider
// than r: / and file:/// give r back, and nothing in common, or no dirs, gives a
// Roots that refuses every name. Each of dirs is an absolute path, ~/…, or a file:
// URI; one that cannot be read is fault.ParamMalformed. The deny rules and all
// options stay, and stay relative to the directories of r.
//
// The result shares the open directories of r and ends with it; a directory of
// dirs that is missing now or swapped for a link later is refused by the open, as
// any other path is.
func (r *Roots) Narrow(dirs []string) (*Roots, error) {
	n := &Roots{rules: r.rules, opts: r.opts, home: r.home, by: r.by, buffers: r.buffers}
	for _, dir := range dirs {
		reader := Roots{home: r.home} // RelativeOnly is a rule for paths in calls, not for these
		s, err := reader.spell(dir)
		if err == nil && s.abs == "" {
			err = malformed("the root "+shown(dir)+" is not absolute", "Write file:///directory")
		}
		if err != nil {
			return nil, about(dir, err)
		}
		real := realName(s.abs)
		for _, one := range r.list {
			part, ok := one.part(s.abs, real)
			same := func(have *root) bool { return have.kept == part.kept && have.prefix == part.prefix }
			if ok && !slices.ContainsFunc(n.list, same) {
				n.list = append(n.list, part)
			}
		}
	}
	return n, nil
}

// realName is name without links where it can be told, else name. It only decides
// which part of an allowed directory is meant; the open is still the check.
func realName(name string) string {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(name))
	if err != nil {
		return name
	}
	return cleanHost(real)
}

// part is the smaller of the allowed directory and the one called name, really real, if
// one is in the other.
func (one *root) part(name, real string) (*root, bool) {
	for _, pair := range [][2]string{{one.real, real}, {one.name, name}} {
		if _, ok := beneath(pair[1], pair[0]); ok {
			return one, true
		}
	}
	rel, ok := beneath(one.real, real)
	if !ok && real == name { // it does not exist yet: go by its name
		rel, ok = beneath(one.name, name)
	}
	if !ok {
		return nil, false
	}
	full := Path{root: one, rel: rel}.full()
	return &root{name: name, real: strings.TrimSuffix(one.real, "/") + "/" + rel, kept: one.kept, base: one.base, prefix: full}, true
}
