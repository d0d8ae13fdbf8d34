//go:build linux || darwin

package replace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// A directory with more in it than this is neither removed nor moved: all of it is
// looked at first, and what has been seen is kept in memory.
const (
	maxEntries = 100_000
	maxDepth   = 128 // each level is an open directory
)

// mark is an entry below a directory, in the state in which it was found.
type mark struct {
	up    int // which mark its directory is; top: the directory itself
	name  string
	kind  uint32 // S_IFMT
	links uint64
	version
}

const top = -1

// tree is a directory that is held open, and all that was found below it.
type tree struct {
	file    *os.File
	version version
	marks   []mark // a directory before what is in it
	counts  Tree
	latest  int64 // when something in it changed last
}

// walkOptions are what a walk through a tree asks.
type walkOptions struct {
	paths  []confine.Path // what the directory is called; everything in it is judged under each
	rules  *Rules
	remove bool    // what cannot be removed is refused
	never  version // a directory that must not be met
}

// errMet says that the walk met the directory that it must not.
var errMet = errors.New("the directory is inside itself")

// openTree opens the entry, a directory of the same file system, and finds what is in it.
func (e *entry) openTree(ctx context.Context, o walkOptions) (*tree, error) {
	fd, err := openStep(e.fd, e.name)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil, errOutrun // it was a directory a moment ago
	case unix.EXDEV:
		return nil, isMount(e.path)
	default:
		return nil, err
	}
	t := &tree{file: os.NewFile(uintptr(fd), "directory")}
	var st, above unix.Stat_t
	err = errors.Join(unix.Fstat(fd, &st), unix.Fstat(e.fd, &above))
	t.version = versionOf(&st)
	switch {
	case err != nil:
	case st.Dev != above.Dev:
		err = isMount(e.path)
	case o.remove && st.Mode&0o222 == 0:
		err = readOnly(e.path)
	case t.version.sameFile(o.never):
		err = errMet
	default:
		err = t.walk(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	return t, nil
}

// level is a directory on the way down.
type level struct {
	fd    int
	mark  int
	paths []confine.Path
	names []string // that are still to be visited
}

// walk finds everything in the directory. Nothing is followed, and nothing but
// directories is opened.
func (t *tree) walk(ctx context.Context, o walkOptions) error {
	names, err := namesOf(int(t.file.Fd()), maxEntries+1) // one more is enough to be too many
	if err != nil {
		return err
	}
	way := []level{{fd: int(t.file.Fd()), mark: top, paths: o.paths, names: names}}
	defer func() {
		for _, l := range way[1:] {
			_ = unix.Close(l.fd) // nothing was written through it
		}
	}()
	for {
		l := &way[len(way)-1]
		if len(l.names) == 0 {
			if l.mark == top {
				return nil
			}
			_ = unix.Close(l.fd) // nothing was written through it
			way = way[:len(way)-1]
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := l.names[0]
		l.names = l.names[1:]
		next, err := t.visit(l, name, o)
		if err == nil && next != nil && len(way) > maxDepth {
			_ = unix.Close(next.fd)
			p := firstOf(o.paths)
			err = fault.New(fault.LimitReached, fmt.Sprintf("the directory %s is nested more than %d levels deep", shown(p), maxDepth),
				"Take the innermost directories first").
				With("path", p.String()).With("limit_levels", maxDepth)
		}
		if err != nil {
			return err
		}
		if next != nil {
			way = append(way, *next)
		}
	}
}

// visit marks one entry, unless it keeps the whole from being moved or removed. A
// directory is the next level.
func (t *tree) visit(l *level, name string, o walkOptions) (*level, error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(l.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
	case unix.ENOENT:
		return nil, errChanged
	default:
		return nil, err
	}
	m := mark{up: l.mark, name: name, kind: uint32(st.Mode) & unix.S_IFMT, links: uint64(st.Nlink), version: versionOf(&st)}
	paths, err := judged(l.paths, name, typeOf(m.kind), o.rules)
	if err != nil {
		return nil, err
	}
	p := firstOf(paths)
	switch kind := typeOf(m.kind); {
	case len(t.marks) >= maxEntries:
		dir := firstOf(o.paths)
		return nil, fault.New(fault.LimitReached, fmt.Sprintf("there are more than %d entries beneath %s", maxEntries, shown(dir)),
			"Take parts of it one by one").
			With("path", dir.String()).With("limit_entries", maxEntries)
	case m.dev != t.version.dev:
		return nil, isMount(p)
	case kind == confine.Directory && m.sameFile(o.never):
		return nil, errMet
	case kind == confine.Directory && o.remove && st.Mode&0o222 == 0:
		return nil, readOnly(p)
	case kind == confine.Directory:
		t.counts.Dirs++
	case kind == confine.File:
		t.counts.Files++
		t.counts.Bytes += m.size
	case kind == confine.Symlink:
		t.counts.Links++
	case o.remove:
		return nil, isSpecial(p)
	}
	t.marks = append(t.marks, m)
	t.latest = max(t.latest, m.mtime, m.ctime)
	if m.kind != unix.S_IFDIR {
		return nil, nil
	}

	fd, err := openMarked(l.fd, m)
	if err == unix.EXDEV {
		return nil, isMount(p)
	}
	if err != nil {
		return nil, err
	}
	names, err := namesOf(fd, maxEntries+1)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &level{fd: fd, mark: len(t.marks) - 1, paths: paths, names: names}, nil
}

// judged is what the entry is called, if nobody objects to any of it.
func judged(above []confine.Path, name string, kind confine.Type, rules *Rules) ([]confine.Path, error) {
	paths := make([]confine.Path, len(above))
	for i, dir := range above {
		p, err := dir.ChildAs(name, kind)
		if errors.Is(err, fault.OutsideAllowed) { // does not name the entry: no listing does
			return nil, fault.New(fault.OutsideAllowed,
				"the directory "+shown(above[0])+" holds entries that this server's configuration denies",
				"Leave it, or ask the person who runs this server").With("path", above[0].String()).With("denied", true)
		}
		if err == nil && rules != nil {
			err = rules.entry(p)
		}
		if err != nil {
			return nil, err
		}
		paths[i] = p
	}
	return paths, nil
}

func typeOf(kind uint32) confine.Type {
	switch kind {
	case unix.S_IFREG:
		return confine.File
	case unix.S_IFDIR:
		return confine.Directory
	case unix.S_IFLNK:
		return confine.Symlink
	}
	return confine.Other
}

// firstOf is a path for messages: Sweep has none.
func firstOf(paths []confine.Path) confine.Path {
	if len(paths) == 0 {
		return confine.Path{}
	}
	return paths[0]
}

// openMarked opens a directory, which must be the one that was marked.
func openMarked(dir int, m mark) (int, error) {
	fd, err := openStep(dir, m.name)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return -1, errChanged
	default:
		return -1, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && !m.sameFile(versionOf(&st)) {
		err = errChanged
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// unchanged goes through the tree again and compares every mark, times included.
func (t *tree) unchanged(ctx context.Context) (bool, error) {
	now := &tree{file: t.file, version: t.version}
	err := now.walk(ctx, walkOptions{remove: true})
	if errors.Is(err, errChanged) {
		return false, nil
	}
	return err == nil && slices.Equal(now.marks, t.marks), err
}

// clear removes what is marked, and only that, what is in a directory before the
// directory. Each directory is held open, and locked against all processes of this
// program; an entry that is not as it was marked ends it.
func (t *tree) clear(ctx context.Context, e *entry) (removed int, err error) {
	type stop struct{ mark, fd int }
	var way []stop // open directories, from the top to the one that is being emptied
	shorten := func(n int) {
		for _, s := range way[n:] {
			_ = unix.Close(s.fd) // nothing was written through it
		}
		way = way[:n]
	}
	enter := func(mark, fd int) error {
		way = append(way, stop{mark, fd})
		return e.lock(ctx, fd, false, "a directory in "+shown(e.path))
	}
	defer func() { shorten(1) }() // the top stays: it belongs to t
	if err := enter(top, int(t.file.Fd())); err != nil {
		return 0, err
	}
	for i := len(t.marks) - 1; i >= 0; i-- {
		// Go up to where the entry's directory branches off, then down to it. In this
		// order, each directory is opened once.
		var down []int
		at := t.marks[i].up
		for !slices.ContainsFunc(way, func(s stop) bool { return s.mark == at }) {
			down = append(down, at)
			at = t.marks[at].up
		}
		shorten(1 + slices.IndexFunc(way, func(s stop) bool { return s.mark == at }))
		for _, mark := range slices.Backward(down) {
			fd, err := openMarked(way[len(way)-1].fd, t.marks[mark])
			if err == nil {
				err = enter(mark, fd)
			}
			if err != nil {
				return removed, err
			}
		}
		if err := t.marks[i].unlink(way[len(way)-1].fd); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// unlink removes the entry of dir if it is as it was marked. A directory has changed by
// being emptied; the removal of one of several names changes the others' ctime.
func (m mark) unlink(dir int) error {
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, m.name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
	case unix.ENOENT:
		return errChanged
	default:
		return err
	}
	now, flags := versionOf(&st), 0
	same := m.sameState(now) && (m.links > 1 || m.ctime == now.ctime)
	if m.kind == unix.S_IFDIR {
		same, flags = m.sameFile(now), unix.AT_REMOVEDIR
	}
	if !same || uint32(st.Mode)&unix.S_IFMT != m.kind {
		return errChanged
	}
	err := unix.Unlinkat(dir, m.name, flags)
	if err == unix.ENOTEMPTY || err == unix.EEXIST || err == unix.ENOENT {
		return errChanged
	}
	return err
}
