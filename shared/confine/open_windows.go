package confine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/multiollama/mcp-server/shared/fault"
)

type descriptor = windows.Handle

// wanted is how something is opened, in the terms of the system.
type wanted = uint32

// What an open asks for, as create options of NtCreateFile.
const (
	wantFile      = windows.FILE_NON_DIRECTORY_FILE
	wantDirectory = windows.FILE_DIRECTORY_FILE
	wantInfo      = 0
)

const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// bestMechanism is OBJ_DONT_REPARSE (Windows 10 1709), which every Windows that Go
// runs on has; there is no other.
func bestMechanism(descriptor) mechanism { return byKernel }

// openRoot opens a directory whose name has no links left in it.
func openRoot(real string) (descriptor, error) {
	name, err := windows.UTF16PtrFromString(real)
	if err != nil {
		return 0, err
	}
	h, err := windows.CreateFile(name, windows.FILE_GENERIC_READ|windows.FILE_TRAVERSE, shareAll, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return 0, err
	}
	info, err := infoOf(h)
	if err == nil && info.Type != Directory {
		err = windows.ERROR_DIRECTORY
	}
	if err != nil {
		_ = release(h)
		return 0, err
	}
	return h, nil
}

// openBeneath opens rel under d with one NtCreateFile: OBJ_DONT_REPARSE fails on
// any reparse point on the way, so that symbolic links, junctions and mount points
// are refused, and NT paths know no "..".
func openBeneath(d descriptor, rel string, want uint32, _ mechanism) (descriptor, error) {
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return 0, windows.STATUS_OBJECT_PATH_SYNTAX_BAD
	}
	if rel == "." {
		rel = ""
	}
	name, err := windows.NewNTUnicodeString(filepath.FromSlash(rel))
	if err != nil {
		return 0, err
	}
	oa := &windows.OBJECT_ATTRIBUTES{RootDirectory: d, ObjectName: name,
		Attributes: windows.OBJ_CASE_INSENSITIVE | windows.OBJ_DONT_REPARSE}
	oa.Length = uint32(unsafe.Sizeof(*oa))
	access := uint32(windows.SYNCHRONIZE | windows.FILE_GENERIC_READ)
	if want == wantInfo {
		access = windows.SYNCHRONIZE | windows.FILE_READ_ATTRIBUTES
	}
	var h windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&h, access, oa, &status, nil, 0, shareAll, windows.FILE_OPEN,
		want|windows.FILE_SYNCHRONOUS_IO_NONALERT|windows.FILE_OPEN_FOR_BACKUP_INTENT, 0, 0)
	return h, inWindowsTerms(err, want)
}

// inWindowsTerms turns a status that decides nothing here into the error of Win32
// that package fault knows.
func inWindowsTerms(err error, want uint32) error {
	var status windows.NTStatus
	switch {
	case !errors.As(err, &status):
		return err
	case status == windows.STATUS_FILE_IS_A_DIRECTORY:
		return wrongType(Directory)
	case status == windows.STATUS_NOT_A_DIRECTORY && want == wantDirectory:
		return wrongType(File)
	case problemOf(err) == failed:
		return status.Errno()
	}
	return err
}

func openEntry(d descriptor, name string, want uint32) (descriptor, error) {
	return openBeneath(d, name, want, byKernel)
}

func release(d descriptor) error { return windows.CloseHandle(d) }

func problemOf(err error) problem {
	if err == nil {
		return none
	}
	var status windows.NTStatus
	if !errors.As(err, &status) {
		return failed
	}
	switch status {
	case windows.STATUS_REPARSE_POINT_ENCOUNTERED, windows.STATUS_STOPPED_ON_SYMLINK:
		return throughLink
	case windows.STATUS_OBJECT_NAME_NOT_FOUND, windows.STATUS_OBJECT_PATH_NOT_FOUND, windows.STATUS_NO_SUCH_FILE:
		return missing
	case windows.STATUS_NOT_A_DIRECTORY:
		return throughFile
	case windows.STATUS_OBJECT_PATH_SYNTAX_BAD:
		return outside
	}
	return failed
}

