package walk

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

// folder is a directory on the way of a walk.
type folder struct {
	path     confine.Path
	full     string // its path from the top of the rules: "" or with a slash at the end
	top      int    // bytes of full that come before the directory walked
	depth    int    // of its entries
	scope    *scope
	recalled bool    // its entries, from Options.Listings
	dir      *shared // nil while it is closed because others are open
}

// shared is a directory that is closed when the last of its users is done.
type shared struct {
	*confine.Dir
	users atomic.Int32
}

func newShared(d *confine.Dir) *shared {
	s := &shared{Dir: d}
	s.users.Store(1)
	return s
}

func (s *shared) retain() *shared {
	s.users.Add(1)
	return s
}

func (s *shared) release() {
	if s.users.Add(-1) == 0 {
		_ = s.Close() // it was only read
	}
}

// hold keeps the directory open until it is released, if it is.
func (f *folder) hold() *shared {
	if f.dir == nil {
		return nil
	}
	return f.dir.retain()
}

// openRoot opens the directory that is walked.
func openRoot(root confine.Path, o Options) (*folder, error) {
	dir, err := root.OpenDir()
	if err != nil {
		return nil, err
	}
	f := &folder{path: dir.Path(), depth: 1, dir: newShared(dir)}
	if o.Gitignore {
		f.full, f.scope = fromAbove(root)
		f.top = len(f.full)
	}
	return f, nil
}

// openChild opens a directory in f, of which dir is the open directory, or nil.
func (f *folder) openChild(dir *shared, name string) (*folder, error) {
	var d *confine.Dir
	var err error
	if dir != nil {
		d, err = dir.OpenDir(name)
	} else {
		d, err = f.path.Child(name).OpenDir()
	}
	if err != nil {
		return nil, err
	}
	return &folder{path: d.Path(), full: f.full + name + "/", top: f.top, depth: f.depth + 1, scope: f.scope, dir: newShared(d)}, nil
}

// rel is the path of an entry from the directory walked.
func (f *folder) rel(name string) string { return f.full[f.top:] + name }

// Listing is what a directory held.
type Listing struct {
	Entries []confine.Entry // all that is not denied, by name; not to be changed
	Denied  int
}

// list reads what is in f and leaves out what is not to be visited, with the counts
// of that. It adds to into, which it may also use for what it leaves out.
func (f *folder) list(ctx context.Context, o *Options, into []confine.Entry) (entries []confine.Entry, left Skipped, err error) {
	all, err := f.read(ctx, o, into, &left)
	if err != nil {
		return nil, left, err
	}
	if o.Gitignore {
		f.scope = scopeOf(f.dir.Dir, all, len(f.full), f.scope)
	}
	kept := into
	all = f.behind(o.After, all)
	for i := range all {
		if i%batch == 0 && ctx.Err() != nil {
			break
		}
		if !f.leavesOut(o, &all[i], &left) {
			kept = append(kept, all[i])
		}
	}
	return kept, left, nil
}

// behind leaves out the entries of f, by name, that come before a path with all that
// is beneath them.
func (f *folder) behind(after string, entries []confine.Entry) []confine.Entry {
	rest, above := strings.CutPrefix(after, f.rel(""))
	if !above || after == "" {
		return entries
	}
	name, _, _ := strings.Cut(rest, "/")
	i, _ := slices.BinarySearchFunc(entries, name, func(e confine.Entry, name string) int { return strings.Compare(e.Name, name) })
	return entries[i:]
}

// batch is after how many entries a walk looks whether it should end.
const batch = 1024

// read is all that is in f, by name, from o.Listings where that knows it. What cannot
// be read is counted.
func (f *folder) read(ctx context.Context, o *Options, into []confine.Entry, left *Skipped) ([]confine.Entry, error) {
	var before confine.Stamp
	if o.Listings != nil {
		before = f.dir.Stamp()
		if l, ok := o.Listings.Recall(f.path, before); ok {
			f.recalled = true
			left.Denied += l.Denied
			return l.Entries, nil
		}
	}
	var err error
	for err == nil {
		if ctx.Err() != nil {
			return nil, fault.From(ctx.Err())
		}
		into, err = f.dir.Append(into)
	}
	slices.SortFunc(into, func(a, b confine.Entry) int { return strings.Compare(a.Name, b.Name) })
	left.Denied += f.dir.Denied()
	switch {
	case err != io.EOF:
		left.Unreadable++
	case o.Listings != nil && f.dir.Local():
		o.Listings.Remember(f.path, before, Listing{slices.Clone(into), f.dir.Denied()})
	}
	return into, nil
}

func (f *folder) leavesOut(o *Options, e *confine.Entry, left *Skipped) bool {
	if o.Gitignore && e.Name == ".git" {
		return true
	}
	count := &left.Ignored
	switch {
	case len(o.Exclude) > 0 && excluded(o.Exclude, f.rel(e.Name)):
		count = &left.Excluded
	case !o.Hidden && strings.HasPrefix(e.Name, "."):
		count = &left.Hidden
	case f.scope == nil || !f.scope.ignores(f.full, e.Name, e.Type == confine.Directory):
		return false
	}
	*count++
	return true
}

func excluded(patterns []glob.Pattern, rel string) bool {
	for _, p := range patterns {
		if p.Match(rel) {
			return true
		}
	}
	return false
}
