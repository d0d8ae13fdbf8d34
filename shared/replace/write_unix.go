//go:build linux || darwin

package replace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

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
	return w.create(ctx, p, all(content), o)
}

// CreateFrom is Create with content of any size, which is read once and written as it
// comes. An error of src ends it.
func (w *Writer) CreateFrom(ctx context.Context, p confine.Path, src io.Reader, o Options) (Result, error) {
	if err := expectsNothing(o); err != nil {
		return Result{}, err
	}
	s := &stream{src: src}
	defer s.close()
	return w.create(ctx, p, s.fill, o)
}

func expectsNothing(o Options) error {
	if o.ExpectedSHA256 == "" {
		return nil
	}
	return fault.New(fault.ParamInvalid, "a new file has no content to expect", "Leave the expected hash out, or ask to overwrite")
}

func (w *Writer) create(ctx context.Context, p confine.Path, fill filling, o Options) (Result, error) {
	e, err := w.openAlone(ctx, p, true)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	e.mode = o.Mode
	res, err := e.create(ctx, fill)
	return res, e.explained(err)
}

// create makes the entry a file, unless there is something.
func (e *entry) create(ctx context.Context, fill filling) (Result, error) {
	if _, err := e.dir.Info(e.name); err == nil {
		return Result{}, taken(e.path, nil) // for speed only: what decides is becomeNew
	}
	res, err := e.write(ctx, fill, nil, (*draft).becomeNew)
	if errors.Is(err, unix.EEXIST) {
		err = taken(e.path, err)
	}
	if err != nil {
		return Result{}, err
	}
	res.Created = true
	return res, nil
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
	if o.ExpectedSHA256 != "" {
		want, err := hex.DecodeString(o.ExpectedSHA256)
		if err != nil || len(want) != sha256.Size {
			return Result{}, fault.New(fault.ParamMalformed, "the expected SHA-256 is not 64 hexadecimal digits",
				"Give the sha256 that reading the file has answered")
		}
		return w.Update(ctx, p, func(old []byte, _ confine.Info) ([]byte, error) {
			if have := sha256.Sum256(old); string(have[:]) != string(want) {
				return nil, otherVersion(p, have)
			}
			return content, nil
		})
	}
	e, err := w.openAlone(ctx, p, true)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	e.mode = o.Mode
	for range maxTries {
		res, err := e.replaceOnce(ctx, content)
		if !errors.Is(err, errOutrun) {
			return res, e.explained(err)
		}
	}
	return Result{}, restless(p)
}

func (e *entry) replaceOnce(ctx context.Context, content []byte) (Result, error) {
	old, err := e.original(ctx)
	if errors.Is(err, fault.NotFound) {
		res, err := e.create(ctx, all(content))
		if errors.Is(err, fault.Exists) {
			err = errOutrun
		}
		return res, err
	}
	if err != nil {
		return Result{}, err
	}
	defer old.file.Close() // nothing was written through it
	return e.write(ctx, all(content), old, (*draft).become)
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
	e, err := w.openAlone(ctx, p, true)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	for range maxTries {
		res, err := e.updateOnce(ctx, change)
		if !errors.Is(err, errOutrun) {
			return res, e.explained(err)
		}
	}
	content, _, err := e.read()
	if err != nil {
		return Result{}, e.explained(err)
	}
	return Result{}, otherVersion(p, sha256.Sum256(content))
}

func (e *entry) updateOnce(ctx context.Context, change func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	old, err := e.original(ctx)
	if err != nil {
		return Result{}, err
	}
	defer old.file.Close() // nothing was written through it
	before, info, err := e.read()
	if err != nil {
		return Result{}, err
	}
	// The file was locked by name and read by name: only if both were the same version
	// is it this content that the swap may replace.
	if !old.is(info.Stamp) {
		return Result{}, errOutrun
	}
	old.content = before

	content, err := change(before, info)
	if err == nil {
		err = tooLarge(e.path, int64(len(content)))
	}
	if err != nil {
		return Result{}, err
	}
	if bytes.Equal(before, content) {
		return result(content), nil
	}
	return e.write(ctx, all(content), old, (*draft).swap)
}

