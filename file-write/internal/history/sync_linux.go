package history

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes what a file holds durable, and its length; times may be lost.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
