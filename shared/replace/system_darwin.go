package replace

import (
	"context"

	"golang.org/x/sys/unix"
)

// originalFlags open the file that is to be replaced; a clone is made of what can be read.
const originalFlags = unix.O_RDWR

// cloneACL is CLONE_ACL of sys/clonefile.h, which golang.org/x/sys does not have.
const cloneACL = 0x4

// open makes the draft. macOS has no files without a name. In the place of an old
// file the draft begins as its clone (clonefile(2)), the only way without the C
// library to keep its access control list, and is then emptied.
func (d *draft) open(old *original) (int, error) {
	name, flags := draftName(), unix.O_CREAT|unix.O_EXCL
	if old != nil {
		flags = unix.O_TRUNC
		if err := again(func() error { return unix.Fclonefileat(int(old.file.Fd()), d.at.fd, name, cloneACL) }); err != nil {
			return -1, cannotKeep(d.at.path, "access control list", err)
		}
		d.name = name
	}
	fd, err := unix.Openat(d.at.fd, name, flags|unix.O_NOFOLLOW|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		if d.name != "" {
			_ = unix.Unlinkat(d.at.fd, name, 0) // the error that counts is the open's
		}
		return -1, err
	}
	d.name = name
	return fd, nil
}

// keepAttributes has nothing to do: the clone has them.
func (d *draft) keepAttributes(*original) error { return nil }

// linkUnnamed is never reached: every draft has a name.
func linkUnnamed(int, int, string) error { return unix.ENOTSUP }

// renameExclusive renames and never overwrites.
func (l lacks) renameExclusive(fromDir int, from string, toDir int, to string) error {
	if l.exclusive {
		return unix.ENOSYS
	}
	return again(func() error { return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL) })
}

// swapNames lets two names change places.
func (l lacks) swapNames(aDir int, a string, bDir int, b string) error {
	if l.exchange {
		return unix.ENOSYS
	}
	return again(func() error { return unix.RenameatxNp(aDir, a, bDir, b, unix.RENAME_SWAP) })
}

// syncDirectory flushes the drive's cache too; fsync(2) of macOS does not. The draft
// is written out by os.File.Sync, which does the same.
func syncDirectory(dir int) error {
	_, err := unix.FcntlInt(uintptr(dir), unix.F_FULLFSYNC, 0)
	return err
}

// openStep opens a directory that is an entry of dir and not a link.
func openStep(dir int, name string) (int, error) {
	return openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// across refuses: without the C library, a copy on another file system would lose the
// access control list.
func (m *moving) across(context.Context, *original, *original) error {
	return acrossFileSystems(m.from.path, unix.EXDEV)
}