// read is the whole content of the entry and what the file was when it was opened.
// It is not larger than MaxBytes, also when it grows meanwhile.
func (e *entry) read() ([]byte, confine.Info, error) {
	f, info, err := e.dir.Open(e.name)
	if err != nil {
		return nil, confine.Info{}, err
	}
	defer f.Close() // nothing was written through it
	if info.Size > MaxBytes {
		return nil, confine.Info{}, tooLarge(e.path, info.Size)
	}
	b := bytes.NewBuffer(make([]byte, 0, info.Size+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(f, MaxBytes+1))
	if err == nil && n > MaxBytes {
		err = fault.New(fault.LimitReached, "the file grows while it is read", "Try again later")
	}
	return b.Bytes(), info, err
}

func otherVersion(p confine.Path, have [sha256.Size]byte) error {
	return fault.New(fault.Exists, shown(p)+" is not the version that was expected: it was changed since it was read",
		"Read it again and make the change to what is there now").
		With("path", p.String()).With("present_sha256", hex.EncodeToString(have[:]))
}

// MakeDirs makes the directory p and those above it that are missing, with all the
// permissions that the umask and the default rights above leave. It returns which it
// made, outermost first, each as it really lies and on the disk. A directory that is
// there is no error, also when another caller has just made it; anything else under
// one of the names is as in [confine.Path.OpenDir]. On an error, those that were made
// are removed again as far as they are still empty.
func (w *Writer) MakeDirs(ctx context.Context, p confine.Path) (made []confine.Path, err error) {
	if err := isDirectory(p.OpenDir()); err == nil || !errors.Is(err, fault.NotFound) {
		return nil, err
	}
	made, err = w.makeMissing(ctx, p)
	if err == nil {
		return made, nil
	}
	for i := len(made) - 1; i >= 0; i-- {
		_ = w.removeDir(made[i], &Rules{}) // not if others use it already; the rules have allowed it before
	}
	return nil, err
}

// isDirectory is nil for a directory that could be opened.
func isDirectory(d *confine.Dir, err error) error {
	if err == nil {
		_ = d.Close() // nothing was written through it
	}
	return err
}

// makeMissing climbs to the first directory whose parent is there, and makes them from
// there down. If one vanishes on the way down, it climbs again.
func (w *Writer) makeMissing(ctx context.Context, p confine.Path) (made []confine.Path, err error) {
	todo := []confine.Path{p}
	for range 2 * maxTries * (strings.Count(p.Rel(), "/") + 1) {
		last := todo[len(todo)-1]
		var real confine.Path
		var isNew bool
		real, isNew, err = w.makeDir(ctx, last)
		if isNew {
			made = append(made, real)
		}
		switch {
		case err == nil:
			if todo = todo[:len(todo)-1]; len(todo) == 0 {
				return made, nil
			}
		case !errors.Is(err, fault.NotFound):
			return made, err
		default:
			if up, ok := last.Parent(); ok && up.Rel() != "." {
				todo = append(todo, up)
			}
		}
	}
	return made, err
}

// makeDir makes the directory p, whose parent must be there. real is where it is.
func (w *Writer) makeDir(ctx context.Context, p confine.Path) (real confine.Path, isNew bool, err error) {
	if err := ctx.Err(); err != nil {
		return confine.Path{}, false, fault.From(err)
	}
	e, err := w.open(p, true, &w.rules)
	if err != nil {
		return confine.Path{}, false, err
	}
	defer e.close()
	err = again(func() error { return unix.Mkdirat(e.fd, e.name, 0o777) })
	switch err {
	case nil:
		isNew, err = true, e.sync()
	case unix.EEXIST:
		err = isDirectory(e.dir.OpenDir(e.name)) // another caller was faster
	}
	return e.real, isNew, e.explained(err)
}

// RemoveDir removes an empty directory. One that is not empty, and anything that is
// no directory, is fault.ParamInvalid.
func (w *Writer) RemoveDir(ctx context.Context, p confine.Path) error {
	if err := ctx.Err(); err != nil {
		return fault.From(err)
	}
	return w.removeDir(p, &w.rules)
}

func (w *Writer) removeDir(p confine.Path, rules *Rules) error {
	e, err := w.open(p, true, rules)
	if err != nil {
		return err
	}
	defer e.close()
	err = unlinkat(e.fd, e.name, unix.AT_REMOVEDIR)
	switch err {
	case nil:
		err = e.sync()
	case unix.ENOTEMPTY, unix.EEXIST:
		err = fault.New(fault.ParamInvalid, "the directory "+shown(p)+" is not empty", "Remove what is in it first").Because(err)
	case unix.ENOTDIR:
		err = fault.New(fault.ParamInvalid, shown(p)+" is not a directory", "Name a directory").Because(err)
	}
	return e.explained(err)
}

// chunk is how much is written between two looks at whether anybody still waits.
const chunk = 1 << 20

// filling writes what a draft is to hold. seen is what of it a rule is asked about. It
// may be called twice.
type filling func(ctx context.Context, d *draft) (res Result, seen []byte, err error)

// all is the filling of content that is at hand.
func all(content []byte) filling {
	return func(ctx context.Context, d *draft) (Result, []byte, error) {
		for rest := content; len(rest) > 0; {
			if err := ctx.Err(); err != nil {
				return Result{}, nil, err
			}
			n, err := d.file.Write(rest[:min(chunk, len(rest))])
			if err != nil {
				return Result{}, nil, err
			}
			rest = rest[n:]
		}
		return result(content), content, nil
	}
}

func result(content []byte) Result {
	sum := sha256.Sum256(content)
	return Result{Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// stream is content that can be read once.
type stream struct {
	src  io.Reader
	res  Result
	read *os.File // the draft that holds all of it, for another draft if that one is of no use
}

// fill is a filling.
func (s *stream) fill(ctx context.Context, d *draft) (Result, []byte, error) {
	src := s.src
	if s.read != nil {
		src = io.NewSectionReader(s.read, 0, s.res.Bytes)
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(d.file, sum), patient{ctx, src}, make([]byte, chunk))
	if err == nil && s.read == nil {
		var fd int // outlives d.file
		if fd, err = unix.FcntlInt(d.file.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			s.read = os.NewFile(uintptr(fd), "draft")
		}
	}
	if err != nil {
		return Result{}, nil, err
	}
	s.res = Result{Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	seen, err := sample(d.file, n)
	return s.res, seen, err
}

func (s *stream) close() {
	if s.read != nil {
		_ = s.read.Close() // nothing was written through it
	}
}

// patient reads as long as somebody still waits.
type patient struct {
	ctx context.Context
	src io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.src.Read(b)
}

// sample is what a rule is shown of content that is not at hand: the first bytes of f
// and, where it is longer, the last ones appended.
func sample(f io.ReaderAt, size int64) ([]byte, error) {
	head := min(size, 64<<10)
	tail := min(size-head, 512)
	b := make([]byte, head+tail)
	if n, err := f.ReadAt(b[:head], 0); int64(n) < head {
		return nil, err
	}
	if n, err := f.ReadAt(b[head:], size-tail); int64(n) < tail {
		return nil, err
	}
	return b, nil
}
