//go:build linux || darwin

package confine

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type descriptor = int

// wanted is how something is opened, in the terms of the system.
type wanted = int

func release(d descriptor) error { return unix.Close(d) }

func problemOf(err error) problem {
	switch {
	case err == nil:
		return none
	case errors.Is(err, unix.ELOOP):
		return throughLink
	case errors.Is(err, unix.ENOENT):
		return missing
	case errors.Is(err, unix.ENOTDIR):
		return throughFile
	case errors.Is(err, unix.EXDEV):
		return outside
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP):
		return special
	}
	return failed
}

// survey finds the first component of rel that is a link or missing. It explains
// an open that failed; it permits nothing.
func survey(d descriptor, _ string, rel string) obstacle {
	at := d
	defer func() { leave(at, d) }()
	way := strings.Split(rel, "/")
	for i, name := range way {
		var st unix.Stat_t
		err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case err == unix.ENOENT:
			return obstacle{kind: missing, at: i}
		case err != nil:
			return obstacle{}
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			if target, err := linkOf(at, name); err == nil && target != "" {
				return obstacle{kind: throughLink, at: i, target: target}
			}
			return obstacle{} // it is none any more
		case i == len(way)-1:
			return obstacle{}
		}
		next, err := openat(at, name, stepFlags)
		if err != nil {
			return obstacle{}
		}
		leave(at, d)
		at = next
	}
	return obstacle{}
}

// linkOf is the text of a link. It is shorter than PATH_MAX: what fills the buffer
// was cut.
func linkOf(d descriptor, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d, name, buf)
	switch {
	case err == unix.EINVAL:
		return "", errNoLink
	case err != nil:
		return "", err
	case n == len(buf):
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	default:
		m |= fs.ModeIrregular
	}
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

func infoFrom(st *unix.Stat_t) Info {
	info := Info{
		Mode:     fileMode(uint32(st.Mode)),
		Size:     st.Size,
		Modified: time.Unix(st.Mtim.Unix()),
		Accessed: time.Unix(st.Atim.Unix()),
		Changed:  time.Unix(st.Ctim.Unix()),
		Links:    uint64(st.Nlink),
	}
	return info.identified(uint64(st.Dev), st.Ino)
}

func (i Info) identified(dev, ino uint64) Info {
	i.Type = typeOf(i.Mode)
	i.Stamp = Stamp{Dev: dev, Ino: ino, Size: i.Size, Modified: i.Modified.UnixNano(), Changed: i.Changed.UnixNano()}
	return i
}

// listing reads a directory.
type listing struct{}

func (listing) close() error { return nil }

// append adds the entries that one system call gives. It returns io.EOF where there
// are none left, and only there: a call that gives few may just have been interrupted.
func (listing) append(into []Entry, d descriptor, at place, buf []byte) ([]Entry, error) {
	n, err := at.getdents(d, buf)
	for err == unix.EINTR {
		n, err = at.getdents(d, buf)
	}
	if err != nil {
		return into, err
	}
	if n == 0 {
		return into, io.EOF
	}
	records := string(buf[:n]) // the names share it
	for len(records) >= direntName {
		size := int(records[16]) | int(records[17])<<8
		if bigEndian {
			size = int(records[17]) | int(records[16])<<8
		}
		if size < direntName || size > len(records) {
			return into, unix.EIO
		}
		if e := entryOf(d, records[:size]); e.Name != "" {
			into = append(into, e)
		}
		records = records[size:]
	}
	return into, nil
}

// bigEndian is the order of the bytes of a number in memory.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// entryOf reads one record; its name is "" for ., .. and a removed entry.
func entryOf(d descriptor, record string) Entry {
	name := record[direntName:]
	if end := strings.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	if name == "." || name == ".." || record[:8] == "\x00\x00\x00\x00\x00\x00\x00\x00" { // no inode
		return Entry{}
	}
	switch record[direntName-1] {
	case unix.DT_REG:
		return Entry{name, File}
	case unix.DT_DIR:
		return Entry{name, Directory}
	case unix.DT_LNK:
		return Entry{name, Symlink}
	case unix.DT_UNKNOWN:
		if info, err := infoOfEntry(d, name); err == nil {
			return Entry{name, info.Type}
		}
	}
	return Entry{name, Other}
}

// maxBusy is how often an open that is told to try again does so: EAGAIN comes
// from a rename at the wrong moment, but also for as long as another process holds
// a lease on the file (fcntl(2), F_SETLEASE), which must not hold the call.
const maxBusy = 64

func retry(err error, busy *int) bool {
	switch err {
	case unix.EINTR:
		return true
	case unix.EAGAIN:
		*busy++
		return *busy < maxBusy
	}
	return false
}

func openat(d int, name string, flags int) (fd int, err error) {
	for busy := 0; ; {
		if fd, err = unix.Openat(d, name, flags, 0); !retry(err, &busy) {
			return fd, err
		}
	}
}

// openEntry opens one component in d. O_NOFOLLOW alone is enough for one component;
// with O_DIRECTORY a link is told as ENOTDIR, and is told apart here. What has
// become a directory meanwhile is opened again.
func openEntry(d descriptor, name string, flags int) (fd descriptor, err error) {
	for range maxBusy {
		fd, err = openat(d, name, flags|unix.O_NOFOLLOW)
		if err != unix.ENOTDIR {
			return fd, err
		}
		var st unix.Stat_t
		if unix.Fstatat(d, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return fd, err
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			return fd, unix.ELOOP
		case unix.S_IFDIR:
		default:
			return fd, err
		}
	}
	return fd, err
}

// walk is for kernels and filters without openat2. It opens rel component by component. Each is opened relative to the descriptor
// of the one before and none is followed, so that whatever is swapped on the way,
// the walk is always in a directory that was under d when it got there.
func walk(d descriptor, rel string, flags int) (descriptor, error) {
	if !filepath.IsLocal(rel) {
		return -1, unix.EXDEV
	}
	at := d
	defer func() { leave(at, d) }()
	for {
		name, rest, more := strings.Cut(rel, "/")
		if !more {
			return openEntry(at, name, flags)
		}
		next, err := openEntry(at, name, stepFlags)
		if err != nil {
			return -1, err
		}
		leave(at, d)
		at, rel = next, rest
	}
}

// leave closes a directory that was only stepped through.
func leave(at, start descriptor) {
	if at != start {
		_ = release(at)
	}
}

// asFile makes an os.File that never waits: what looks like a regular file but
// blocks when read (trace_pipe, kmsg) must answer EAGAIN, so O_NONBLOCK stays, but
// out of sight of the runtime's poller, which would wait.
func asFile(fd descriptor, name string) (*os.File, error) {
	// os.NewFile registers a descriptor that does not block with the poller; this one is
	// made to look like one that blocks, and is set back.
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = release(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