// survey finds the first component of rel that is a link or missing, by name: it
// explains an open that failed, and permits nothing.
func survey(_ descriptor, base, rel string) obstacle {
	at := filepath.FromSlash(base)
	for i, name := range strings.Split(rel, "/") {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return obstacle{kind: missing, at: i}
		case err != nil:
			return obstacle{}
		case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			target, _ := os.Readlink(at)
			return obstacle{kind: throughLink, at: i, target: target}
		}
	}
	return obstacle{}
}

func infoBeneath(d descriptor, rel string, by mechanism) (Info, error) {
	h, err := openBeneath(d, rel, wantInfo, by)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = release(h) }()
	return infoOf(h)
}

// infoOfEntry describes one entry. A link is known by the refusal to open it.
func infoOfEntry(d descriptor, name string) (Info, error) {
	info, err := infoBeneath(d, path.Clean(name), byKernel)
	if problemOf(err) == throughLink {
		return Info{Type: Symlink, Mode: fs.ModeSymlink}, nil
	}
	return info, err
}

func infoOf(h descriptor) (Info, error) {
	if kind, err := windows.GetFileType(h); err != nil || kind != windows.FILE_TYPE_DISK {
		return Info{Type: Other, Mode: fs.ModeIrregular}, err
	}
	var st windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &st); err != nil {
		return Info{}, err
	}
	mode := fs.FileMode(0o666)
	switch {
	case st.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		mode |= fs.ModeSymlink
	case st.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		mode |= fs.ModeDir | 0o111
	}
	if st.FileAttributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		mode &^= 0o222
	}
	info := Info{
		Type:     typeOf(mode),
		Mode:     mode,
		Size:     int64(st.FileSizeHigh)<<32 | int64(st.FileSizeLow),
		Modified: time.Unix(0, st.LastWriteTime.Nanoseconds()),
		Accessed: time.Unix(0, st.LastAccessTime.Nanoseconds()),
		Created:  time.Unix(0, st.CreationTime.Nanoseconds()),
		Links:    uint64(st.NumberOfLinks),
	}
	info.Stamp = Stamp{
		Dev: uint64(st.VolumeSerialNumber), Ino: uint64(st.FileIndexHigh)<<32 | uint64(st.FileIndexLow),
		Size: info.Size, Modified: info.Modified.UnixNano(),
	}
	return info, nil
}

// linkOf refuses: reparse points have many kinds, and most have no text.
func linkOf(descriptor, string) (string, error) {
	return "", fault.New(fault.Unavailable, "links cannot be read on Windows", "Leave them as they are")
}

func asFile(h descriptor, name string) (*os.File, error) {
	return os.NewFile(uintptr(h), name), nil
}

// listing reads a directory through an os.File of its own, which asks the system by
// handle and never by name.
type listing struct{ dir *os.File }

const entriesAtOnce = 256

func (l *listing) append(into []Entry, d descriptor, _ place, _ []byte) ([]Entry, error) {
	if l.dir == nil {
		self := windows.CurrentProcess()
		var own windows.Handle
		if err := windows.DuplicateHandle(self, d, self, &own, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
			return into, err
		}
		l.dir = os.NewFile(uintptr(own), "directory")
	}
	entries, err := l.dir.ReadDir(entriesAtOnce)
	for _, e := range entries {
		into = append(into, Entry{e.Name(), typeOfEntry(e.Type())})
	}
	if len(entries) > 0 {
		return into, nil
	}
	return into, err
}

// typeOfEntry takes every reparse point for a link: none is followed.
func typeOfEntry(mode fs.FileMode) Type {
	if mode&fs.ModeIrregular != 0 {
		return Symlink
	}
	return typeOf(mode)
}

func (l *listing) close() error {
	if l.dir == nil {
		return nil
	}
	return l.dir.Close()
}
