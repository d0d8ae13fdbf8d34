//go:build linux || darwin

package replace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func (at *place) remove(ctx context.Context, look func(*os.File, confine.Info) error) error {
	for range maxTries {
		err := at.removeOnce(ctx, look)
		if !errors.Is(err, errOutrun) {
			return err
		}
	}
	return restless(at.path)
}

func (at *place) removeOnce(ctx context.Context, look func(*os.File, confine.Info) error) error {
	if _, err := at.kind(); err != nil {
		return err
	}
	old, err := at.original(ctx)
	if err != nil {
		return err
	}
	defer old.file.Close() // nothing was written through it
	if err := at.judge(confine.File); err != nil {
		return err
	}
	if err := at.show(ctx, old, look); err != nil {
		return err
	}
	at.reached(beforeSwap)
	draft, err := at.takeOut(old.version.sameState)
	if err != nil {
		return err
	}
	return at.gone(unix.Unlinkat(at.at, draft, 0))
}

// gone puts the directory on the disk after a removal that worked.
func (at *place) gone(err error) error {
	_, err = at.settled(Result{}, err)
	return err
}

// show calls look with the file old, which is the same before and after.
func (at *place) show(ctx context.Context, old *original, look func(*os.File, confine.Info) error) error {
	if err := calm(ctx, max(old.version.mtime, old.version.ctime)); err != nil {
		return err
	}
	f, info, err := at.dir.Open(at.name)
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

// tick is longer than the clock of the kernel takes for a step.
const tick = 20 * time.Millisecond

// calm waits until what was last changed at that time cannot change again and keep it.
func calm(ctx context.Context, changed int64) error {
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

func versionOfFile(f *os.File) (version, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return versionOf(&st), err
}

// sameState is equality for a file that has been renamed.
func (v version) sameState(w version) bool {
	return v.sameFile(w) && v.size == w.size && v.mtime == w.mtime
}

// takeOut gives the entry the name of a draft, where nobody looks for it, if it is what
// it should be then. Else it is put back and was another's: errOutrun.
func (at *place) takeOut(is func(version) bool) (draft string, err error) {
	draft = draftName()
	switch err := unix.Renameat(at.at, at.name, at.at, draft); err {
	case nil:
	case unix.ENOENT:
		return "", errOutrun
	default:
		return "", err
	}
	at.reached(afterSwap)
	now, err := at.held(draft)
	if err == nil && is(now) {
		return draft, nil
	}
	if err := at.putIn(draft); err != nil {
		return "", err
	}
	return "", errors.Join(errOutrun, err)
}

// putIn gives back its name to what was taken out. Where the name has been taken
// meanwhile, both stay: what was taken out is not ours to lose.
func (at *place) putIn(draft string) error {
	err := at.renameNew(at.at, draft, at.name)
	switch err {
	case unix.EEXIST:
		return at.keepAside(at.at, draft)
	case unix.ENOENT:
		return nil
	}
	return err
}

// keepAside gives what is under name in dir a name beside the entry, which Sweep does
// not know, and says so.
func (at *place) keepAside(dir int, name string) error {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	const longest = 255
	suffix := ".kept-" + hex.EncodeToString(random[:])
	kept := at.name[:min(len(at.name), longest-len(suffix))] + suffix
	if err := at.renameNew(dir, name, kept); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, shown(at.path)+" is being changed by other programs; one version of it is beside it now, under another name",
		"Compare both, then try again").With("path", at.path.String()).With("kept_as", kept).With("changed", true)
}

// renameNew moves from, an entry of the directory dir, to a name in this directory, and
// overwrites nothing. Without exclusive renaming, what is no directory gets its second
// name before it loses the first; for a directory, a look must do.
func (at *place) renameNew(dir int, from, to string) error {
	err := error(unix.ENOSYS)
	if !at.lacks.exclusive {
		err = again(func() error { return renameExclusive(dir, from, at.at, to) })
	}
	if !unoffered(err) {
		return err
	}
	switch err := unix.Linkat(dir, from, at.at, to, 0); err {
	case nil:
		return unix.Unlinkat(dir, from, 0)
	case unix.EPERM, unix.EISDIR, unix.EMLINK, unix.ENOSYS, unix.EOPNOTSUPP:
		return at.renameAfterLook(dir, from, to)
	default:
		return err
	}
}

func (at *place) renameAfterLook(dir int, from, to string) error {
	switch _, err := at.held(to); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return unix.Renameat(dir, from, at.at, to)
	default:
		return err
	}
}

func (at *place) symlink(target string) error {
	if err := at.judge(confine.Symlink); err != nil {
		return err
	}
	switch err := unix.Symlinkat(target, at.at, at.name); err {
	case unix.EEXIST:
		return taken(at.path, err)
	case unix.ENOENT, unix.EINVAL: // an empty target or one with a NUL, or the directory is gone
		return fault.New(fault.ParamInvalid, "no link can be made there", "Give the link a target, and a directory that exists").Because(err)
	default:
		return at.gone(err)
	}
}
