//go:build unix

package main

import (
	"os"
	"syscall"
)

// gainsRoot says that a program runs with the rights of root whoever starts it, and that
// nobody but root can have put it there.
func gainsRoot(program string) bool {
	info, err := os.Lstat(program)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&os.ModeSetuid == 0 || info.Mode()&0o022 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
