package history

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHigh is where the locked byte lies, in units of 4 GiB: Windows locks keep others
// from reading, so it is beyond every content.
const lockHigh = 1 << 30

// tryLock takes a LockFileEx lock, which ends with the process, however that ends.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_FAIL_IMMEDIATELY | windows.LOCKFILE_EXCLUSIVE_LOCK
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockHigh})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

func unlock(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockHigh})
	return os.NewSyscallError("UnlockFileEx", err)
}

// syncDir does nothing: Windows cannot flush a directory, NTFS journals its names.
func syncDir(*os.Root, string) error { return nil }
