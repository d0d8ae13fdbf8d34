package walk

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	maxOpen = 32   // directories that a walk holds open at a time
	batch   = 1024 // entries read from a directory at a time
)

// Tree visits what is beneath root, in the order of the names component by
// component, every directory before what is in it. It fails only if root cannot
// be listed at all, if ctx ends, or if visit does: visit's own error comes back
// as it is.
func Tree(ctx context.Context, root confine.Path, o Options, visit func(File) (Step, error)) (Skipped, error) {
	w := &walker{ctx: ctx, o: o, visit: visit}
	defer w.close()
	err := w.run(root)
	return w.skipped, err
}

// walker is a walk. levels is the way from the root to where it is.
type walker struct {
	ctx     context.Context
	o       Options
	visit   func(File) (Step, error)
	levels  []*level
	top     int // bytes of a full path that come before File.Rel
	skipped Skipped
}

// level is a directory on the way: the entries to visit, in order.
type level struct {
	dir     *shared // nil while it is closed because others are open
	path    confine.Path
	full    string // its path from the top of the rules, "" or with a slash at the end
	scope   *scope
	entries []confine.Entry
}

func (w *walker) run(root confine.Path) error {
	dir, err := root.OpenDir()
	if err != nil {
		return err
	}
	full, scope := "", (*scope)(nil)
	if w.o.Gitignore {
		full, scope = fromAbove(root)
	}
	w.top = len(full)
	if err := w.enter(dir, full, scope); err != nil {
		return err
	}
	for len(w.levels) > 0 {
		if err := w.ctx.Err(); err != nil {
			return fault.From(err)
		}
		step, err := w.next()
		if err != nil || step == Stop {
			return err
		}
	}
	return nil
}

// next visits the next entry of the deepest level, or leaves that level.
func (w *walker) next() (Step, error) {
	l := w.levels[len(w.levels)-1]
	if len(l.entries) == 0 || !w.reopen(l) {
		w.leave()
		return Continue, nil
	}
	e := l.entries[0]
	l.entries = l.entries[1:]
	f := w.file(l, e)
	step, err := w.visit(f)
	switch {
	case err != nil || step == Stop:
		return Stop, err
	case step == SkipDir && e.Type != confine.Directory:
		l.entries = nil
	case step == Continue && e.Type == confine.Directory && w.deeper(f.Depth):
		return Continue, w.descend(l, e.Name)
	}
	return Continue, nil
}

func (w *walker) file(l *level, e confine.Entry) File {
	return File{
		Dir:   l.dir.Dir,
		Name:  e.Name,
		Rel:   (l.full + e.Name)[w.top:],
		Type:  e.Type,
		Path:  l.path.Child(e.Name),
		Depth: len(w.levels),
		held:  l.dir,
	}
}

// deeper says whether the entries of a directory at this depth are visited.
func (w *walker) deeper(depth int) bool {
	return w.o.Recursive && (w.o.MaxDepth == 0 || depth < w.o.MaxDepth)
}

// descend enters a directory; that it cannot be opened is no error.
func (w *walker) descend(l *level, name string) error {
	dir, err := l.dir.OpenDir(name)
	switch {
	case errors.Is(err, fault.OutsideAllowed):
		w.skipped.Denied++
		return nil
	case err != nil:
		w.skipped.Unreadable++
		return nil
	}
	return w.enter(dir, l.full+name+"/", l.scope)
}

// enter lists a directory and makes it the deepest level.
func (w *walker) enter(dir *confine.Dir, full string, scope *scope) error {
	l := &level{dir: newShared(dir), path: dir.Path(), full: full, scope: scope}
	w.levels = append(w.levels, l)
	if n := len(w.levels) - 1 - maxOpen; n >= 0 {
		w.levels[n].shut()
	}
	if err := w.list(l); err != nil {
		return err
	}
	w.filter(l)
	slices.SortFunc(l.entries, func(a, b confine.Entry) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// list reads the entries of a directory, as many as can be read.
func (w *walker) list(l *level) error {
	for {
		if err := w.ctx.Err(); err != nil {
			return fault.From(err)
		}
		entries, err := l.dir.Next(batch)
		l.entries = append(l.entries, entries...)
		if err == nil {
			continue
		}
		if err != io.EOF {
			w.skipped.Unreadable++
		}
		w.skipped.Denied += l.dir.Denied()
		return nil
	}
}

// filter leaves out the entries that are not to be visited. It stops early when
// ctx ends, and with it the walk.
func (w *walker) filter(l *level) {
	if w.o.Gitignore {
		l.scope = scopeOf(l.dir.Dir, l.entries, len(l.full), l.scope)
	}
	kept := l.entries[:0]
	for i, e := range l.entries {
		if i%batch == 0 && w.ctx.Err() != nil {
			break
		}
		if !w.leavesOut(l, e) {
			kept = append(kept, e)
		}
	}
	clear(l.entries[len(kept):])
	l.entries = kept
}

func (w *walker) leavesOut(l *level, e confine.Entry) bool {
	if w.o.Gitignore && e.Name == ".git" {
		return true
	}
	full := l.full + e.Name
	count := &w.skipped.Ignored
	switch {
	case w.excluded(full[w.top:]):
		count = &w.skipped.Excluded
	case !w.o.Hidden && strings.HasPrefix(e.Name, "."):
		count = &w.skipped.Hidden
	case !l.scope.ignores(full, e.Type == confine.Directory):
		return false
	}
	*count++
	return true
}

func (w *walker) excluded(rel string) bool {
	for _, p := range w.o.Exclude {
		if p.Match(rel) {
			return true
		}
	}
	return false
}

// shut closes the directory of a level until it is needed again.
func (l *level) shut() {
	if l.dir != nil {
		l.dir.release()
		l.dir = nil
	}
}

// reopen makes sure that the directory of a level is open. A directory that was
// moved away meanwhile ends the level.
func (w *walker) reopen(l *level) bool {
	if l.dir != nil {
		return true
	}
	dir, err := l.path.OpenDir()
	if err != nil {
		w.skipped.Unreadable++
		return false
	}
	l.dir = newShared(dir)
	return true
}

// leave goes back to the level above.
func (w *walker) leave() {
	n := len(w.levels) - 1
	w.levels[n].shut()
	w.levels = w.levels[:n]
}

func (w *walker) close() {
	for len(w.levels) > 0 {
		w.leave()
	}
}
