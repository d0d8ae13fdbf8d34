//go:build linux || darwin

package replace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Remove takes the file p away if it is still the one that look was shown: it gets a
// name that nobody else knows, is looked at, and unlinked, or put back where it is not
// the same. In that case, and only then, look is called again, a few times; after that
// it is fault.Unavailable. look reads f from its start and may keep what is in it; its
// error ends the removal. Where something new took the name before another's version
// could go back, that version stays beside it, under the name in kept_as of the details.
//
// A file that is read-only is fault.PermissionDenied, as it would be for Replace, and a
// symbolic link fault.Forbidden. What Remove cannot see is a program that keeps the file
// open and writes into it after it was looked at, nor, where times are coarser than the
// kernel's clock, a write of the same length in the instant of the last one.
func (w *Writer) Remove(ctx context.Context, p confine.Path, look func(f *os.File, info confine.Info) error) error {
	e, err := w.openAlone(ctx, p, false)
	if err != nil {
		return err
	}
	defer e.close()
	for range maxTries {
		if err := e.removeOnce(ctx, look); !errors.Is(err, errOutrun) {
			return e.explained(err)
		}
	}
	return restless(p)
}

func (e *entry) removeOnce(ctx context.Context, look func(*os.File, confine.Info) error) error {
	if _, err := e.kind(); err != nil {
		return err
	}
	old, err := e.original(ctx)
	if err != nil {
		return err
	}
	defer old.file.Close() // nothing was written through it
	if err := e.judge(confine.File); err != nil {
		return err
	}
	if err := e.show(ctx, old, look); err != nil {
		return err
	}
	e.reached(beforeSwap)
	if err := e.unlinkOnly(old.version.sameState); err != nil {
		return err
	}
	return e.sync()
}

// Link makes a symbolic link with the text target, for putting back what was one. It
// never overwrites. Where the link leads is judged when somebody opens it.
func (w *Writer) Link(ctx context.Context, p confine.Path, target string) error {
	e, err := w.openAlone(ctx, p, false)
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.judge(confine.Symlink); err != nil {
		return e.explained(err)
	}
	switch err = unix.Symlinkat(target, e.fd, e.name); err {
	case nil:
		err = e.sync()
	case unix.EEXIST:
		err = taken(p, err)
	case unix.ENOENT, unix.EINVAL: // an empty target or one with a NUL, or the directory is gone
		err = fault.New(fault.ParamInvalid, "no link can be made there", "Give the link a target, and a directory that exists").Because(err)
	}
	return e.explained(err)
}

// show calls look with the file old, which is the same before and after.
func (e *entry) show(ctx context.Context, old *original, look func(*os.File, confine.Info) error) error {
	if err := waitTick(ctx, max(old.version.mtime, old.version.ctime)); err != nil {
		return err
	}
	f, info, err := e.dir.Open(e.name)
	if errors.Is(err, fault.NotFound) {
		return errOutrun
	}
	if err != nil {
		return err
	}
	defer f.Close() // only for reading
	if !old.is(info.Stamp) {
		return errOutrun
	}
	if look != nil {
		if err := look(f, info); err != nil {
			return err
		}
	}
	if now, err := versionOfFile(f); err != nil || now != old.version {
		return errors.Join(errOutrun, err)
	}
	return ctx.Err() // the last moment at which nothing has happened
}

// waitTick waits until what was last changed at that time cannot change again and keep
// its time stamp. Without it, two writes within one step of the kernel's clock look like
// one version, and the second would be removed unseen.
func waitTick(ctx context.Context, changed int64) error {
	const tick = 20 * time.Millisecond // longer than the clock of the kernel takes for a step
	if time.Since(time.Unix(0, changed)).Abs() > tick {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(tick):
		return nil
	}
}

// takeOut gives the entry the name of a draft, where nobody looks for it, if it is what
// it should be then. Else it is put back and was another's: errOutrun. An unlink by the
// name itself could remove what another program put there after the last look; nothing
// in the kernel unlinks an open file.
func (e *entry) takeOut(is func(version) bool) (draft string, err error) {
	draft = draftName()
	switch err := unix.Renameat(e.fd, e.name, e.fd, draft); err {
	case nil:
	case unix.ENOENT:
		return "", errOutrun
	default:
		return "", err
	}
	e.reached(afterSwap)
	now, err := e.version(draft)
	if err == nil && is(now) {
		return draft, nil
	}
	if err := e.putIn(draft); err != nil {
		return "", err
	}
	return "", errors.Join(errOutrun, err)
}

