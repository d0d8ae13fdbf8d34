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
	recalled bool    // its entries are from Options.Recall
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

func (s *shared) release() {
	if s.users.Add(-1) == 0 {
		_ = s.Close() // it was only read
	}
}

// openRoot opens the directory that is walked.
func openRoot(root confine.Path, o Options) (*folder, error) {
	dir, err := root.OpenDir()
	if err != nil {
		return nil, err
	}
	f := &folder{path: dir.Path(), depth: 1, dir: newShared(dir)}
	if !o.Gitignore {
		return f, nil
	}

	// The rules of a work tree that root is in, from its top down to root, but not those
	// of root itself.
	below := []string{root.Base()} // the names on the way down, the last first
	for dir, ok := root.Parent(); ok; dir, ok = dir.Parent() {
		if info, err := dir.Child(".git").Stat(); err == nil && (info.Type == confine.Directory || info.Type == confine.File) {
			f.scope = f.scope.within(0, readRules(dir.Child(".git").Child("info").Child("exclude").OpenReader))
			for _, name := range slices.Backward(below) {
				f.scope = f.scope.within(len(f.full), readRules(dir.Child(".gitignore").OpenReader))
				f.full += name + "/"
				dir = dir.Child(name)
			}
			break
		}
		below = append(below, dir.Base())
	}
	f.top = len(f.full)
	return f, nil
}

// shut closes a directory until it is needed again.
func (f *folder) shut() {
	if f.dir != nil {
		f.dir.release()
		f.dir = nil
	}
}

// rel is the path of an entry from the directory walked.
func (f *folder) rel(name string) string { return f.full[f.top:] + name }

// Listing is the content of a directory.
type Listing struct {
	Entries []confine.Entry // all that is not denied, by name; not to be changed
	Denied  int
}

// batch is the number of entries after which a walk looks whether it should end.
const batch = 1024

// read reads f, or recalls what is in it. After an error of reading, what was read until
// then is not complete; read fails only when ctx ends. It appends to into.
func (f *folder) read(ctx context.Context, o *Options, into []confine.Entry) (all Listing, complete bool, err error) {
	var before confine.Stamp
	if o.Recall != nil {
		before = f.dir.Stamp()
		if all, f.recalled = o.Recall(f.path, before); f.recalled {
			return all, true, nil
		}
	}
	for err == nil {
		if ctx.Err() != nil {
			return Listing{}, false, fault.From(ctx.Err())
		}
		into, err = f.dir.Append(into)
	}
	slices.SortFunc(into, func(a, b confine.Entry) int { return strings.Compare(a.Name, b.Name) })
	all = Listing{into, f.dir.Denied()}
	if complete = err == io.EOF; complete && o.Remember != nil && f.dir.Local() {
		o.Remember(f.path, before, Listing{slices.Clone(into), all.Denied})
	}
	return all, complete, nil
}

// list reads f, or recalls what is in it, and leaves out what is not to be visited, with
// the counts of that. It fails only when ctx ends; an error of reading is counted. It
// appends to into, which it may also use for what it leaves out.
func (f *folder) list(ctx context.Context, o *Options, into []confine.Entry) (entries []confine.Entry, left Skipped, err error) {
	known, complete, err := f.read(ctx, o, into)
	if err != nil {
		return nil, left, err
	}
	if !complete {
		left.Unreadable++
	}
	left.Denied = known.Denied
	all := known.Entries
	if o.Gitignore {
		f.readScope(all)
	}

	// Leave out what comes before the path After with all that is under it.
	if rest, above := strings.CutPrefix(o.After, f.rel("")); above && o.After != "" {
		name, _, _ := strings.Cut(rest, "/")
		i, _ := slices.BinarySearchFunc(all, name, func(e confine.Entry, name string) int { return strings.Compare(e.Name, name) })
		all = all[i:]
	}
	for i := range all {
		if i%batch == 0 && ctx.Err() != nil {
			break
		}
		e := &all[i]
		excluded := false
		if len(o.Exclude) > 0 {
			rel := f.rel(e.Name)
			excluded = slices.ContainsFunc(o.Exclude, func(p glob.Pattern) bool { return p.Match(rel) })
		}
		switch {
		case o.Gitignore && e.Name == ".git":
		case excluded:
			left.Excluded++
		case !o.Hidden && strings.HasPrefix(e.Name, "."):
			left.Hidden++
		case f.scope != nil && f.scope.ignores(f.full, e.Name, e.Type == confine.Directory):
			left.Ignored++
		default:
			into = append(into, *e)
		}
	}
	return into, left, nil
}

// readScope adds the rules of f itself to those of the directory above it. git reads a
// .gitignore only if it is a regular file (CVE-2021-21300 made it stop following links).
func (f *folder) readScope(entries []confine.Entry) {
	own := false
	for _, e := range entries {
		switch {
		case len(e.Name) < len(".git") || e.Name[0] != '.':
		case e.Name == ".git" && e.Type == confine.Directory:
			f.scope = (*scope)(nil).within(len(f.full), readRules(f.dir.Path().Child(".git").Child("info").Child("exclude").OpenReader))
		case e.Name == ".git" && e.Type == confine.File: // of a submodule or a linked work tree
			f.scope = nil
		case e.Name == ".gitignore" && e.Type == confine.File:
			own = true
		}
	}
	if own {
		f.scope = f.scope.within(len(f.full), readRules(func(r *confine.Reader) error { return f.dir.OpenReader(".gitignore", r) }))
	}
}

// maxRules is how many bytes of one file with rules are read; the rest is left
// out. It bounds the time that one entry can take.
const maxRules = 256 << 10

// readRules reads a file with rules; one that cannot be read has none.
func readRules(open func(*confine.Reader) error) rules {
	var r confine.Reader
	if open(&r) != nil {
		return nil
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(&r, maxRules))
	if err != nil {
		return nil
	}
	return parseRules(string(data))
}
