//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes a flock(2), which belongs to the open file: it ends when the last process that has that file open ends,
// a child that inherited it too.
func tryLock(f *os.File) (bool, error) { return flock(f, unix.LOCK_EX) }

// tryShared is for asking whether somebody holds f: those who ask are not in each other's way.
func tryShared(f *os.File) (bool, error) { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}

func unlock(f *os.File) error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
}
