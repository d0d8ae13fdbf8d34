//go:build linux || darwin

package replace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Move gives what is under from the name to, in one step. Nothing is overwritten unless
// o.Overwrite is set; both files then change places, what came out is looked at, and
// both go back where it is not the file that o.Replaced was shown. What arrived is
// looked at too: where it is not what was judged, it goes back. Both is tried again a
// few times; after that it is fault.Unavailable.
//
// The directory of to must be there. A symbolic link under either name is
// fault.Forbidden; a directory into itself, a name onto itself and two hard links of one
// file are fault.ParamInvalid. A directory is gone through first, as for RemoveTree, and
// everything in it is asked about under both names.
//
// A file for another file system is copied, with its permissions, times and attributes
// and, where possible, its owner, and removed when the copy is on the disk and still the
// same; a directory is fault.Unavailable then. Where a file system cannot rename without
// overwriting, a file gets its second name before it loses the first, and for a directory
// a look at the new name decides: an empty directory that another program makes there at
// that instant is lost. Where two files cannot change places, a last look at both does,
// but a file from another file system is fault.Unavailable.
//
// A process that is killed meanwhile leaves the file under the old name or the new one,
// whole, or under both; one that it was to replace may then be under the old name.
func (w *Writer) Move(ctx context.Context, from, to confine.Path, o MoveOptions) (MoveResult, error) {
	a, err := w.open(from, false, &w.rules)
	if err != nil {
		return MoveResult{}, err
	}
	defer a.close()
	if _, err := a.kind(); err != nil {
		return MoveResult{}, a.explained(err)
	}
	b, err := w.open(to, false, &w.rules)
	if err != nil {
		return MoveResult{}, a.explained(err)
	}
	defer b.close()
	if err := w.exclude(ctx, a, b); err != nil {
		return MoveResult{}, b.explained(err)
	}

	m := &moving{from: a, to: b, o: o}
	for outrun, stale := 0, 0; outrun < maxTries && stale < maxStale; {
		res, err := m.once(ctx)
		switch {
		case errors.Is(err, errStale):
			stale++
		case errors.Is(err, errOutrun), errors.Is(err, errChanged):
			outrun++
		case err != nil:
			return MoveResult{}, b.explained(err)
		default:
			return res, nil
		}
	}
	return MoveResult{}, restless(from)
}

// moving is one move between two open directories.
type moving struct {
	from, to *entry
	o        MoveOptions
	alias    bool // to is another spelling of from, to a file system that ignores case
}

