//go:build linux || darwin

package replace

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// version is which file an entry was, and in what state. ctime is of no use once
// the file has been renamed.
type version struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64
}

func versionOf(st *unix.Stat_t) version {
	return version{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: mtimeOf(st), ctime: ctimeOf(st)}
}

func (v version) sameFile(w version) bool { return v.dev == w.dev && v.ino == w.ino }

// swap makes the draft the file if the file is still old with the content before:
// both change places, so that there is always a whole file and nothing is lost, and
// if another came out, it is put back. Where names cannot change places, it looks first.
func (d *draft) swap(old *original, before []byte) error {
	if err := d.named(); err != nil {
		return err
	}
	d.at.reached(beforeSwap)
	err := d.exchange()
	switch {
	case errors.Is(err, unix.ENOENT):
		return errOutrun // removed meanwhile
	case unoffered(err):
		return d.lookAndPutOver(old, before)
	case err != nil:
		return err
	}
	d.at.reached(afterSwap)
	same, err := d.at.holds(d.name, old, before)
	if same && err == nil {
		return nil // discard removes the old file
	}
	if err := d.putBack(d.id); err != nil {
		return err
	}
	return errOutrun
}

// lookAndPutOver is swap in two steps: what is put there between them by a program
// that does not heed our lock of old is lost.
func (d *draft) lookAndPutOver(old *original, before []byte) error {
	same, err := d.at.holds(d.at.name, old, before)
	if err == unix.ENOENT || err == unix.ELOOP || err == nil && !same {
		return errOutrun
	}
	if err != nil {
		return err
	}
	if err := d.putOver(); err != nil {
		return err
	}
	d.at.reached(afterSwap)
	return nil
}

func (d *draft) exchange() error {
	if d.at.lacks.exchange {
		return unix.ENOSYS
	}
	return again(func() error { return exchange(d.at.at, d.name, d.at.at, d.at.name) })
}

// holds says whether what is under name is old, with the content before.
// The content is compared too: two writes within one tick of the clock that file
// systems use leave the same time.
func (at *place) holds(name string, old *original, before []byte) (bool, error) {
	st, err := at.held(name)
	if err != nil || !st.sameFile(old.version) || st.size != old.version.size || st.mtime != old.version.mtime {
		return false, err
	}
	var fd int
	err = again(func() (err error) {
		fd, err = unix.Openat(at.at, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return false, err
	}
	f := os.NewFile(uintptr(fd), "old")
	defer f.Close()
	return equals(f, before)
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

func (at *place) held(name string) (version, error) {
	var st unix.Stat_t
	err := fstatat(at.at, name, &st)
	return versionOf(&st), err
}

// mostReturns bounds putBack against programs that write without end.
const mostReturns = 100

// putBack puts what is under the draft's name back in its place. placed is what was
// put there last: if that is what comes out, nobody wrote meanwhile, and what came out
// has been superseded. Else it is newer than what was put back, and goes there instead.
func (d *draft) putBack(placed version) error {
	for range mostReturns {
		next, err := d.at.held(d.name)
		if err != nil {
			return err
		}
		if err := d.exchange(); errors.Is(err, unix.ENOENT) {
			return nil // whoever removed the file has seen what was there
		} else if err != nil {
			d.name = "" // what is under it is another's, and has no other place
			return err
		}
		out, err := d.at.held(d.name)
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
