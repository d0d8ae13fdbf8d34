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
