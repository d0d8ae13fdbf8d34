//go:build linux || darwin

package replace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func (w *Writer) move(ctx context.Context, from, to confine.Path, o MoveOptions) (res MoveResult, err error) {
	err = w.atEntry(from, func(a *place) error {
		if _, err := a.kind(); err != nil {
			return err
		}
		return w.atEntry(to, func(b *place) error {
			leave, err := w.enterBoth(ctx, a, b)
			if err != nil {
				return err
			}
			defer leave()
			m := &moving{from: a, to: b, o: o}
			res, err = m.alone(ctx)
			return err
		})
	})
	return res, err
}

func (w *Writer) enterBoth(ctx context.Context, a, b *place) (leave func(), err error) {
	ka, err := a.key()
	if err != nil {
		return nil, err
	}
	kb, err := b.key()
	if err != nil {
		return nil, err
	}
	return w.order.enterBoth(ctx, ka, kb)
}

// moving is one move between two open directories.
type moving struct {
	from, to *place
	o        MoveOptions
	alias    bool // to is another spelling of from, to a file system that does not tell
}

// alone moves while no other process of this program sweeps either directory.
func (m *moving) alone(ctx context.Context) (res MoveResult, err error) {
	_, err = m.from.alone(ctx, func(*place) (Result, error) {
		return m.to.alone(ctx, func(*place) (Result, error) {
			res, err = m.do(ctx)
			return Result{}, err
		})
	})
	return res, err
}

func intoItself(p confine.Path) error {
	return fault.New(fault.ParamInvalid, "a directory cannot be moved into itself, to "+shown(p), "Choose a destination outside of it").
		With("path", p.String())
}

func ontoItself(p confine.Path) error {
	return fault.New(fault.ParamInvalid, shown(p)+" is the source and the destination", "Choose another name").
		With("path", p.String())
}

func sameInode(p confine.Path) error {
	return fault.New(fault.ParamInvalid, shown(p)+" is another name (hard link) of the file that is to be moved there", "Remove one of the two names instead").
		With("path", p.String())
}

func onlyFiles(p confine.Path) error {
	return fault.New(fault.ParamInvalid, "only a regular file can take the place of another, and "+shown(p)+" is there already", "Choose another name, or move what is there first").
		With("path", p.String())
}

func acrossFileSystems(p confine.Path, cause error) error {
	return fault.New(fault.Unavailable, shown(p)+" cannot be moved in one step: the destination is on another file system", "Make the directory there and move the files one by one").
		With("path", p.String()).Because(cause)
}

// cannotMove refuses where the file system offers no way that overwrites nothing.
func cannotMove(p confine.Path, cause error) error {
	return fault.New(fault.Unavailable, "the file system of "+shown(p)+" cannot move it without a risk to what another program puts there", "Leave it where it is").
		With("path", p.String()).Because(cause)
}

func (m *moving) do(ctx context.Context) (MoveResult, error) {
	outrun, stale := 0, 0
	for outrun < maxTries && stale < mostStale {
		res, err := m.once(ctx)
		switch {
		case errors.Is(err, errStale):
			stale++
		case errors.Is(err, errOutrun), errors.Is(err, errChanged):
			outrun++
		case err != nil:
			return MoveResult{}, err
		default:
			return res, nil
		}
	}
	return MoveResult{}, restless(m.from.path)
}

func (m *moving) once(ctx context.Context) (res MoveResult, err error) {
	if err := ctx.Err(); err != nil {
		return res, err
	}
	src, err := m.from.kind()
	if err != nil {
		return res, err
	}
	if res.Replaced, err = m.destination(src); err != nil {
		return res, err
	}
	for _, at := range []*place{m.from, m.to} {
		if err := at.judge(src.Type); err != nil {
			return res, err
		}
	}
	if res.Directory = src.Type == confine.Directory; res.Directory {
		err = m.directory(ctx)
	} else {
		res.Copied, err = m.file(ctx, res.Replaced)
	}
	if err != nil {
		return res, err
	}
	return res, m.durable()
}

// durable puts both directories on the disk.
func (m *moving) durable() error {
	return errors.Join(m.to.gone(nil), m.from.gone(nil))
}

// destination says whether there is a file that is to be replaced. Anything else that
// is there already is refused.
func (m *moving) destination(src confine.Info) (replaces bool, err error) {
	dst, err := m.to.kind()
	switch {
	case errors.Is(err, fault.NotFound):
		return false, nil
	case err != nil:
		return false, err
	case dst.Stamp.SameFile(src.Stamp):
		return false, m.sameThing()
	case !m.o.Overwrite:
		return false, taken(m.to.path, nil)
	case src.Type != confine.File || dst.Type != confine.File:
		return false, onlyFiles(m.to.path)
	}
	return true, nil
}

// sameThing tells two names of one file from two spellings of one name, of which a file
// system that ignores case takes the new one when it is renamed.
func (m *moving) sameThing() error {
	same, err := m.sameDirectory()
	if err != nil || !same {
		return errors.Join(err, sameInode(m.to.path))
	}
	if m.from.name == m.to.name {
		return ontoItself(m.to.path)
	}
	names, err := namesOf(m.to.at, mostEntries)
	if err != nil {
		return err
	}
	if slices.Contains(names, m.to.name) || len(names) > mostEntries {
		return sameInode(m.to.path)
	}
	m.alias = true
	return nil
}

