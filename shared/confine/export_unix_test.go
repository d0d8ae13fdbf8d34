//go:build linux || darwin

package confine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// TypeWhenUntold is the type of an entry of d as if the file system had not told it.
func (d *Dir) TypeWhenUntold(name string) Type {
	record := make([]byte, direntName, direntName+len(name)+1)
	binary.NativeEndian.PutUint64(record, 1)
	record[direntName-1] = unix.DT_UNKNOWN
	return entryOf(d.self.d, string(append(append(record, name...), 0))).Type
}
