//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// openLog opens a log for appending; a symbolic link in its place is an error.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
}

// openHead opens a head record for reading and writing in place.
func openHead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
}

// openShared opens a file for reading without hindering who rotates it.
func openShared(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// appendAt adds b to the end by one write(2); O_APPEND finds the end, which is
// size.
func appendAt(f *os.File, b []byte, _ int64) error {
	_, err := f.Write(b)
	return err
}
