package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHigh is where the locked byte lies, in units of 4 GiB: Windows locks keep others
// from reading, so it is beyond every content.
const lockHigh = 1 << 30

// try takes a LockFileEx lock, which a child does not inherit. f must be open for
// reading or for more than appending.
func try(fd uintptr, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockHigh})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

// Unlock gives the lock of f back, which closing f does too.
func Unlock(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockHigh})
	return os.NewSyscallError("UnlockFileEx", err)
}