func (m *moving) sameDirectory() (bool, error) {
	a, err := m.from.key()
	b, err2 := m.to.key()
	return a.dev == b.dev && a.ino == b.ino, errors.Join(err, err2)
}

func (m *moving) directory(ctx context.Context) error {
	never, err := m.to.held(".")
	if err != nil {
		return err
	}
	t, err := m.from.openTree(ctx, rounds{paths: []confine.Path{m.from.real, m.to.real}, rules: m.from.rules, never: never})
	if errors.Is(err, errMet) {
		return intoItself(m.to.path)
	}
	if err != nil {
		return err
	}
	defer t.file.Close() // nothing was written through it
	m.from.reached(beforeSwap)
	err = m.rename()
	if err == unix.EXDEV {
		return acrossFileSystems(m.from.path, err)
	}
	if unoffered(err) {
		err = m.refusal(m.to.renameAfterLook(m.from.at, m.from.name, m.to.name))
	}
	if err != nil {
		return err
	}
	return m.arrived(t.version.sameFile)
}

// rename gives the entry its new name if nothing is there. What the file system does
// not offer, and that there is another one, is told as it is.
func (m *moving) rename() error {
	switch {
	case m.alias:
		return m.refusal(unix.Renameat(m.from.at, m.from.name, m.to.at, m.to.name))
	case m.from.lacks.exclusive:
		return unix.ENOSYS
	}
	return m.refusal(again(func() error { return renameExclusive(m.from.at, m.from.name, m.to.at, m.to.name) }))
}

// refusal is what an error of a rename means.
func (m *moving) refusal(err error) error {
	switch err {
	case unix.EEXIST, unix.ENOTEMPTY, unix.ENOTDIR, unix.EISDIR:
		if m.o.Overwrite {
			return errOutrun // it came just now
		}
		return taken(m.to.path, err)
	case unix.ENOENT:
		return m.vanished(err)
	}
	return err
}

// vanished tells a directory that was removed under the destination from an entry that
// is not there any more.
func (m *moving) vanished(cause error) error {
	var st unix.Stat_t
	if err := unix.Fstat(m.to.at, &st); err != nil || st.Nlink == 0 {
		return errors.Join(err, fault.New(fault.NotFound, "the directory of "+shown(m.to.path)+" has been removed", "List what is there").
			With("path", m.to.path.String()).Because(cause))
	}
	return errOutrun
}

// arrived makes sure that what is at the destination is what was judged. Else it is
// another's, and goes back.
func (m *moving) arrived(is func(version) bool) error {
	m.from.reached(afterSwap)
	now, err := m.to.held(m.to.name)
	if err == unix.ENOENT || err == nil && is(now) {
		return nil // whoever took it from there has seen that it arrived
	}
	switch back := m.from.renameNew(m.to.at, m.to.name, m.from.name); back {
	case nil, unix.ENOENT:
	case unix.EEXIST:
		return m.from.keepAside(m.to.at, m.to.name)
	default:
		return back
	}
	return errors.Join(errOutrun, err)
}

// file moves a file, which is locked meanwhile, and so is the one that it replaces.
func (m *moving) file(ctx context.Context, replaces bool) (copied bool, err error) {
	src, old, err := m.lockBoth(ctx, replaces)
	if err != nil {
		return false, err
	}
	defer src.file.Close() // nothing was written through it
	if err := m.judgeContent(src); err != nil {
		return false, err
	}
	if old == nil {
		m.from.reached(beforeSwap)
		err = m.toNew(src)
	} else {
		defer old.file.Close() // nothing was written through it
		if err := m.to.show(ctx, old, m.o.Replaced); err != nil {
			return false, err
		}
		m.from.reached(beforeSwap)
		err = m.toOld(src, old)
	}
	if err == unix.EXDEV {
		return true, m.across(ctx, src, old)
	}
	return false, err
}

// lockBoth opens and locks the file, and the one that is to be replaced where there is
// one, in an order that is the same for everybody.
func (m *moving) lockBoth(ctx context.Context, replaces bool) (src, old *original, err error) {
	files := make([]*opened, 1, 2)
	if files[0], err = m.from.opened(unix.O_RDONLY); err != nil {
		return nil, nil, err
	}
	if replaces {
		to, err := m.to.openedForChange()
		if err != nil {
			return nil, nil, errors.Join(err, files[0].file.Close())
		}
		files = append(files, to)
	}
	first := files[0]
	slices.SortFunc(files, func(a, b *opened) int { return cmp.Or(cmp.Compare(a.dev, b.dev), cmp.Compare(a.ino, b.ino)) })
	for _, o := range files {
		if err == nil {
			o.original, err = o.at.originalOf(ctx, o.file)
		}
	}
	if err != nil {
		for _, o := range files {
			err = errors.Join(err, o.file.Close())
		}
		return nil, nil, err
	}
	for _, o := range files {
		if o != first {
			old = o.original
		}
	}
	return first.original, old, nil
}

