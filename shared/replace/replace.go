// Package replace changes files, each in one step: whoever reads sees the old file
// or the new one, whole, also when this process is killed or the disk is full. It
// takes names only as a [confine.Path] and changes an entry of a directory that is
// held open, so that nothing outside the allowed directories is reached, whatever
// is swapped on the way meanwhile (CWE-367).
//
// The package refuses to write through a link, into anything but a regular file, or
// into a file that is read-only; to overwrite where it was not asked to; to replace
// a file whose owner, attributes or access rights it cannot keep; and to give a new
// file an executable bit. What it cannot do safely on a platform it refuses with
// fault.Unavailable.
//
// It moves and removes entries too, directories with all that is in them among them. It
// refuses to move or remove a symbolic link, to overwrite by a move where it was not asked
// to, and to touch a directory of which any part is refused, or changes meanwhile.
//
// What must stay true, and which tests keep it:
//
//   - after a failure of any system call, a kill or a full disk, the file is the old one
//     or the new one: inject_linux_test.go, kill_linux_test.go, keep_linux_test.go;
//   - a version that the caller was not shown is never lost, whoever wrote it and when:
//     race_unix_test.go, contend_linux_test.go, moverace_linux_test.go;
//   - no change leaves the directory that was opened: swap_linux_test.go;
//   - a rule is asked about where the entry really is and what will be there, and what it
//     refuses does not happen: rules_unix_test.go.
//
// A server that does not import this package cannot change a file. One that does and
// restricts itself must keep the right to change attributes (restrict.Rules.Attributes).
package replace

import (
	"io/fs"
	"os"

	"github.com/multiollama/mcp-server/shared/confine"
)

// MaxBytes is the largest content that is written, and the largest file that
// [Writer.Update] reads (specification, section 3).
const MaxBytes = 100 << 20

// Writer changes files. Two changes of one file through the same Writer happen one
// after the other, and so do those of several processes where files have locks
// (flock(2)); changes by other programs are noticed as far as each function says. A
// file that another program keeps locked is fault.Unavailable after five seconds. The
// zero value is ready, may be used by many goroutines, and must not be copied.
type Writer struct {
	rules Rules
	state
}

// Rules are asked about every change; what one refuses does not happen, and its error
// is what the caller gets. They are asked with directories held open and files locked,
// so they must not change anything through the same Writer. A nil rule refuses nothing.
type Rules struct {
	// Entry judges an entry that is to be made, changed, moved (both its names) or
	// removed. real is where it lies: links on the way have been followed and the
	// directory is open, so that nothing swapped after the judgement helps.
	Entry func(real confine.Path) error
	// Content judges what is about to stand under real, complete but not yet in place:
	// all of it where it is at hand, else its first 64 KiB and, where it is longer, its
	// last 512 bytes appended. mode is the permissions that it will have there: those of
	// the file that it replaces, or its own where it is moved. It must not change or keep
	// the slice.
	Content func(real confine.Path, content []byte, mode fs.FileMode) error
}

// New is a Writer that asks r. The zero Writer has no rules.
func New(r Rules) *Writer { return &Writer{rules: r} }

// Options narrow a change.
type Options struct {
	// ExpectedSHA256 is the hash, in hexadecimal, of the content that is to be
	// replaced. "" expects nothing.
	ExpectedSHA256 string
	// Mode is the most that a new file's permissions may be, of 0666 and below what the
	// umask and the directory's default rights say. 0 has no wish.
	Mode fs.FileMode
}

// Result is what a change has done when it returns: the file and the name are on the
// disk.
type Result struct {
	Created    bool   // there was no such file before
	Bytes      int64  // size of the file now
	SHA256     string // of its content, in hexadecimal
	BrokeLinks bool   // the file had further names (hard links); they keep the old content
}

// Tree is what a directory contains. Links are entries of their own, never followed.
type Tree struct {
	Files, Dirs, Links int
	Bytes              int64 // of the files
}

// MoveOptions narrow or widen a move.
type MoveOptions struct {
	// Overwrite lets a regular file take the place of another, and of nothing else.
	Overwrite bool
	// Replaced is shown the file that goes, before it goes. Its error ends the move.
	Replaced func(f *os.File, info confine.Info) error
}

// MoveResult is what a move has done when it returns: both names are on the disk.
type MoveResult struct {
	Replaced  bool // another file was there and is gone
	Directory bool
	Copied    bool // the file is on another file system now, and so another file
}
