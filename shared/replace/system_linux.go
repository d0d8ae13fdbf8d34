package replace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// originalFlags open the file that is to be replaced.
const originalFlags = unix.O_WRONLY

// open makes the empty file: without a name where the file system can (O_TMPFILE,
// Linux 3.11), else under a name of its own.
func (d *draft) open(old *original) (fd int, err error) {
	if !d.at.lacks.unnamed {
		fd, err = openat(d.at.fd, ".", unix.O_TMPFILE|unix.O_RDWR, 0o666)
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
	if fd, err = openat(d.at.fd, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR, mode); err == nil {
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

// renameExclusive renames and never overwrites.
func (l lacks) renameExclusive(fromDir int, from string, toDir int, to string) error {
	if l.exclusive {
		return unix.ENOSYS
	}
	return renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
}

// swapNames lets two names change places.
func (l lacks) swapNames(aDir int, a string, bDir int, b string) error {
	if l.exchange {
		return unix.ENOSYS
	}
	return renameat2(aDir, a, bDir, b, unix.RENAME_EXCHANGE)
}

func renameat2(fromDir int, from string, toDir int, to string, flags uint) error {
	for {
		if err := unix.Renameat2(fromDir, from, toDir, to, flags); err != unix.EINTR {
			return err
		}
	}
}

func syncDirectory(dir int) error { return unix.Fsync(dir) }

// ofContent are the attributes that speak of the content and would be false of
// another (capabilities(7), and the hashes of IMA and EVM).
var ofContent = []string{"security.capability", "security.ima", "security.evm"}

// accessList is the access control list beyond the mode (acl(5)).
const accessList = "system.posix_acl_access"

// keepAttributes gives the draft the extended attributes of old, access control list
// and labels among them, and takes a list that it inherited and old has not. What cannot
// be kept ends it.
func (d *draft) keepAttributes(old *original) error { return d.copyAttributes(old, true) }

// copyAttributes is keepAttributes, or where not all must be kept, for those of users and
// access control lists: labels of the system are the business of where the file goes.
func (d *draft) copyAttributes(old *original, all bool) error {
	list, err := grown(func(b []byte) (int, error) { return unix.Flistxattr(int(old.file.Fd()), b) })
	if err != nil && !unoffered(err) { // unoffered: a file system without attributes
		return cannotKeep(d.at.path, "extended attributes", err)
	}
	names := strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 })
	for _, name := range names {
		err := d.keepAttribute(old, name)
		switch {
		case err != nil && all:
			return cannotKeep(d.at.path, "extended attribute "+strconv.Quote(name), err)
		case err != nil && (name == accessList || strings.HasPrefix(name, "user.")):
			return cannotKeep(d.at.path, "extended attributes", err)
		}
	}
	if slices.Contains(names, accessList) {
		return nil
	}
	err = again(func() error { return unix.Fremovexattr(int(d.file.Fd()), accessList) }) // inherited
	if err != nil && err != unix.ENODATA && !unoffered(err) {
		return cannotKeep(d.at.path, "access control list", err)
	}
	return nil
}

func (d *draft) keepAttribute(old *original, name string) error {
	if slices.Contains(ofContent, name) {
		return nil
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

// openStep opens a directory that is an entry of dir, not a link and not another mount,
// which with the same file system (a bind mount) only the kernel can tell.
func openStep(dir int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
	const maxBusy = 100 // a rename at the wrong moment is EAGAIN
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	for range maxBusy {
		fd, err = unix.Openat2(dir, name, &how)
		if err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	if err != unix.ENOSYS && err != unix.EPERM {
		return fd, err
	}
	return openat(dir, name, flags, 0)
}

// across moves a file to another file system: a copy takes its place there, and is
// removed again where the file is not the version any more that was copied.
func (m *moving) across(ctx context.Context, src, old *original) error {
	err := m.acrossOnce(ctx, src, old)
	if errors.Is(err, errUnnameable) {
		m.to.lacks.unnamed = true
		err = m.acrossOnce(ctx, src, old)
	}
	return err
}

func (m *moving) acrossOnce(ctx context.Context, src, old *original) error {
	d, err := m.to.begin(nil)
	if err != nil {
		return err
	}
	err = d.copy(ctx, src)
	if err == nil {
		err = m.publish(d, old)
	}
	if err == nil {
		err = m.leave(d, src, old)
	}
	return errors.Join(err, d.discard())
}

// copy makes the draft what src is: content, attributes, times, and where giving files
// away is allowed, the owner.
func (d *draft) copy(ctx context.Context, src *original) error {
	from := io.NewSectionReader(src.file, 0, 1<<63-1)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(d.file, from, chunk); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if now, err := versionOfFile(src.file); err != nil || now != src.version {
		return errors.Join(err, copiedWhileWritten(d.at.path))
	}

	fd := int(d.file.Fd())
	var st unix.Stat_t
	if err := fstat(int(src.file.Fd()), &st); err != nil {
		return err
	}
	_ = unix.Fchown(fd, int(src.uid), int(src.gid)) // where possible
	if err := d.copyAttributes(src, false); err != nil {
		return err
	}
	if err := fchmod(fd, src.mode&0o777); err != nil {
		return err
	}
	err := unix.UtimesNanoAt(fd, "", []unix.Timespec{st.Atim, st.Mtim}, unix.AT_EMPTY_PATH)
	if err != nil { // before Linux 5.8
		err = unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(st.Atim.Nano()), unix.NsecToTimeval(st.Mtim.Nano())})
	}
	if err != nil {
		return err
	}
	return d.file.Sync()
}

// publish puts the complete copy in place. The file that it replaces is under the
// draft's name then.
func (m *moving) publish(d *draft, old *original) error {
	if old == nil {
		return m.refusal(d.becomeNew(nil))
	}
	if err := d.giveName(); err != nil {
		return err
	}
	err := d.at.lacks.swapNames(d.at.fd, d.name, d.at.fd, d.at.name)
	switch {
	case unoffered(err):
		return cannotMove(m.from.path, err)
	case err == unix.ENOENT:
		return errOutrun
	case err != nil:
		return err
	}
	if out, err := d.at.version(d.name); err != nil || !old.version.sameState(out) {
		return errors.Join(errOutrun, err, d.putBack(d.id))
	}
	return nil
}

// leave removes the file from where it was, once the copy is on the disk.
func (m *moving) leave(d *draft, src, old *original) error {
	err := m.to.sync()
	var draft string
	if err == nil {
		m.from.reached(afterSwap)
		draft, err = m.from.takeOut(src.version.sameState)
	}
	if err == nil {
		// From here on the copy is the only one that Sweep does not remove, so that it stays
		// whatever comes of this.
		return unlinkat(m.from.fd, draft, 0)
	}
	if errors.Is(err, errOutrun) {
		err = copiedWhileWritten(m.from.path)
	}
	if old != nil {
		return errors.Join(err, d.putBack(d.id))
	}
	return errors.Join(err, m.to.unlinkIfThere(d.id.sameFile))
}

func copiedWhileWritten(p confine.Path) error {
	return fault.New(fault.Unavailable, shown(p)+" was changed while it was copied to another file system; it is where it was",
		"Try again later").
		With("path", p.String())
}
