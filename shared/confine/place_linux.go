//go:build linux && (amd64 || arm64)

package confine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// An ordinary system call tells Go's scheduler that the thread may wait, which costs
// more than the call itself where the answer is in memory. On a local file system it
// is not told: a call that waits for the disk after all holds up one of GOMAXPROCS.

// isLocal says whether fd lies in a file system that waits for no other machine, and
// the kernel can open without leaving it.
func isLocal(fd descriptor) bool {
	here := [2]byte{'.'}
	if again, err := unknown.openWithin(fd, &here[0], wantInfo); err != nil || release(again) != nil {
		return false
	}
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}

// errorOf is nil for success, without making an error of it first.
func errorOf(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// openWithin and fstatat are for what is local. openWithin crosses no mount.
func (place) openWithin(d descriptor, name *byte, flags int) (descriptor, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_XDEV}
	fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(d),
		uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	return int(fd), errorOf(e)
}

func (place) fstatat(d descriptor, name *byte, s *Stamp) (mode uint32, err error) {
	var st unix.Stat_t
	_, _, e := unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(d),
		uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	*s = stampFrom(&st)
	return st.Mode, errorOf(e)
}

func (at place) pread(fd descriptor, p []byte, off int64) (int, error) {
	if !at.local || len(p) == 0 {
		return unix.Pread(fd, p, off)
	}
	n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(off), 0, 0)
	return int(n), errorOf(e)
}

func (at place) getdents(fd descriptor, p []byte) (int, error) {
	if !at.local || len(p) == 0 {
		return unix.ReadDirent(fd, p)
	}
	n, _, e := unix.RawSyscall(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	return int(n), errorOf(e)
}

func (at place) close(fd descriptor) error {
	if !at.local {
		return unix.Close(fd)
	}
	_, _, e := unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	return errorOf(e)
}

func (at place) fstat(fd descriptor, s *Stamp) (mode uint32, err error) {
	var st unix.Stat_t
	if at.local {
		_, _, e := unix.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&st)), 0)
		err = errorOf(e)
	} else {
		err = unix.Fstat(fd, &st)
	}
	*s = stampFrom(&st)
	return st.Mode, err
}