// opened is a file that is to be locked.
type opened struct {
	at   *place
	file *os.File
	version
	original *original
}

func (at *place) opened(flags int) (*opened, error) {
	f, err := at.openOriginal(flags)
	if err != nil {
		return nil, err
	}
	v, err := versionOfFile(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &opened{at: at, file: f, version: v}, nil
}

// openedForChange refuses what Replace would refuse to change.
func (at *place) openedForChange() (*opened, error) {
	info, err := at.kind()
	if errors.Is(err, fault.NotFound) {
		return nil, errStale
	}
	if err == nil && info.Mode.Perm()&0o222 == 0 {
		err = readOnly(at.path)
	}
	if err != nil {
		return nil, err
	}
	return at.opened(originalFlags)
}

// judgeContent asks about what is about to stand under the new name.
func (m *moving) judgeContent(src *original) error {
	if m.to.rules.Content == nil {
		return nil
	}
	b, err := sample(src.file, src.version.size)
	if err == io.EOF {
		return errOutrun // it is shorter by now
	}
	if err != nil {
		return err
	}
	return m.to.rules.content(m.to.real, b, src.mode)
}

// toNew moves the file to where nothing is.
func (m *moving) toNew(src *original) error {
	err := m.rename()
	if unoffered(err) {
		return m.byLink(src)
	}
	if err != nil {
		return err
	}
	return m.arrived(src.version.sameState)
}

// byLink gives the file its new name before it loses the old one. The link is taken
// back where the file is not the one that was judged.
func (m *moving) byLink(src *original) error {
	switch err := unix.Linkat(m.from.at, m.from.name, m.to.at, m.to.name, 0); err {
	case nil:
	case unix.EPERM, unix.ENOSYS, unix.EOPNOTSUPP:
		return cannotMove(m.from.path, err)
	default:
		return m.refusal(err)
	}
	m.from.reached(afterSwap)
	linked, err := m.to.held(m.to.name)
	var draft string
	if err == nil && !src.version.sameState(linked) {
		err = errOutrun
	}
	if err == nil {
		draft, err = m.from.takeOut(src.version.sameState)
	}
	if err != nil {
		return errors.Join(err, m.to.discard(linked))
	}
	return unix.Unlinkat(m.from.at, draft, 0)
}

// discard removes the entry if it is the file v, which exists elsewhere too.
func (at *place) discard(v version) error {
	draft, err := at.takeOut(v.sameFile)
	if errors.Is(err, errOutrun) {
		return nil // it is gone, or another's
	}
	if err != nil {
		return err
	}
	return unix.Unlinkat(at.at, draft, 0)
}

// toOld lets both files change places and removes the one that came out.
func (m *moving) toOld(src, old *original) error {
	err := error(unix.ENOSYS)
	if !m.to.lacks.exchange {
		err = m.exchange()
	}
	switch {
	case unoffered(err):
		return m.overOld(src, old)
	case err != nil:
		return m.refusal(err)
	}
	m.from.reached(afterSwap)
	in, err := m.to.held(m.to.name)
	out, err2 := m.from.held(m.from.name)
	if err != nil || err2 != nil || !src.version.sameState(in) || !old.version.sameState(out) {
		return m.swapBack()
	}
	draft, err := m.from.takeOut(old.version.sameState)
	switch {
	case err == nil:
		return unix.Unlinkat(m.from.at, draft, 0)
	case !errors.Is(err, errOutrun):
		return err
	}
	if out, err := m.from.held(m.from.name); err != nil || !out.sameFile(old.version) {
		return nil // another program has taken it away already, or put something in its place
	}
	return m.swapBack()
}

func (m *moving) exchange() error {
	return again(func() error { return exchange(m.from.at, m.from.name, m.to.at, m.to.name) })
}

// swapBack undoes an exchange after which something was not as it should be. Where one
// of the two is gone meanwhile, the other goes back alone.
func (m *moving) swapBack() error {
	err := m.exchange()
	if err != unix.ENOENT {
		return errors.Join(errOutrun, err)
	}
	err = m.to.renameNew(m.from.at, m.from.name, m.to.name)
	if err == unix.EEXIST || err == unix.ENOENT {
		err = m.from.renameNew(m.to.at, m.to.name, m.from.name)
	}
	if err == unix.EEXIST || err == unix.ENOENT {
		err = nil // there is nothing left to put back, or it is where it belongs
	}
	return errors.Join(errOutrun, err)
}

// overOld is toOld without an exchange: after a last look the old file is overwritten.
func (m *moving) overOld(src, old *original) error {
	in, err := m.from.held(m.from.name)
	out, err2 := m.to.held(m.to.name)
	if err != nil || err2 != nil || in != src.version || out != old.version {
		return errOutrun
	}
	if err := unix.Renameat(m.from.at, m.from.name, m.to.at, m.to.name); err != nil {
		return m.refusal(err)
	}
	return m.arrived(src.version.sameState)
}
