//go:build linux || darwin

package replace

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// mark is an entry beneath a directory, in the state in which it was found.
type mark struct {
	up    int // which mark its directory is; top: the directory itself
	name  string
	kind  uint32 // S_IFMT
	links uint64
	version
}

const top = -1

// tree is a directory that is held open, and all that was found beneath it.
type tree struct {
	file    *os.File
	version version
	marks   []mark // a directory before what is in it
	counts  Tree
	latest  int64 // when something in it changed last
}

// rounds says what a walk through a tree asks.
type rounds struct {
	paths  []confine.Path // what the directory is called; everything beneath is judged under each
	rules  *Rules
	remove bool    // what cannot be removed is refused
	never  version // a directory that must not be met
}

// errMet says that the walk met the directory that it must not.
var errMet = errors.New("the directory is beneath itself")

// openTree opens the entry, a directory of the same file system, and finds what is in it.
func (at *place) openTree(ctx context.Context, r rounds) (*tree, error) {
	fd, err := openStep(at.at, at.name)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil, errOutrun // it was a directory a moment ago
	case unix.EXDEV:
		return nil, isMount(at.path)
	default:
		return nil, err
	}
	t := &tree{file: os.NewFile(uintptr(fd), "directory")}
	var st, above unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstat(at.at, &above)); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	t.version = versionOf(&st)
	switch {
	case st.Dev != above.Dev:
		err = isMount(at.path)
	case r.remove && st.Mode&0o222 == 0:
		err = readOnly(at.path)
	case t.version.sameFile(r.never):
		err = errMet
	default:
		err = t.walk(ctx, r)
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

// walk finds everything beneath the directory. Nothing is followed, and nothing but
// directories is opened.
func (t *tree) walk(ctx context.Context, r rounds) error {
	names, err := namesOf(int(t.file.Fd()), mostEntries)
	if err != nil {
		return err
	}
	way := []level{{fd: int(t.file.Fd()), mark: top, paths: r.paths, names: names}}
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
		next, err := t.visit(l, name, r)
		if err == nil && next != nil && len(way) > mostDepth {
			_ = unix.Close(next.fd)
			err = tooDeep(calledAt(r.paths))
		}
		if err != nil {
			return err
		}
		if next != nil {
			way = append(way, *next)
		}
	}
}

// visit marks one entry. A directory is the next level.
func (t *tree) visit(l *level, name string, r rounds) (*level, error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(l.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
	case unix.ENOENT:
		return nil, errChanged
	default:
		return nil, err
	}
	m := mark{up: l.mark, name: name, kind: uint32(st.Mode) & unix.S_IFMT, links: uint64(st.Nlink), version: versionOf(&st)}
	paths, err := judged(l.paths, name, m.kind, r)
	if err == nil {
		err = t.admit(m, &st, calledAt(paths), r)
	}
	if err != nil {
		return nil, err
	}
	t.marks = append(t.marks, m)
	t.latest = max(t.latest, m.mtime, m.ctime)
	if m.kind != unix.S_IFDIR {
		return nil, nil
	}
	return t.enter(l.fd, name, paths, m)
}

// judged is what the entry is called, if nobody objects to any of it.
func judged(above []confine.Path, name string, kind uint32, r rounds) ([]confine.Path, error) {
	paths := make([]confine.Path, len(above))
	for i, dir := range above {
		p, err := dir.ChildAs(name, typeOf(kind))
		if errors.Is(err, fault.OutsideAllowed) {
			return nil, holdsDenied(calledAt(above))
		}
		if err == nil && r.rules != nil {
			err = r.rules.entry(p)
		}
		if err != nil {
			return nil, err
		}
		paths[i] = p
	}
	return paths, nil
}

