//go:build linux || darwin

package replace

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A draft that needs a name has one that nobody can foresee and that Sweep knows.
const (
	draftPrefix = ".mcp-draft-"
	draftRandom = 16 // bytes
)

func draftName() string { return draftPrefix + randomHex(draftRandom) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
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
	at   *entry
	file *os.File
	id   version
	name string // "" as long as it has none
	mode uint32 // what a new file gets here: by the umask and the directory's default rights
}

// errUnnameable says that a draft without a name could not be given one here.
var errUnnameable = errors.New("an unnamed file cannot be given a name here")

// write fills a draft, lets publish put it in place of old, or where nothing is, and
// syncs the directory. What publish leaves under the draft's name is removed.
func (e *entry) write(ctx context.Context, fill filling, old *original, publish func(*draft, *original) error) (Result, error) {
	d, err := e.begin(old)
	if err != nil {
		return Result{}, err
	}
	res, seen, err := fill(ctx, d)
	if err == nil {
		err = e.rules.content(e.real, seen, d.becomes(old))
	}
	if err == nil {
		err = d.dress(old)
	}
	if err == nil {
		err = d.file.Sync() // before the name: else a power cut could leave an empty file under it
	}
	if err == nil {
		err = ctx.Err() // the last moment at which nothing has happened
	}
	if err == nil {
		err = publish(d, old)
	}
	left := d.discard()
	switch {
	case errors.Is(err, errUnnameable) && !e.lacks.unnamed:
		e.lacks.unnamed = true
		return e.write(ctx, fill, old, publish)
	case err != nil && left != nil:
		return Result{}, errors.Join(err, left)
	case err != nil:
		return Result{}, err
	case left != nil:
		return Result{}, e.changedAnyway(left)
	}
	if err := e.sync(); err != nil {
		return Result{}, err
	}
	res.BrokeLinks = old != nil && old.links > 1
	return res, nil
}

// begin opens a draft that only its owner may open, and locks it: once it is in place it
// is an original to others, who must wait until it is there to stay. What a new file's
// permissions are to be is asked of the system, by making the file with all of them while
// it is empty: reading the umask would mean to change it.
func (e *entry) begin(old *original) (*draft, error) {
	d := &draft{at: e}
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

// dress gives the draft all but the content of old; a new file gets its permissions.
// The mode comes last: it opens the file to others, and chown takes bits away.
func (d *draft) dress(old *original) error {
	// Before dress the draft is 0600: content that was readable to its owner only must
	// not be readable to others for an instant (TestADraftIsOnlyForItsOwnerUntilItIsComplete).
	fd := int(d.file.Fd())
	if old == nil {
		return fchmod(fd, d.becomes(nil))
	}
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		return err
	}
	if st.Uid != old.uid || st.Gid != old.gid {
		if err := again(func() error { return unix.Fchown(fd, int(old.uid), int(old.gid)) }); err != nil {
			return cannotKeep(d.at.path, "owner", err)
		}
	}
	if err := d.keepAttributes(old); err != nil {
		return err
	}
	return fchmod(fd, d.becomes(old))
}

// becomes is the mode of the file when it is in place.
func (d *draft) becomes(old *original) uint32 {
	switch {
	case old != nil:
		return old.mode &^ (unix.S_ISUID | unix.S_ISGID) & 0o7777
	case d.at.mode != 0:
		return d.mode & uint32(d.at.mode.Perm())
	}
	return d.mode
}

// giveName gives the draft a name, for what can only be done with names: rename(2) and
// an exchange. From here until it is in place, a kill leaves something for Sweep.
func (d *draft) giveName() error {
	if d.name != "" {
		return nil
	}
	name := draftName()
	if err := linkUnnamed(int(d.file.Fd()), d.at.fd, name); err != nil {
		return errors.Join(errUnnameable, err)
	}
	d.name = name
	return nil
}

// becomeNew makes the draft the file, unless there is one.
func (d *draft) becomeNew(*original) error {
	dir, to := d.at.fd, d.at.name
	if d.name == "" {
		err := linkUnnamed(int(d.file.Fd()), dir, to)
		if err != nil && err != unix.EEXIST {
			return errors.Join(errUnnameable, err)
		}
		return err
	}
	err := d.at.lacks.renameExclusive(dir, d.name, dir, to)
	if err == nil {
		d.name = ""
	}
	if unoffered(err) {
		// discard takes the other name away
		return again(func() error { return unix.Linkat(dir, d.name, dir, to, 0) })
	}
	return err
}

