//go:build unix

package hosts

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives the file the owner and the group of info.
func keepOwner(file *os.File, info fs.FileInfo) error {
	wanted, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := file.Stat()
	if err != nil {
		return err
	}
	if is, ok := now.Sys().(*syscall.Stat_t); ok && is.Uid == wanted.Uid && is.Gid == wanted.Gid {
		return nil
	}
	return file.Chown(int(wanted.Uid), int(wanted.Gid))
}
