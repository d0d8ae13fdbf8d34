//go:build linux || darwin

package replace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A draft that needs a name has one that nobody can foresee and that Sweep knows.
const (
	draftPrefix = ".mcp-draft-"
	draftRandom = 16 // bytes
)

func draftName() string {
	var b [draftRandom]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return draftPrefix + hex.EncodeToString(b[:])
}

// isDraft knows the names that draftName makes.
func isDraft(name string) bool {
	random, ok := strings.CutPrefix(name, draftPrefix)
	b, err := hex.DecodeString(random)
	return ok && err == nil && len(b) == draftRandom && random == strings.ToLower(random)
}

// draft is new content that is not in place yet. Until it is complete nobody but
// its owner may open it, and where the system allows it has no name at all.
type draft struct {
	at   *place
	file *os.File
	id   version
	name string // "" as long as it has none
	mode uint32 // what a new file gets here: by the umask and the directory's default rights
}

// errUnnameable says that a draft without a name could not be given one here.
var errUnnameable = errors.New("an unnamed file cannot be given a name here")

// filling writes what a draft is to hold, and tells what of it a rule is to judge.
type filling func(context.Context, *draft) (seen []byte, err error)

// with fills a draft and lets publish put it in place. What publish leaves under the
// draft's name is removed. fill may be called twice.
func (at *place) with(ctx context.Context, fill filling, old *original, publish func(*draft) error) error {
	err := at.once(ctx, fill, old, publish)
	if errors.Is(err, errUnnameable) {
		at.lacks.unnamed = true
		err = at.once(ctx, fill, old, publish)
	}
	return err
}

func (at *place) once(ctx context.Context, fill filling, old *original, publish func(*draft) error) error {
	d, err := at.begin(old)
	if err != nil {
		return err
	}
	err = d.complete(ctx, fill, old)
	if err == nil {
		err = ctx.Err() // the last moment at which nothing has happened
	}
	if err == nil {
		err = publish(d)
	}
	switch left := d.discard(); {
	case err != nil && left != nil:
		return errors.Join(err, left)
	case left != nil:
		return at.changedAnyway(left)
	}
	return err
}

// complete makes the draft all that the file is to be, on the disk, if the rules
// have nothing against it.
func (d *draft) complete(ctx context.Context, fill filling, old *original) error {
	seen, err := fill(ctx, d)
	if err == nil {
		err = d.at.rules.content(d.at.real, seen, d.becomes(old))
	}
	if err == nil {
		err = d.dress(old)
	}
	if err == nil {
		err = d.file.Sync()
	}
	return err
}

// begin opens a draft that only its owner may open, and locks it: once it is in place
// it is an original to others, who must wait until it is there to stay. What a new file's permissions
// are to be is asked of the system, by making the file with all of them while it is
// empty: reading the umask would mean to change it.
func (at *place) begin(old *original) (*draft, error) {
	d := &draft{at: at}
	fd, err := d.open(old)
	if err != nil {
		return nil, err
	}
	d.file = os.NewFile(uintptr(fd), "draft")
	_ = again(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }) // free, or there are no locks here
	var st unix.Stat_t
	if err = fstat(fd, &st); err == nil {
		d.id, d.mode = versionOf(&st), uint32(st.Mode)&0o666
		err = fchmod(fd, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, d.discard())
	}
	return d, nil
}

// chunk is how much is written between two looks at whether anybody still waits.
const chunk = 1 << 20

// all is the filling of content that is at hand.
func all(content []byte) filling {
	return func(ctx context.Context, d *draft) ([]byte, error) {
		for rest := content; len(rest) > 0; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n, err := d.file.Write(rest[:min(chunk, len(rest))])
			if err != nil {
				return nil, err
			}
			rest = rest[n:]
		}
		return content, nil
	}
}

// dress gives the draft all but the content of old; a new file gets its permissions.
// The mode comes last: it opens the file to others, and chown takes bits away.
func (d *draft) dress(old *original) error {
	fd := int(d.file.Fd())
	if old == nil {
		return fchmod(fd, d.becomes(nil))
	}
	if err := d.own(old); err != nil {
		return err
	}
	if err := d.keepAttributes(old); err != nil {
		return err
	}
	return fchmod(fd, d.becomes(old))
}

// becomes is the mode of the file when it is in place.
func (d *draft) becomes(old *original) uint32 {
	if old == nil {
		return d.wanted()
	}
	return old.mode &^ (unix.S_ISUID | unix.S_ISGID) & 0o7777
}

// wanted is the mode of a new file.
func (d *draft) wanted() uint32 {
	if d.at.mode == 0 {
		return d.mode
	}
	return d.mode & uint32(d.at.mode.Perm())
}

func (d *draft) own(old *original) error {
	fd := int(d.file.Fd())
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		return err
	}
	if st.Uid == old.uid && st.Gid == old.gid {
		return nil
	}
	if err := again(func() error { return unix.Fchown(fd, int(old.uid), int(old.gid)) }); err != nil {
		return cannotKeep(d.at.path, "owner", err)
	}
	return nil
}

// named gives the draft a name, for what can only be done with names.
func (d *draft) named() error {
	if d.name != "" {
		return nil
	}
	name := draftName()
	if err := linkUnnamed(int(d.file.Fd()), d.at.at, name); err != nil {
		return errors.Join(errUnnameable, err)
	}
	d.name = name
	return nil
}

// becomeNew makes the draft the file, unless there is one.
func (d *draft) becomeNew() error {
	dir, to := d.at.at, d.at.name
	if d.name == "" {
		err := linkUnnamed(int(d.file.Fd()), dir, to)
		if err != nil && err != unix.EEXIST {
			return errors.Join(errUnnameable, err)
		}
		return err
	}
	err := error(unix.ENOSYS)
	if !d.at.lacks.exclusive {
		err = again(func() error { return renameExclusive(dir, d.name, dir, to) })
	}
	if err == nil {
		d.name = ""
		return nil
	}
	if unoffered(err) {
		// discard takes the other name away
		return again(func() error { return unix.Linkat(dir, d.name, dir, to, 0) })
	}
	return err
}

// become makes the draft the file, whatever was there.
func (d *draft) become() error {
	if err := d.named(); err != nil {
		return err
	}
	d.at.reached(beforeSwap)
	return d.putOver()
}

// putOver renames the draft to the file, whatever is under its name.
func (d *draft) putOver() error {
	err := again(func() error { return unix.Renameat(d.at.at, d.name, d.at.at, d.at.name) })
	if err == nil {
		d.name = ""
	}
	return err
}

// discard removes what is under the draft's name: the draft, or what has changed
// places with it. What counts of the draft was synced before it is closed.
func (d *draft) discard() error {
	_ = d.file.Close()
	if d.name == "" {
		return nil
	}
	err := again(func() error { return unix.Unlinkat(d.at.at, d.name, 0) })
	d.name = ""
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// unoffered says that the kernel or the file system does not know a function.
func unoffered(err error) bool {
	return err == unix.ENOSYS || err == unix.EINVAL || err == unix.EOPNOTSUPP || err == unix.ENOTSUP
}

func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func fstat(fd int, st *unix.Stat_t) error { return again(func() error { return unix.Fstat(fd, st) }) }

func fstatat(dir int, name string, st *unix.Stat_t) error {
	return again(func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

func fchmod(fd int, mode uint32) error { return again(func() error { return unix.Fchmod(fd, mode) }) }