// become makes the draft the file, whatever was there.
func (d *draft) become(*original) error {
	if err := d.giveName(); err != nil {
		return err
	}
	d.at.reached(beforeSwap)
	return d.putOver()
}

// putOver renames the draft to the file, whatever is under its name.
func (d *draft) putOver() error {
	err := again(func() error { return unix.Renameat(d.at.fd, d.name, d.at.fd, d.at.name) })
	if err == nil {
		d.name = ""
	}
	return err
}

// swap makes the draft the file if the file is still old with its content: both change
// places, so that there is always a whole file and nothing is lost, and if another came
// out, it is put back. Where names cannot change places, it looks first.
func (d *draft) swap(old *original) error {
	if err := d.giveName(); err != nil {
		return err
	}
	d.at.reached(beforeSwap)
	err := d.at.lacks.swapNames(d.at.fd, d.name, d.at.fd, d.at.name)
	switch {
	case err == unix.ENOENT:
		return errOutrun // removed meanwhile
	case unoffered(err):
		// What is put there between the look and the rename by a program that does not
		// heed our lock of old is lost.
		same, err := d.at.holds(d.at.name, old)
		if err == unix.ENOENT || err == unix.ELOOP || err == nil && !same {
			return errOutrun
		}
		if err == nil {
			err = d.putOver()
		}
		if err == nil {
			d.at.reached(afterSwap)
		}
		return err
	case err != nil:
		return err
	}
	d.at.reached(afterSwap)
	// The look comes after the exchange: what came out cannot be written any more by
	// whoever opens the name, so that the comparison is about what is really replaced.
	if same, err := d.at.holds(d.name, old); same && err == nil {
		return nil // discard removes the old file
	}
	if err := d.putBack(d.id); err != nil {
		return err
	}
	return errOutrun
}

// holds says whether what is under name is old, with its content. The content is
// compared too: two writes within one tick of the clock that file systems use leave the
// same time.
func (e *entry) holds(name string, old *original) (bool, error) {
	now, err := e.version(name)
	if err != nil || !now.sameState(old.version) {
		return false, err
	}
	fd, err := openat(e.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	f := os.NewFile(uintptr(fd), "old")
	defer f.Close() // nothing was written through it
	return equals(f, old.content)
}

// equals compares what r holds with a content, a piece at a time.
func equals(r io.Reader, content []byte) (bool, error) {
	piece := make([]byte, min(len(content)+1, 256<<10))
	for {
		n, err := io.ReadFull(r, piece)
		if !bytes.HasPrefix(content, piece[:n]) {
			return false, nil
		}
		content = content[n:]
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return len(content) == 0, nil
		default:
			return false, err
		}
	}
}

// maxReturns bounds putBack against programs that write without end.
const maxReturns = 100

// putBack puts what is under the draft's name back in its place. placed is what was
// put there last: if that is what comes out, nobody wrote meanwhile, and what came out
// has been superseded. Else it is newer than what was put back, and goes there instead.
func (d *draft) putBack(placed version) error {
	// While this runs, every version is under one of the two names: only discard removes,
	// and only what is under the draft's name when this has returned.
	for range maxReturns {
		next, err := d.at.version(d.name)
		if err != nil {
			return err
		}
		if err := d.at.lacks.swapNames(d.at.fd, d.name, d.at.fd, d.at.name); err == unix.ENOENT {
			return nil // whoever removed the file has seen what was there
		} else if err != nil {
			d.name = "" // what is under it is another's, and has no other place
			return err
		}
		out, err := d.at.version(d.name)
		if err != nil {
			return err
		}
		if out.sameFile(placed) {
			return nil
		}
		placed = next
	}
	return nil
}

// discard removes what is under the draft's name: the draft, or what has changed
// places with it. What counts of the draft was synced before it is closed.
func (d *draft) discard() error {
	_ = d.file.Close()
	if d.name == "" {
		return nil
	}
	err := unlinkat(d.at.fd, d.name, 0)
	d.name = ""
	if err == unix.ENOENT {
		return nil
	}
	return err
}
