//go:build linux || darwin

package confine

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxBusy is how often an open that is told to try again does so: EAGAIN comes
// from a rename at the wrong moment, but also for as long as another process holds
// a lease on the file (fcntl(2), F_SETLEASE), which must not hold the call.
const maxBusy = 64

func openAgain(open func() (int, error)) (fd int, err error) {
	for busy := 0; busy < maxBusy; {
		fd, err = open()
		switch err {
		case unix.EINTR:
		case unix.EAGAIN:
			busy++
		default:
			return fd, err
		}
	}
	return fd, err
}

func openat(d int, name string, flags int) (int, error) {
	return openAgain(func() (int, error) { return unix.Openat(d, name, flags, 0) })
}

// openEntry opens one component in d. O_NOFOLLOW alone is enough for one component;
// with O_DIRECTORY a link is told as ENOTDIR, and is told apart here. What has
// become a directory meanwhile is opened again.
func openEntry(d descriptor, name string, flags int) (fd descriptor, err error) {
	for range maxBusy {
		fd, err = openat(d, name, flags|unix.O_NOFOLLOW)
		if err != unix.ENOTDIR {
			return fd, err
		}
		var st unix.Stat_t
		if unix.Fstatat(d, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return fd, err
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			return fd, unix.ELOOP
		case unix.S_IFDIR:
		default:
			return fd, err
		}
	}
	return fd, err
}

// walk opens rel component by component. Each is opened relative to the descriptor
// of the one before and none is followed, so that whatever is swapped on the way,
// the walk is always in a directory that was beneath d when it got there.
func walk(d descriptor, rel string, flags int) (descriptor, error) {
	if !filepath.IsLocal(rel) {
		return -1, unix.EXDEV
	}
	at := d
	defer func() { leave(at, d) }()
	for {
		name, rest, more := strings.Cut(rel, "/")
		if !more {
			return openEntry(at, name, flags)
		}
		next, err := openEntry(at, name, stepFlags)
		if err != nil {
			return -1, err
		}
		leave(at, d)
		at, rel = next, rest
	}
}

// leave closes a directory that was only stepped through.
func leave(at, start descriptor) {
	if at != start {
		_ = release(at)
	}
}

// asFile makes an os.File that never waits: what looks like a regular file but
// blocks when read (trace_pipe, kmsg) must answer EAGAIN, so O_NONBLOCK stays, but
// out of sight of the runtime's poller, which would wait.
func asFile(fd descriptor, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = release(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