// unlinkOnly removes the entry if it is what it should be once nobody else can find it.
func (e *entry) unlinkOnly(is func(version) bool) error {
	draft, err := e.takeOut(is)
	if err != nil {
		return err
	}
	return unlinkat(e.fd, draft, 0)
}

// unlinkIfThere is unlinkOnly for what may be gone, or another's.
func (e *entry) unlinkIfThere(is func(version) bool) error {
	if err := e.unlinkOnly(is); !errors.Is(err, errOutrun) {
		return err
	}
	return nil
}

// putIn gives back its name to what was taken out. Where the name has been taken
// meanwhile, both stay: what was taken out is not ours to lose.
func (e *entry) putIn(draft string) error {
	err := e.renameNew(e.fd, draft, e.name)
	switch err {
	case unix.EEXIST:
		return e.keepAside(e.fd, draft)
	case unix.ENOENT:
		return nil
	}
	return err
}

// keepAside gives what is under name in dir a name beside the entry, which Sweep does
// not know, and says so.
func (e *entry) keepAside(dir int, name string) error {
	const longest = 255
	suffix := ".kept-" + randomHex(4)
	aside := e.name[:min(len(e.name), longest-len(suffix))] + suffix
	if err := e.renameNew(dir, name, aside); err != nil {
		return err
	}
	return fault.New(fault.Unavailable,
		shown(e.path)+" is being changed by other programs; one version of it is beside it now, under another name",
		"Compare both, then try again").With("path", e.path.String()).With("kept_as", aside).With("changed", true)
}

// renameNew moves from, an entry of the directory dir, to a name in this directory, and
// overwrites nothing. Without exclusive renaming, what is no directory gets its second
// name before it loses the first; for a directory, a look must do.
func (e *entry) renameNew(dir int, from, to string) error {
	err := e.lacks.renameExclusive(dir, from, e.fd, to)
	if !unoffered(err) {
		return err
	}
	switch err := unix.Linkat(dir, from, e.fd, to, 0); err {
	case nil:
		return unlinkat(dir, from, 0)
	case unix.EPERM, unix.EISDIR, unix.EMLINK, unix.ENOSYS, unix.EOPNOTSUPP:
		return e.renameAfterLook(dir, from, to)
	default:
		return err
	}
}

func (e *entry) renameAfterLook(dir int, from, to string) error {
	switch _, err := e.version(to); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return unix.Renameat(dir, from, e.fd, to)
	default:
		return err
	}
}

// RemoveTree takes the directory p away, with everything in it, if nothing in it
// has changed since look was shown it. All of it is found first, at most 100,000
// entries, and each is asked about; then look is called with the open directory and the
// counts. The directory gets a name that nobody else knows, is gone through again, put
// back where anything is not as it was (fault.Exists), and else emptied by descriptors.
//
// What a process that is killed meanwhile leaves, Sweep removes: look has been shown
// everything before the directory gets that name. FIFOs, sockets, devices, other file
// systems and read-only directories are refused, as are links under the name itself;
// read-only files in the directory are not. Where another program writes into the
// directory although its name is gone, the removal ends at what it wrote, and what is
// left is put back (changed in the details).
func (w *Writer) RemoveTree(ctx context.Context, p confine.Path, look func(d *confine.Dir, s Tree) error) error {
	e, err := w.openAlone(ctx, p, false)
	if err != nil {
		return err
	}
	defer e.close()
	err = e.removeTree(ctx, look)
	if _, explained := errors.AsType[*fault.Error](err); !explained && (errors.Is(err, errOutrun) || errors.Is(err, errChanged)) {
		return fault.New(fault.Exists, "something in "+shown(p)+" changed while it was being removed; it is where it was",
			"Look at what is there now, then try again").With("path", p.String())
	}
	return e.explained(err)
}

