package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// writer is what every operation of this server works on: names that may be written,
// the one way to change what is there, and what was there before.
type writer struct {
	scope  *confine.Scope
	files  *replace.Writer
	past   *history.Store // nil where nothing is kept
	guards guards
	layout layout
}

// path is the only way from a name that a client gave to something that can be
// changed.
func (w *writer) path(ctx context.Context, name string) (confine.Path, error) {
	return w.scope.Parse(ctx, w.layout.place(name))
}

// parents makes the directories above p that are missing.
func (w *writer) parents(ctx context.Context, p confine.Path) (made []confine.Path, err error) {
	up, ok := p.Parent()
	if !ok {
		return nil, nil
	}
	return w.files.MakeDirs(ctx, up)
}

// withParents runs do, and where a directory above p is missing makes that and runs
// do again. If do fails then, what was made is taken away, innermost first.
func (w *writer) withParents(ctx context.Context, p confine.Path, do func() error) error {
	err := do()
	if !errors.Is(err, fault.NotFound) {
		return err
	}
	made, failed := w.parents(ctx, p)
	if failed != nil {
		return failed
	}
	if len(made) == 0 {
		return err // something else was missing
	}
	if err = do(); err != nil {
		for i := len(made) - 1; i >= 0; i-- {
			_ = w.files.RemoveDir(context.WithoutCancel(ctx), made[i]) // another may have put something in meanwhile
		}
	}
	return err
}

// mostSwept bounds the directories that are looked at when the server starts.
const mostSwept = 1000

// sweep removes what a killed server may have left: in the allowed directories, and
// where the last changes were.
func (w *writer) sweep(ctx context.Context, roots *confine.Roots) error {
	dirs := map[string]bool{}
	for _, dir := range roots.Dirs() {
		dirs[dir] = true
	}
	if w.past != nil {
		changes, err := w.past.List(history.Filter{Beneath: roots.Dirs(), Limit: mostSwept})
		if err != nil {
			return err
		}
		for _, c := range changes {
			dirs[filepath.Dir(c.Path)] = true
			if c.To != "" { // where a copy was made, if it went to another file system
				dirs[filepath.Dir(c.To)] = true
			}
		}
	}
	for dir := range dirs {
		_, _ = w.files.Sweep(ctx, operators(roots, dir)) // a directory that is gone or cannot be locked has nothing for us to remove
	}
	return nil
}

// operators is the path of a directory that no client named, where clients may name
// relative ones only. The zero Path, which refuses, where it is not allowed.
func operators(roots *confine.Roots, dir string) confine.Path {
	p, err := roots.Parse(dir)
	if err == nil {
		return p
	}
	for _, root := range roots.Dirs() {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			p, _ = roots.Parse(rel)
		}
	}
	return p
}

func (w *writer) close() error {
	if w.past == nil {
		return nil
	}
	return w.past.Close()
}