func (m *moving) once(ctx context.Context) (res MoveResult, err error) {
	if err := ctx.Err(); err != nil {
		return res, err
	}
	src, err := m.from.kind()
	if err != nil {
		return res, err
	}
	dst, err := m.to.kind()
	switch {
	case errors.Is(err, fault.NotFound):
	case err != nil:
		return res, err
	case dst.Stamp.SameFile(src.Stamp):
		if err := m.sameThing(); err != nil {
			return res, err
		}
	case !m.o.Overwrite:
		return res, taken(m.to.path, nil)
	case src.Type != confine.File || dst.Type != confine.File:
		return res, fault.New(fault.ParamInvalid,
			"only a regular file can take the place of another, and "+shown(m.to.path)+" is there already",
			"Choose another name, or move what is there first")
	default:
		res.Replaced = true
	}
	for _, e := range []*entry{m.from, m.to} {
		if err := e.judge(src.Type); err != nil {
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
	return res, errors.Join(m.to.sync(), m.from.sync())
}

// sameThing tells two names of one file from two spellings of one name, of which a file
// system that ignores case takes the new one when it is renamed.
func (m *moving) sameThing() error {
	sameInode := fault.New(fault.ParamInvalid, shown(m.to.path)+" is another name (hard link) of the file that is to be moved there",
		"Remove one of the two names instead")
	a, err := m.from.key()
	b, err2 := m.to.key()
	if err := errors.Join(err, err2); err != nil || a.dev != b.dev || a.ino != b.ino {
		return errors.Join(err, sameInode)
	}
	if m.from.name == m.to.name {
		return fault.New(fault.ParamInvalid, shown(m.to.path)+" is the source and the destination", "Choose another name")
	}
	names, err := namesOf(m.to.fd, maxEntries+1)
	if err != nil {
		return err
	}
	if slices.Contains(names, m.to.name) || len(names) > maxEntries {
		return sameInode
	}
	m.alias = true
	return nil
}

func (m *moving) directory(ctx context.Context) error {
	never, err := m.to.version(".")
	if err != nil {
		return err
	}
	t, err := m.from.openTree(ctx, walkOptions{paths: []confine.Path{m.from.real, m.to.real}, rules: m.from.rules, never: never})
	if errors.Is(err, errMet) {
		return fault.New(fault.ParamInvalid, "a directory cannot be moved into itself, to "+shown(m.to.path),
			"Choose a destination outside of it")
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
		err = m.refusal(m.to.renameAfterLook(m.from.fd, m.from.name, m.to.name))
	}
	if err != nil {
		return err
	}
	return m.arrived(t.version.sameFile)
}

// rename gives the entry its new name if nothing is there. What the file system does
// not offer, and that there is another one, is returned as it is.
func (m *moving) rename() error {
	if m.alias {
		return m.refusal(unix.Renameat(m.from.fd, m.from.name, m.to.fd, m.to.name))
	}
	return m.refusal(m.from.lacks.renameExclusive(m.from.fd, m.from.name, m.to.fd, m.to.name))
}

// refusal is what an error of a rename means.
func (m *moving) refusal(err error) error {
	switch err {
	case unix.EEXIST, unix.ENOTEMPTY, unix.ENOTDIR, unix.EISDIR:
		if m.o.Overwrite {
			return errOutrun // it came just now
		}
		return taken(m.to.path, err)
	case unix.ENOENT: // the directory was removed under the destination, or the entry is gone
		var st unix.Stat_t
		if failed := unix.Fstat(m.to.fd, &st); failed != nil || st.Nlink == 0 {
			return errors.Join(failed, fault.New(fault.NotFound, "the directory of "+shown(m.to.path)+" has been removed",
				"List what is there").
				With("path", m.to.path.String()).Because(err))
		}
		return errOutrun
	}
	return err
}

// arrived makes sure that what is at the destination is what was judged. Else it is
// another's, and goes back.
func (m *moving) arrived(is func(version) bool) error {
	m.from.reached(afterSwap)
	now, err := m.to.version(m.to.name)
	if err == unix.ENOENT || err == nil && is(now) {
		return nil // whoever took it from there has seen that it arrived
	}
	switch back := m.from.renameNew(m.to.fd, m.to.name, m.from.name); back {
	case nil, unix.ENOENT:
		return errors.Join(errOutrun, err)
	case unix.EEXIST:
		return m.from.keepAside(m.to.fd, m.to.name)
	default:
		return back
	}
}

// file moves a file, which is locked meanwhile, and so is the one that it replaces.
func (m *moving) file(ctx context.Context, replaces bool) (copied bool, err error) {
	src, old, err := m.lockBoth(ctx, replaces)
	if err != nil {
		return false, err
	}
	defer src.file.Close() // nothing was written through it
	if m.to.rules.Content != nil {
		b, err := sample(src.file, src.version.size)
		if err == io.EOF {
			return false, errOutrun // it is shorter by now
		}
		if err == nil {
			err = m.to.rules.content(m.to.real, b, src.mode)
		}
		if err != nil {
			return false, err
		}
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
	if src, err = m.from.openOriginal(unix.O_RDONLY); err != nil {
		return nil, nil, err
	}
	files := []*original{src}
	if replaces {
		var info confine.Info
		info, err = m.to.kind()
		switch {
		case errors.Is(err, fault.NotFound):
			err = errStale
		case err == nil && info.Mode.Perm()&0o222 == 0:
			err = readOnly(m.to.path) // as Replace would refuse to change it
		case err == nil:
			old, err = m.to.openOriginal(originalFlags)
		}
		if err == nil {
			files = append(files, old)
		}
	}
	for _, o := range files {
		if err == nil {
			o.version, err = versionOfFile(o.file)
		}
	}
	// Two moves in opposite directions must not wait for each other's file.
	slices.SortStableFunc(files, func(a, b *original) int {
		return cmp.Or(cmp.Compare(a.version.dev, b.version.dev), cmp.Compare(a.version.ino, b.version.ino))
	})
	for _, o := range files {
		if err == nil {
			err = o.lock(ctx)
		}
	}
	if err != nil {
		for _, o := range files {
			err = errors.Join(err, o.file.Close())
		}
		return nil, nil, err
	}
	return src, old, nil
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
	switch err := unix.Linkat(m.from.fd, m.from.name, m.to.fd, m.to.name, 0); err {
	case nil:
	case unix.EPERM, unix.ENOSYS, unix.EOPNOTSUPP:
		return cannotMove(m.from.path, err)
	default:
		return m.refusal(err)
	}
	m.from.reached(afterSwap)
	linked, err := m.to.version(m.to.name)
	if err == nil && !src.version.sameState(linked) {
		err = errOutrun
	}
	var draft string
	if err == nil {
		draft, err = m.from.takeOut(src.version.sameState)
	}
	if err != nil {
		return errors.Join(err, m.to.unlinkIfThere(linked.sameFile))
	}
	// From here on the new name is the only one that Sweep does not remove, so that it stays
	// whatever comes of this.
	return unlinkat(m.from.fd, draft, 0)
}

// toOld lets both files change places and removes the one that came out.
func (m *moving) toOld(src, old *original) error {
	err := m.to.lacks.swapNames(m.from.fd, m.from.name, m.to.fd, m.to.name)
	switch {
	case unoffered(err):
		return m.overOld(src, old)
	case err != nil:
		return m.refusal(err)
	}
	m.from.reached(afterSwap)
	// Both files still exist, under each other's names. Only when both are the ones that
	// were judged and shown does one of them go.
	in, err := m.to.version(m.to.name)
	out, err2 := m.from.version(m.from.name)
	if err != nil || err2 != nil || !src.version.sameState(in) || !old.version.sameState(out) {
		return m.swapBack()
	}
	if err := m.from.unlinkOnly(old.version.sameState); !errors.Is(err, errOutrun) {
		return err
	}
	if out, err := m.from.version(m.from.name); err != nil || !out.sameFile(old.version) {
		return nil // another program has taken it away already, or put something in its place
	}
	return m.swapBack()
}

// swapBack undoes an exchange after which something was not as it should be. Where one
// of the two is gone meanwhile, the other goes back alone.
func (m *moving) swapBack() error {
	err := m.to.lacks.swapNames(m.from.fd, m.from.name, m.to.fd, m.to.name)
	if err != unix.ENOENT {
		return errors.Join(errOutrun, err)
	}
	err = m.to.renameNew(m.from.fd, m.from.name, m.to.name)
	if err == unix.EEXIST || err == unix.ENOENT {
		err = m.from.renameNew(m.to.fd, m.to.name, m.from.name)
	}
	if err == unix.EEXIST || err == unix.ENOENT {
		err = nil // there is nothing left to put back, or it is where it belongs
	}
	return errors.Join(errOutrun, err)
}

// overOld is toOld without an exchange: after a last look the old file is overwritten.
func (m *moving) overOld(src, old *original) error {
	in, err := m.from.version(m.from.name)
	out, err2 := m.to.version(m.to.name)
	if err != nil || err2 != nil || in != src.version || out != old.version {
		return errOutrun
	}
	if err := unix.Renameat(m.from.fd, m.from.name, m.to.fd, m.to.name); err != nil {
		return m.refusal(err)
	}
	return m.arrived(src.version.sameState)
}

func acrossFileSystems(p confine.Path, cause error) error {
	return fault.New(fault.Unavailable, shown(p)+" cannot be moved in one step: the destination is on another file system",
		"Make the directory there and move the files one by one").
		With("path", p.String()).Because(cause)
}

// cannotMove refuses where the file system offers no way that overwrites nothing.
func cannotMove(p confine.Path, cause error) error {
	return fault.New(fault.Unavailable, "the file system of "+shown(p)+" cannot move it without a risk to what another program puts there",
		"Leave it where it is").
		With("path", p.String()).Because(cause)
}
