//go:build unix

package command

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwner says whether a file is this user's.
func isOwner(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
