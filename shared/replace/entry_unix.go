//go:build linux || darwin

package replace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// A directory with more beneath it than this is neither removed nor moved: all of it
// is looked at first, and what has been seen is kept in memory.
const (
	mostEntries = 100_000
	mostDepth   = 128 // each level is an open directory
)

func (w *Writer) remove(ctx context.Context, p confine.Path, look func(*os.File, confine.Info) error) error {
	return w.alone(ctx, p, func(at *place) error { return at.remove(ctx, look) })
}

func (w *Writer) removeTree(ctx context.Context, p confine.Path, look func(*confine.Dir, Tree) error) error {
	return w.alone(ctx, p, func(at *place) error { return at.removeTree(ctx, look) })
}

func (w *Writer) link(ctx context.Context, p confine.Path, target string) error {
	return w.alone(ctx, p, func(at *place) error { return at.symlink(target) })
}

// alone opens the directory of p and runs do on the entry itself, which is never
// followed, while nobody else changes it through w.
func (w *Writer) alone(ctx context.Context, p confine.Path, do func(*place) error) error {
	return w.atEntry(p, func(at *place) error {
		key, err := at.key()
		if err != nil {
			return err
		}
		leave, err := w.order.enter(ctx, key)
		if err != nil {
			return err
		}
		defer leave()
		_, err = at.alone(ctx, func(at *place) (Result, error) { return Result{}, do(at) })
		return err
	})
}

// atEntry runs do on an entry of an open directory. A link under its name is the entry.
func (w *Writer) atEntry(p confine.Path, do func(*place) error) error {
	dir, name, err := p.OpenParentOfLink()
	if err != nil {
		return err
	}
	defer dir.Close() // nothing was written through it
	return dir.LendDir(func(fd uintptr) error {
		at := &place{path: p, dir: dir, at: int(fd), name: name, rules: &w.rules, lacks: w.lacks, moved: w.moved}
		return at.told(do(at))
	})
}

// kind describes the entry, which must be a file or a directory.
func (at *place) kind() (confine.Info, error) {
	info, err := at.dir.Info(at.name)
	switch {
	case err != nil:
		return info, err
	case info.Type == confine.Symlink:
		return info, isLink(at.path)
	case info.Type == confine.Other:
		return info, isSpecial(at.path)
	}
	return info, nil
}

// judge asks about the entry, as what it is or is to be.
func (at *place) judge(kind confine.Type) (err error) {
	if at.real, err = at.dir.Path().ChildAs(at.name, kind); err != nil {
		return err
	}
	return at.rules.entry(at.real)
}

func isLink(p confine.Path) error {
	return fault.New(fault.Forbidden, shown(p)+" is a symbolic link, which is neither moved nor removed", "Leave it as it is, or name what it leads to").
		With("path", p.String()).With("link", p.String())
}

func isSpecial(p confine.Path) error {
	return fault.New(fault.ParamInvalid, shown(p)+" is neither a file nor a directory nor a link", "Leave it and what it is in as they are").
		With("path", p.String()).With("type", confine.Other.String())
}

func isMount(p confine.Path) error {
	return fault.New(fault.Forbidden, shown(p)+" is on another file system than the directory it is in", "Leave it and what it is in where they are").
		With("path", p.String())
}

func tooMany(p confine.Path) error {
	return fault.New(fault.LimitReached, fmt.Sprintf("there are more than %d entries beneath %s", mostEntries, shown(p)), "Take parts of it one by one").
		With("path", p.String()).With("limit_entries", mostEntries)
}

func tooDeep(p confine.Path) error {
	return fault.New(fault.LimitReached, fmt.Sprintf("the directory %s is nested more than %d levels deep", shown(p), mostDepth), "Take the innermost directories first").
		With("path", p.String()).With("limit_levels", mostDepth)
}

// changedMeanwhile refuses a directory in which others write.
func changedMeanwhile(p confine.Path) error {
	return fault.New(fault.Exists, "something in "+shown(p)+" changed while it was being removed; it is where it was",
		"Look at what is there now, then try again").With("path", p.String())
}

// incomplete tells of a directory that could not be emptied.
func incomplete(p confine.Path, removed int, cause error) error {
	return fault.New(fault.Unavailable, fmt.Sprintf("%d entries of %s have been removed, then one could not be; the rest is where it was", removed, shown(p)),
		"Look at what is there now, then try again").With("path", p.String()).With("changed", true).Because(cause)
}

// errChanged says that a directory is not as it was found.
var errChanged = errors.New("another program changed the directory")
