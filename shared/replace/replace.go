// Package replace changes files, each in one step: whoever reads sees the old file
// or the new one, whole, also when this process is killed or the disk is full. It
// takes names only as a [confine.Path] and changes an entry of a directory that is
// held open, so that nothing outside the allowed directories is reached, whatever
// is swapped on the way meanwhile (CWE-367).
//
// The package refuses to write through a link, into anything but a regular file, or
// into a file that is read-only; to overwrite where it was not asked to; to replace
// a file whose owner, attributes or access rights it cannot keep; and to give a new
// file an executable bit. What it cannot do in one step on a platform or a file
// system it refuses with fault.Unavailable instead of doing it in two.
//
// A server that does not import this package cannot change a file. One that does and
// restricts itself must keep the right to change attributes (restrict.Rules.Attributes).
package replace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// MaxBytes is the largest content that is written, and the largest file that
// [Writer.Update] reads (specification, section 3).
const MaxBytes = 100 << 20

// maxTries is how often a change is begun anew because another program changed the
// file meanwhile. Then it is refused: a file that changes all the time is not ours.
const maxTries = 8

// Writer changes files. Two changes of one file through the same Writer happen one
// after the other, and so do those of several processes where files have locks
// (flock(2)); changes by other programs are noticed as far as each function says. A
// file that another program keeps locked is fault.Unavailable after five seconds. The
// zero value is ready, may be used by many goroutines, and must not be copied.
type Writer struct {
	rules Rules
	order order
	lacks lacks
	moved func(step) // tests change the world here; nil in a program
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
	// last 512 bytes appended. It must not change or keep the slice.
	Content func(real confine.Path, content []byte) error
}

// New is a Writer that asks r. The zero Writer has no rules.
func New(r Rules) *Writer { return &Writer{rules: r} }

func (r *Rules) entry(real confine.Path) error {
	if r.Entry == nil {
		return nil
	}
	return r.Entry(real)
}

func (r *Rules) content(real confine.Path, content []byte) error {
	if r.Content == nil {
		return nil
	}
	return r.Content(real, content)
}

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
	if o.ExpectedSHA256 != "" {
		return Result{}, fault.New(fault.ParamInvalid, "a new file has no content to expect", "Leave the expected hash out, or ask to overwrite")
	}
	return w.change(ctx, p, int64(len(content)), func(at *place) (Result, error) {
		at.mode = o.Mode
		return at.create(ctx, content)
	})
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
	if o.ExpectedSHA256 == "" {
		return w.change(ctx, p, int64(len(content)), func(at *place) (Result, error) {
			at.mode = o.Mode
			return at.replace(ctx, content)
		})
	}
	want, err := hex.DecodeString(o.ExpectedSHA256)
	if err != nil || len(want) != sha256.Size {
		return Result{}, fault.New(fault.ParamMalformed, "the expected SHA-256 is not 64 hexadecimal digits", "Give the sha256 that reading the file has answered")
	}
	if err := tooLarge(p, int64(len(content))); err != nil {
		return Result{}, err
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
// same file through w. What Update cannot see is a program that keeps the old file open and writes into it
// after it was looked at: that goes where the old file goes.
func (w *Writer) Update(ctx context.Context, p confine.Path, change func(old []byte, info confine.Info) ([]byte, error)) (Result, error) {
	return w.change(ctx, p, 0, func(at *place) (Result, error) { return at.update(ctx, change) })
}

// change opens the directory of p and runs do on the entry, alone.
func (w *Writer) change(ctx context.Context, p confine.Path, size int64, do func(*place) (Result, error)) (res Result, err error) {
	if err := tooLarge(p, size); err != nil {
		return Result{}, err
	}
	dir, name, err := p.OpenParent()
	if err != nil {
		return Result{}, err
	}
	defer dir.Close() // nothing was written through it
	at := &place{path: p, real: dir.Path().Child(name), dir: dir, name: name, rules: &w.rules, lacks: w.lacks, moved: w.moved}
	if err := w.rules.entry(at.real); err != nil {
		return Result{}, at.told(err)
	}
	err = dir.Control(func(fd uintptr) error {
		at.at = int(fd)
		key, err := at.key()
		if err != nil {
			return at.told(err)
		}
		leave, err := w.order.enter(ctx, key)
		if err != nil {
			return at.told(err)
		}
		defer leave()
		res, err = at.alone(ctx, do)
		return at.told(err)
	})
	return res, err
}

// place is one entry of one open directory.
type place struct {
	path  confine.Path // for messages
	real  confine.Path // for rules: where the entry lies
	dir   *confine.Dir
	at    int // the directory's descriptor
	name  string
	mode  fs.FileMode // what the caller wants of a new file; 0 for no wish
	rules *Rules
	lacks lacks
	moved func(step)
}

// lacks is what a file system has been found not to offer.
type lacks struct {
	unnamed   bool // files without a name (O_TMPFILE)
	exclusive bool // renaming that never overwrites (RENAME_NOREPLACE)
	exchange  bool // two names changing places (RENAME_EXCHANGE)
}

// step is a moment at which a test may interfere.
type step int

const (
	beforeSwap step = iota // the new content is complete and the old still in place
	afterSwap              // the new content is in place and the old not yet judged
)

func (at *place) reached(s step) {
	if at.moved != nil {
		at.moved(s)
	}
}

// told is err as a caller may see it.
func (at *place) told(err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	if _, ok := e.Details["path"]; ok {
		return e
	}
	return e.With("path", at.path.String())
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

func taken(p confine.Path, cause error) error {
	return fault.New(fault.Exists, "there is already something under "+shown(p), "Choose another name, or ask to overwrite").
		With("path", p.String()).Because(cause)
}

func readOnly(p confine.Path) error {
	return fault.New(fault.PermissionDenied, shown(p)+" is read-only", "Leave it as it is, or ask the person it belongs to to make it writable").
		With("path", p.String())
}

// cannotKeep refuses a change that would take something from the file. That there is
// no room for it is another matter.
func cannotKeep(p confine.Path, what string, cause error) error {
	if errors.Is(fault.From(cause), fault.DiskFull) {
		return cause
	}
	return fault.New(fault.PermissionDenied, "the "+what+" of "+shown(p)+" cannot be kept when its content is replaced",
		"Leave it as it is, or ask the person it belongs to").With("path", p.String()).Because(cause)
}

func cannotSwap(p confine.Path, cause error) error {
	return fault.New(fault.Unavailable, "the file system of "+shown(p)+" cannot exchange two files in one step, so that a change by another program could be lost",
		"Overwrite the whole file without an expected hash").With("path", p.String()).Because(cause)
}

// restless refuses a file that was another at every try.
func restless(p confine.Path) error {
	return fault.New(fault.Unavailable, shown(p)+" is being changed by another program all the time", "Try again later").With("path", p.String())
}

// result tells content that is in place.
func result(content []byte) Result {
	sum := sha256.Sum256(content)
	return Result{Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}
