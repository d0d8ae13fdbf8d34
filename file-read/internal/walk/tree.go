package walk

import (
	"context"
	"errors"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

const maxOpen = 32 // directories that a walk holds open only to come back to them

// Tree visits what is beneath root, in the order of the names component by
// component, every directory before what is in it. It fails only if root cannot
// be listed at all, if ctx ends, or if visit does: visit's own error comes back
// as it is. It goes where visit lets it and no further; Each and All are for going
// everywhere.
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
	skipped Skipped
}

// level is a directory on the way: the entries to visit, in order.
type level struct {
	*folder
	entries []confine.Entry
}

func (w *walker) run(root confine.Path) error {
	f, err := openRoot(root, w.o)
	if err != nil {
		return err
	}
	if err := w.enter(f); err != nil {
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
	step, err := w.visit(File{Dir: l.dir.Dir, Name: e.Name, Type: e.Type, Depth: l.depth, in: l.folder})
	switch {
	case err != nil || step == Stop:
		return Stop, err
	case step == SkipDir && e.Type != confine.Directory:
		l.entries = nil
	case step == Continue && e.Type == confine.Directory && w.o.deeper(l.depth):
		return Continue, w.descend(l, e.Name)
	}
	return Continue, nil
}

// descend enters a directory; that it cannot be opened is no error.
func (w *walker) descend(l *level, name string) error {
	f, err := l.openChild(l.dir, name)
	if err != nil {
		w.skipped.add(notOpened(err))
		return nil
	}
	return w.enter(f)
}

// notOpened is how a directory counts that cannot be entered.
func notOpened(err error) Skipped {
	if errors.Is(err, fault.OutsideAllowed) {
		return Skipped{Denied: 1}
	}
	return Skipped{Unreadable: 1}
}

// enter lists a directory and makes it the deepest level.
func (w *walker) enter(f *folder) error {
	l := &level{folder: f}
	w.levels = append(w.levels, l)
	if n := len(w.levels) - 1 - maxOpen; n >= 0 {
		w.levels[n].shut()
	}
	var left Skipped
	var err error
	l.entries, left, err = f.list(w.ctx, &w.o, nil)
	w.skipped.add(left)
	return err
}

// shut closes a directory until it is needed again.
func (f *folder) shut() {
	if f.dir != nil {
		f.dir.release()
		f.dir = nil
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
