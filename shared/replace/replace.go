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
// A server that does not import this package cannot change a file. One that does and
// restricts itself must keep the right to change attributes (restrict.Rules.Attributes).
package replace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
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

// Result is what a change has done by the time it is told: the file and the name
// are on the disk.
type Result struct {
	Created    bool   // there was no such file before
	Bytes      int64  // size of the file now
	SHA256     string // of its content, in hexadecimal
	BrokeLinks bool   // the file had further names (hard links); they keep the old content
}

// Create makes a new file, readable and writable as the umask and the directory's
// default rights say, never executable. It never overwrites: where something is
// already, and where another creator is faster, it is fault.Exists.
func (w *Writer) Create(ctx context.Context, p confine.Path, content []byte, o Options) (Result, error) {
	err := expectsNothing(o)
	if err == nil {
		err = tooLarge(p, int64(len(content)))
	}
	if err != nil {
		return Result{}, err
	}
	return w.create(ctx, p, content, o)
}

// CreateFrom is Create with content of any size, which is read once and written as it
// comes. An error of src ends it.
func (w *Writer) CreateFrom(ctx context.Context, p confine.Path, src io.Reader, o Options) (Result, error) {
	if err := expectsNothing(o); err != nil {
		return Result{}, err
	}
	return w.createFrom(ctx, p, src, o)
}

// Replace puts content in the place of what the file holds, or makes the file as
// Create does. Owner, group, permissions, access control lists and extended
// attributes stay; set-user-ID and set-group-ID go, as with write(2).
//
// With an expected hash it is Update with a comparison: a file that differs is
// fault.Exists with present_sha256 in its details, one that is missing
// fault.NotFound. Without one, the last of several writers wins. A file that is
// read-only, or whose owner or attributes cannot be kept, is fault.PermissionDenied.
func (w *Writer) Replace(ctx context.Context, p confine.Path, content []byte, o Options) (Result, error) {
	if err := tooLarge(p, int64(len(content))); err != nil {
		return Result{}, err
	}
	if o.ExpectedSHA256 == "" {
		return w.replace(ctx, p, content, o)
	}
	want, err := hex.DecodeString(o.ExpectedSHA256)
	if err != nil || len(want) != sha256.Size {
		return Result{}, fault.New(fault.ParamMalformed, "the expected SHA-256 is not 64 hexadecimal digits", "Give the sha256 that reading the file has answered")
	}
	return w.Update(ctx, p, func(old []byte, _ confine.Info) ([]byte, error) {
		if have := sha256.Sum256(old); string(have[:]) != string(want) {
			return nil, otherVersion(p, have)
		}
		return content, nil
	})
}

// Update reads the file and puts what change makes of it in its place if it is
// still the version that was read: both change places in one step, what came out is
// looked at, and put back if it is another. In that case, and only then, change is
// called again with the new content, a few times; after that it is fault.Exists with
// present_sha256. An error of change ends it, and content that is the same as before
// is not written. A missing file is fault.NotFound, one over MaxBytes
// fault.LimitReached.
//
// The file is held for this call while change runs, so change must not change the
// same file through w. What Update cannot see is a program that keeps the old file
// open and writes into it after it was looked at: that goes where the old file goes.
//
// On file systems where names cannot change places (NFS, 9p as in WSL, some FUSE) the
// file is looked at once more, content and all, right before the new one is put over
// it. There, what a program that does not heed our lock writes between that look and
// the next system call is lost.
func (w *Writer) Update(ctx context.Context, p confine.Path, change func(old []byte, info confine.Info) ([]byte, error)) (Result, error) {
	return w.update(ctx, p, change)
}

// MakeDirs makes the directory p and those above it that are missing, with all the
// permissions that the umask and the default rights above leave. It tells which it
// made, outermost first, each as it really lies and on the disk. A directory that is
// there is no error, also when another caller has just made it; anything else under
// one of the names is as in [confine.Path.OpenDir]. On an error, those that were made
// are removed again as far as they are still empty.
func (w *Writer) MakeDirs(ctx context.Context, p confine.Path) (made []confine.Path, err error) {
	return w.makeDirs(ctx, p)
}

// RemoveDir removes an empty directory. One that is not empty, and anything that is
// no directory, is fault.ParamInvalid.
func (w *Writer) RemoveDir(ctx context.Context, p confine.Path) error {
	return w.removeDir(ctx, p)
}

func expectsNothing(o Options) error {
	if o.ExpectedSHA256 == "" {
		return nil
	}
	return fault.New(fault.ParamInvalid, "a new file has no content to expect", "Leave the expected hash out, or ask to overwrite")
}

// shown is a path as messages carry it: quoted, so that it cannot forge a line.
func shown(p confine.Path) string { return strconv.Quote(p.String()) }

func tooLarge(p confine.Path, size int64) error {
	if size <= MaxBytes {
		return nil
	}
	return fault.New(fault.LimitReached, fmt.Sprintf("the content of %s has %d bytes, more than the %d that are changed at once", shown(p), size, MaxBytes),
		"Split it into several files").With("path", p.String()).With("limit_bytes", MaxBytes)
}

func otherVersion(p confine.Path, have [sha256.Size]byte) error {
	return fault.New(fault.Exists, shown(p)+" is not the version that was expected: it was changed since it was read",
		"Read it again and make the change to what is there now").
		With("path", p.String()).With("present_sha256", hex.EncodeToString(have[:]))
}
