//go:build unix

package hosts_test

import (
	"fmt"
	"io/fs"
	"syscall"
)

func owner(info fs.FileInfo) string {
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(s.Uid, ":", s.Gid)
}
