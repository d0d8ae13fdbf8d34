//go:build linux || darwin

package replace

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func (w *Writer) makeDirs(ctx context.Context, p confine.Path) ([]confine.Path, error) {
	if err := isDirectory(p.OpenDir()); err == nil || !errors.Is(err, fault.NotFound) {
		return nil, err
	}
	made, err := w.makeMissing(ctx, p)
	if err == nil {
		return made, nil
	}
	for i := len(made) - 1; i >= 0; i-- {
		_ = w.openUnder(made[i], &Rules{}, (*place).removeDir) // not if others use it already
	}
	return nil, err
}

// isDirectory is nil for a directory that could be opened.
func isDirectory(d *confine.Dir, err error) error {
	if err == nil {
		_ = d.Close() // nothing was written through it
	}
	return err
}

// makeMissing climbs to the first directory whose parent is there, and makes them from
// there down. If one vanishes on the way down, it climbs again.
func (w *Writer) makeMissing(ctx context.Context, p confine.Path) (made []confine.Path, err error) {
	todo := []confine.Path{p}
	for range 2 * maxTries * (strings.Count(p.Rel(), "/") + 1) {
		last := todo[len(todo)-1]
		var real confine.Path
		var isNew bool
		real, isNew, err = w.makeDir(ctx, last)
		if isNew {
			made = append(made, real)
		}
		switch {
		case err == nil:
			if todo = todo[:len(todo)-1]; len(todo) == 0 {
				return made, nil
			}
		case !errors.Is(err, fault.NotFound):
			return made, err
		default:
			if up, ok := last.Parent(); ok && up.Rel() != "." {
				todo = append(todo, up)
			}
		}
	}
	return made, err
}

// makeDir makes the directory p, whose parent must be there. real is where it lies.
func (w *Writer) makeDir(ctx context.Context, p confine.Path) (real confine.Path, isNew bool, err error) {
	if err := ctx.Err(); err != nil {
		return confine.Path{}, false, fault.From(err)
	}
	err = w.open(p, func(at *place) error {
		real = at.real
		err := again(func() error { return unix.Mkdirat(at.at, at.name, 0o777) })
		switch err {
		case nil:
			isNew = true
			return at.sync()
		case unix.EEXIST:
			return isDirectory(at.dir.OpenDir(at.name)) // another caller was faster
		}
		return err
	})
	return real, isNew, err
}

func (w *Writer) removeDir(ctx context.Context, p confine.Path) error {
	if err := ctx.Err(); err != nil {
		return fault.From(err)
	}
	return w.open(p, (*place).removeDir)
}

func (at *place) removeDir() error {
	err := again(func() error { return unix.Unlinkat(at.at, at.name, unix.AT_REMOVEDIR) })
	switch err {
	case nil:
		return at.sync()
	case unix.ENOTEMPTY, unix.EEXIST:
		return fault.New(fault.ParamInvalid, "the directory "+shown(at.path)+" is not empty", "Remove what is in it first").Because(err)
	case unix.ENOTDIR:
		return fault.New(fault.ParamInvalid, shown(at.path)+" is not a directory", "Name a directory").Because(err)
	}
	return err
}