// holdsDenied does not name the entry: no listing does.
func holdsDenied(dir confine.Path) error {
	return fault.New(fault.OutsideAllowed, "the directory "+shown(dir)+" holds entries that this server's configuration denies",
		"Leave it, or ask the person who runs this server").With("path", dir.String()).With("denied", true)
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

// calledAt is a path for messages.
func calledAt(paths []confine.Path) confine.Path {
	if len(paths) == 0 {
		return confine.Path{}
	}
	return paths[0]
}

// admit counts an entry, unless it keeps the whole from being moved or removed.
func (t *tree) admit(m mark, st *unix.Stat_t, p confine.Path, r rounds) error {
	switch {
	case len(t.marks) >= mostEntries:
		return tooMany(calledAt(r.paths))
	case m.dev != t.version.dev:
		return isMount(p)
	case m.kind == unix.S_IFDIR && m.sameFile(r.never):
		return errMet
	case m.kind == unix.S_IFDIR && r.remove && st.Mode&0o222 == 0:
		return readOnly(p)
	case typeOf(m.kind) == confine.Other && r.remove:
		return isSpecial(p)
	}
	switch typeOf(m.kind) {
	case confine.File:
		t.counts.Files++
		t.counts.Bytes += m.size
	case confine.Directory:
		t.counts.Dirs++
	case confine.Symlink:
		t.counts.Links++
	}
	return nil
}

// enter opens a directory that has just been marked.
func (t *tree) enter(dir int, name string, paths []confine.Path, m mark) (*level, error) {
	fd, err := openMarked(dir, name, m)
	if err == unix.EXDEV {
		return nil, isMount(calledAt(paths))
	}
	if err != nil {
		return nil, err
	}
	names, err := namesOf(fd, mostEntries)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &level{fd: fd, mark: len(t.marks) - 1, paths: paths, names: names}, nil
}

func openMarked(dir int, name string, m mark) (int, error) {
	fd, err := openStep(dir, name)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return -1, errChanged
	default:
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	if !m.sameFile(versionOf(&st)) {
		return -1, errors.Join(errChanged, unix.Close(fd))
	}
	return fd, nil
}

// namesOf lists an open directory from its start, in order. More than most names are
// not read: one more than that is enough to be too many.
func namesOf(dir, most int) ([]string, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "directory")
	names, err := f.Readdirnames(most + 1)
	if err == io.EOF {
		err = nil // it is empty
	}
	slices.Sort(names)
	return names, errors.Join(err, f.Close())
}

// unchanged goes through the tree again.
func (t *tree) unchanged(ctx context.Context) (bool, error) {
	now := &tree{file: t.file, version: t.version}
	err := now.walk(ctx, rounds{remove: true})
	if errors.Is(err, errChanged) {
		return false, nil
	}
	return err == nil && slices.Equal(now.marks, t.marks), err
}

func (at *place) removeTree(ctx context.Context, look func(*confine.Dir, Tree) error) error {
	info, err := at.kind()
	if err != nil {
		return err
	}
	if info.Type != confine.Directory {
		_, err := at.dir.OpenDir(at.name) // says what it is instead
		return err
	}
	if err := at.judge(confine.Directory); err != nil {
		return err
	}
	t, err := at.openTree(ctx, rounds{paths: []confine.Path{at.real}, rules: at.rules, remove: true})
	if err == nil {
		defer t.file.Close() // nothing was written through it
		err = at.removeMarked(ctx, t, look)
	}
	if _, told := errors.AsType[*fault.Error](err); !told && (errors.Is(err, errOutrun) || errors.Is(err, errChanged)) {
		return changedMeanwhile(at.path)
	}
	return err
}

func (at *place) removeMarked(ctx context.Context, t *tree, look func(*confine.Dir, Tree) error) error {
	if err := at.showTree(ctx, t, look); err != nil {
		return err
	}
	at.reached(beforeSwap)
	draft, err := at.takeOut(t.version.sameFile)
	if err != nil {
		return err
	}
	same, err := t.unchanged(ctx)
	if !same || err != nil {
		return errors.Join(at.putIn(draft), errChanged, err)
	}
	removed, err := t.clear(context.WithoutCancel(ctx), at)
	if err == nil {
		err = unix.Unlinkat(at.at, draft, unix.AT_REMOVEDIR)
	}
	if err != nil {
		return at.partly(draft, removed, err)
	}
	return at.gone(nil)
}

// partly puts back a directory that could not be emptied.
func (at *place) partly(draft string, removed int, cause error) error {
	err := at.putIn(draft)
	if removed == 0 || err != nil {
		return errors.Join(err, cause)
	}
	return incomplete(at.path, removed, cause)
}

func (at *place) showTree(ctx context.Context, t *tree, look func(*confine.Dir, Tree) error) error {
	if err := calm(ctx, t.latest); err != nil {
		return err
	}
	d, err := at.dir.OpenDir(at.name)
	if err != nil {
		return err
	}
	defer d.Close() // only for reading
	var st unix.Stat_t
	err = d.LendDir(func(fd uintptr) error { return unix.Fstat(int(fd), &st) })
	if err == nil && !t.version.sameFile(versionOf(&st)) {
		err = errChanged
	}
	if err == nil && look != nil {
		err = look(d, t.counts)
	}
	if err == nil {
		err = ctx.Err() // the last moment at which nothing has happened
	}
	return err
}
