//go:build unix

package leased

import (
	"fmt"
	"io/fs"
	"syscall"
)

// number names a directory as long as it exists.
func number(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Dev, "/", st.Ino, "/", st.Uid)
	}
	return ""
}