func (e *entry) removeTree(ctx context.Context, look func(*confine.Dir, Tree) error) error {
	info, err := e.kind()
	if err != nil {
		return err
	}
	if info.Type != confine.Directory {
		_, err := e.dir.OpenDir(e.name) // says what it is instead
		return err
	}
	if err := e.judge(confine.Directory); err != nil {
		return err
	}
	t, err := e.openTree(ctx, walkOptions{paths: []confine.Path{e.real}, rules: e.rules, remove: true})
	if err != nil {
		return err
	}
	defer t.file.Close() // nothing was written through it
	if err := e.showTree(ctx, t, look); err != nil {
		return err
	}

	e.reached(beforeSwap)
	draft, err := e.takeOut(t.version.sameFile)
	if err != nil {
		return err
	}
	// Under its new name nobody comes in by a path. What is still written by descriptors
	// is found here, or by clear, which ends at the first entry that is not as marked.
	same, err := t.unchanged(ctx)
	if !same || err != nil {
		return errors.Join(e.putIn(draft), errChanged, err)
	}
	removed, err := t.clear(context.WithoutCancel(ctx), e)
	if err == nil {
		err = unlinkat(e.fd, draft, unix.AT_REMOVEDIR)
	}
	if err == nil {
		return e.sync()
	}
	if failed := e.putIn(draft); removed == 0 || failed != nil {
		return errors.Join(failed, err)
	}
	return fault.New(fault.Unavailable,
		fmt.Sprintf("%d entries of %s have been removed, then one could not be; the rest is where it was", removed, shown(e.path)),
		"Look at what is there now, then try again").With("path", e.path.String()).With("changed", true).Because(err)
}

func (e *entry) showTree(ctx context.Context, t *tree, look func(*confine.Dir, Tree) error) error {
	if err := waitTick(ctx, t.latest); err != nil {
		return err
	}
	d, err := e.dir.OpenDir(e.name)
	if err != nil {
		return err
	}
	defer d.Close() // only for reading
	fd, giveBack, err := d.LendDir()
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = fstat(int(fd), &st)
	giveBack()
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

// Sweep removes what a killed process has left in the directory p, but not below it:
// regular files and whole directories of this user under a name that only drafts have.
// It is for the start of a program. Where another server is writing at the moment it
// removes nothing, and where directories cannot be locked it is fault.Unavailable.
//
// A draft is left over by a kill between two steps: on a file system without unnamed
// files (O_TMPFILE) at any moment of a write, elsewhere only in the instant in which a
// complete draft takes the place of the old file. What was being removed or moved over
// is a draft in that sense too: the caller was shown all of it before it got the name.
func (*Writer) Sweep(ctx context.Context, p confine.Path) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fault.From(err)
	}
	d, err := p.OpenDir()
	if err != nil {
		return 0, err
	}
	fd, giveBack, err := d.LendDir()
	if err == nil {
		removed, err = sweep(ctx, p, int(fd))
		giveBack()
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return removed, fault.From(err)
	}
	return removed, nil
}

// sweep removes the leftovers in an open directory, unless somebody is writing there.
func sweep(ctx context.Context, p confine.Path, dir int) (removed int, err error) {
	err = again(func() error { return unix.Flock(dir, unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		return 0, nil // whoever writes there now could be using what looks left over
	}
	if err != nil {
		return 0, fault.New(fault.Unavailable,
			"the directory "+shown(p)+" cannot be locked, so that what is left over cannot be told from what is in use",
			"Remove files called "+draftPrefix+"… by hand when no server runs").With("path", p.String()).Because(err)
	}
	names, err := namesOf(dir, 0)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		var st unix.Stat_t
		if !isDraft(name) || fstatat(dir, name, &st) != nil || int(st.Uid) != os.Geteuid() {
			continue
		}
		var failed error
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			failed = unlinkat(dir, name, 0)
		case unix.S_IFDIR:
			failed = sweepTree(ctx, &entry{path: p, fd: dir, name: name})
		default:
			continue
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed++
	}
	return removed, err
}

// sweepTree removes a directory that a killed RemoveTree has taken out.
func sweepTree(ctx context.Context, e *entry) error {
	t, err := e.openTree(ctx, walkOptions{})
	if err != nil {
		return err
	}
	defer t.file.Close() // nothing was written through it
	if _, err := t.clear(ctx, e); err != nil {
		return err
	}
	return unlinkat(e.fd, e.name, unix.AT_REMOVEDIR)
}
