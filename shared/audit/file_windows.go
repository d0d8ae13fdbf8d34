package audit

import (
	"os"

	"golang.org/x/sys/windows"
)

// openLog opens a log for appending. Deletion is shared, or nobody could rotate
// a file that another process has open. The rights are those of the directory.
func openLog(path string) (*os.File, error) {
	return create(path, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.OPEN_ALWAYS)
}

// openHead opens a head record for reading and writing in place.
func openHead(path string) (*os.File, error) { return openLog(path) }

// openShared opens a file for reading without hindering who rotates it.
func openShared(path string) (*os.File, error) {
	return create(path, windows.GENERIC_READ, windows.OPEN_EXISTING)
}

// create opens path itself, never where a reparse point leads: a link is then
// seen to be no regular file.
func create(path string, access, mode uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, access, share, nil, mode, windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// appendAt writes b at size, the end of the file, which nobody moves while the
// lock is held.
func appendAt(f *os.File, b []byte, size int64) error {
	_, err := f.WriteAt(b, size)
	return err
}
