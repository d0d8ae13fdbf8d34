package replace

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// originalFlags open the file that is to be replaced.
const originalFlags = unix.O_WRONLY

// open makes the empty file: without a name where the file system can (O_TMPFILE,
// Linux 3.11), else under a name of its own.
func (d *draft) open(old *original) (fd int, err error) {
	if !d.at.lacks.unnamed {
		err = again(func() (err error) {
			fd, err = unix.Openat(d.at.at, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
			return err
		})
		// EISDIR is a kernel that does not know the flag, and EOPNOTSUPP a file system.
		if err != unix.EISDIR && !unoffered(err) {
			return fd, err
		}
		d.at.lacks.unnamed = true
	}
	mode := uint32(0o666)
	if old != nil {
		mode = 0o600
	}
	name := draftName()
	err = again(func() (err error) {
		fd, err = unix.Openat(d.at.at, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR|unix.O_CLOEXEC, mode)
		return err
	})
	if err == nil {
		d.name = name
	}
	return fd, err
}

// linkUnnamed gives an open file without a name one in dir. By descriptor alone this
// is allowed to whoever opened it since Linux 6.10; before, /proc leads there (open(2)).
func linkUnnamed(fd, dir int, name string) error {
	err := again(func() error { return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH) })
	if err == nil || err == unix.EEXIST {
		return err
	}
	return again(func() error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), dir, name, unix.AT_SYMLINK_FOLLOW)
	})
}

func renameExclusive(fromDir int, from string, toDir int, to string) error {
	return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

func exchange(aDir int, a string, bDir int, b string) error {
	return unix.Renameat2(aDir, a, bDir, b, unix.RENAME_EXCHANGE)
}

func syncDirectory(dir int) error { return unix.Fsync(dir) }

func mtimeOf(st *unix.Stat_t) int64 { return st.Mtim.Nano() }
func ctimeOf(st *unix.Stat_t) int64 { return st.Ctim.Nano() }

// ofContent are the attributes that speak of the content and would be false of
// another (capabilities(7), and the hashes of IMA and EVM).
var ofContent = [...]string{"security.capability", "security.ima", "security.evm"}

// accessList is the access control list beyond the mode (acl(5)).
const accessList = "system.posix_acl_access"

// keepAttributes gives the draft the extended attributes of old, access control list
// and labels among them, and takes a list that it inherited and old has not.
func (d *draft) keepAttributes(old *original) error {
	names, err := attributes(int(old.file.Fd()))
	if err != nil {
		return cannotKeep(d.at.path, "extended attributes", err)
	}
	hasList := false
	for _, name := range names {
		hasList = hasList || name == accessList
		if err := d.keepAttribute(old, name); err != nil {
			return cannotKeep(d.at.path, "extended attribute "+strconv.Quote(name), err)
		}
	}
	if hasList {
		return nil
	}
	err = again(func() error { return unix.Fremovexattr(int(d.file.Fd()), accessList) })
	if err != nil && err != unix.ENODATA && !unoffered(err) {
		return cannotKeep(d.at.path, "access control list", err)
	}
	return nil
}

func (d *draft) keepAttribute(old *original, name string) error {
	for _, skip := range ofContent {
		if name == skip {
			return nil
		}
	}
	value, err := attribute(int(old.file.Fd()), name)
	if errors.Is(err, unix.ENODATA) {
		return nil // gone since it was listed
	}
	if err != nil {
		return err
	}
	fd := int(d.file.Fd())
	if have, err := attribute(fd, name); err == nil && bytes.Equal(have, value) {
		return nil // a label that every file here has, and few may set
	}
	return again(func() error { return unix.Fsetxattr(fd, name, value, 0) })
}

func attributes(fd int) ([]string, error) {
	b, err := grown(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) })
	if unoffered(err) {
		return nil, nil // a file system without attributes
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 }), err
}

func attribute(fd int, name string) ([]byte, error) {
	return grown(func(b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) })
}

// grown reads into a buffer that grows as long as it is too small (ERANGE). 64 KiB
// is the most that the kernel hands out (xattr(7)).
func grown(read func([]byte) (int, error)) ([]byte, error) {
	for size := 1 << 10; ; size *= 4 {
		b := make([]byte, size)
		var n int
		err := again(func() (err error) {
			n, err = read(b)
			return err
		})
		if err == nil {
			return b[:n], nil
		}
		if err != unix.ERANGE || size > 64<<10 {
			return nil, err
		}
	}
}
