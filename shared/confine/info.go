package confine

import (
	"io/fs"
	"time"
)

// Type is what a name stands for.
type Type int

// What is none of the first three (FIFO, socket, device) is Other and is never opened.
const (
	_ Type = iota
	File
	Directory
	Symlink
	Other
)

// String is the type as listings show it.
func (t Type) String() string {
	switch t {
	case File:
		return "file"
	case Directory:
		return "directory"
	case Symlink:
		return "symlink"
	case Other:
		return "other"
	}
	return "unknown"
}

// Info describes a file as it was when it was opened or looked at. Times are zero
// where the system does not know them.
type Info struct {
	Name     string // the last component, as the file system spells it
	Type     Type
	Size     int64 // bytes
	Mode     fs.FileMode
	Modified time.Time
	Accessed time.Time
	Changed  time.Time // of the content or of its attributes
	Created  time.Time
	Links    uint64 // names this file has
	Stamp    Stamp
}

// Entry is a name in a directory. Type comes from the directory itself where it
// says, else from the entry, and is that of the entry and not of what a link leads to.
type Entry struct {
	Name string
	Type Type
}

func typeOf(mode fs.FileMode) Type {
	switch mode.Type() {
	case 0:
		return File
	case fs.ModeDir:
		return Directory
	case fs.ModeSymlink:
		return Symlink
	}
	return Other
}

// Stamp is what tells one version of a file or directory from another: as long as it
// stays the same so does what is there, as far as time stamps can tell. That of a
// directory changes when an entry comes, goes or is renamed. Times are in nanoseconds
// since 1970.
type Stamp struct {
	Dev, Ino          uint64
	Size              int64
	Modified, Changed int64
}

// SameFile says that both are of one file or directory, in whatever versions.
func (s Stamp) SameFile(other Stamp) bool { return s.Dev == other.Dev && s.Ino == other.Ino }

// Local says that d lies in a file system of this machine that is known to change the
// stamp of what is changed, and to tell the new one at once. False means not known.
func (d *Dir) Local() bool { return d.place.local }

// Local is [Dir.Local] of the file that is open.
func (r *Reader) Local() bool { return r.open && r.file.place.local }
