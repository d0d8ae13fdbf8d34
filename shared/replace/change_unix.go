//go:build linux || darwin

package replace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// errOutrun says that another program changed the entry meanwhile.
var errOutrun = errors.New("another program was faster")

func (at *place) key() (key, error) {
	var st unix.Stat_t
	if err := fstat(at.at, &st); err != nil {
		return key{}, err
	}
	return key{dev: uint64(st.Dev), ino: st.Ino, name: strings.ToLower(at.name)}, nil
}

// alone runs do while no other process of this program sweeps the directory.
func (at *place) alone(ctx context.Context, do func(*place) (Result, error)) (Result, error) {
	if err := at.keepSweepersOut(ctx); err != nil {
		return Result{}, err
	}
	return do(at)
}

// keepSweepersOut holds the directory's lock in common with all who write, until
// the directory is closed. Where directories have no locks, Sweep does nothing.
func (at *place) keepSweepersOut(ctx context.Context) error {
	return at.lock(ctx, at.at, unix.LOCK_SH, "the directory of "+shown(at.path))
}

// lock waits for an advisory lock (flock(2)), which closing the descriptor ends. Ours
// are held for as long as a change takes; whoever has one longer must not hold the
// call for ever. A file system without locks has none to wait for.
func (at *place) lock(ctx context.Context, fd, how int, what string) error {
	const longest, most = 32 * time.Millisecond, 5 * time.Second
	wait := time.Millisecond
	for waited := time.Duration(0); waited < most; waited += wait {
		err := again(func() error { return unix.Flock(fd, how|unix.LOCK_NB) })
		if err != unix.EWOULDBLOCK {
			return nil
		}
		wait = min(2*wait, longest)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	return fault.New(fault.Unavailable, "another program holds "+what+" locked", "Try again later")
}

func (at *place) create(ctx context.Context, content []byte) (Result, error) {
	err := at.makeFile(ctx, all(content))
	return at.created(result(content), err)
}

// makeFile makes the entry a file, unless there is something.
func (at *place) makeFile(ctx context.Context, fill filling) error {
	if _, err := at.dir.Info(at.name); err == nil {
		return taken(at.path, nil) // for speed only: what decides is becomeNew
	}
	err := at.with(ctx, fill, nil, (*draft).becomeNew)
	if errors.Is(err, unix.EEXIST) {
		return taken(at.path, err)
	}
	return err
}

func (at *place) created(res Result, err error) (Result, error) {
	res.Created = true
	return at.settled(res, err)
}

func (at *place) replace(ctx context.Context, content []byte) (Result, error) {
	for range maxTries {
		res, err := at.replaceOnce(ctx, content)
		if !errors.Is(err, errOutrun) {
			return res, err
		}
	}
	return Result{}, restless(at.path)
}

func (at *place) replaceOnce(ctx context.Context, content []byte) (Result, error) {
	old, err := at.original(ctx)
	if errors.Is(err, fault.NotFound) {
		res, err := at.create(ctx, content)
		if errors.Is(err, fault.Exists) {
			err = errOutrun
		}
		return res, err
	}
	if err != nil {
		return Result{}, err
	}
	defer old.file.Close() // nothing was written through it
	res := result(content)
	res.BrokeLinks = old.links > 1
	return at.settled(res, at.with(ctx, all(content), old, (*draft).become))
}

// settled puts the directory on the disk after a change that worked. If that fails,
// the file is changed all the same, and may be the old one again after a power cut.
func (at *place) settled(res Result, err error) (Result, error) {
	if err == nil {
		err = at.sync()
	}
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

func (at *place) sync() error {
	err := again(func() error { return syncDirectory(at.at) })
	if err == nil || unoffered(err) {
		return nil
	}
	return at.changedAnyway(err)
}

func (at *place) update(ctx context.Context, change func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	var err error
	for range maxTries {
		var res Result
		if res, err = at.updateOnce(ctx, change); !errors.Is(err, errOutrun) {
			return res, err
		}
	}
	content, _, err := at.read()
	if err != nil {
		return Result{}, err
	}
	return Result{}, otherVersion(at.path, sha256.Sum256(content))
}

func (at *place) updateOnce(ctx context.Context, change func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	old, err := at.original(ctx)
	if err != nil {
		return Result{}, err
	}
	defer old.file.Close() // nothing was written through it
	before, info, err := at.read()
	if err != nil {
		return Result{}, err
	}
	if !old.is(info.Stamp) {
		return Result{}, errOutrun
	}
	content, err := change(before, info)
	if err == nil {
		err = tooLarge(at.path, int64(len(content)))
	}
	if err != nil {
		return Result{}, err
	}
	if bytes.Equal(before, content) {
		return result(content), nil
	}
	res := result(content)
	res.BrokeLinks = old.links > 1
	return at.settled(res, at.with(ctx, all(content), old, func(d *draft) error { return d.swap(old, before) }))
}

// read is the whole content of the entry and what the file was when it was opened.
// It is not larger than MaxBytes, also when it grows meanwhile.
func (at *place) read() ([]byte, confine.Info, error) {
	f, info, err := at.dir.Open(at.name)
	if err != nil {
		return nil, confine.Info{}, err
	}
	defer f.Close()
	if info.Size > MaxBytes {
		return nil, confine.Info{}, tooLarge(at.path, info.Size)
	}
	b, err := readAll(f, info.Size)
	return b, info, err
}

func readAll(f *os.File, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(f, MaxBytes+1))
	if err == nil && n > MaxBytes {
		err = fault.New(fault.LimitReached, "the file grows while it is read", "Try again later")
	}
	return b.Bytes(), err
}

// original is the file that is to be replaced, open for writing though nothing is
// written: that it can be opened so is the proof that it may be changed. It is locked:
// of all processes of this program, only the one that has the lock of the file under
// the name may put another there. Without that, one could read what another has put
// there only to look, and take it for the truth.
type original struct {
	file     *os.File
	version  version
	mode     uint32
	uid, gid uint32
	links    uint64
}

// errStale says that the lock came when the file under the name was another already.
var errStale = errors.New("the file was replaced while its lock was waited for")

// mostStale is how many other changes one may have to wait for. Each was done by one
// that had the lock, so that waiting for them is not being outrun.
const mostStale = 1000

func (at *place) original(ctx context.Context) (*original, error) {
	for range mostStale {
		old, err := at.tryOriginal(ctx)
		if !errors.Is(err, errStale) {
			return old, err
		}
	}
	return nil, restless(at.path)
}

func (at *place) tryOriginal(ctx context.Context) (*original, error) {
	info, err := at.dir.Info(at.name)
	if err != nil {
		return nil, err
	}
	if info.Type != confine.File {
		return nil, at.wrongKind()
	}
	if info.Mode.Perm()&0o222 == 0 {
		return nil, readOnly(at.path) // also to root, whom the kernel would let
	}
	f, err := at.openOriginal(originalFlags)
	if err != nil {
		return nil, err
	}
	old, err := at.originalOf(ctx, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return old, nil
}

func (at *place) openOriginal(flags int) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(at.at, at.name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	switch err {
	case nil:
	case unix.ENOENT, unix.ELOOP, unix.EISDIR:
		return nil, errStale // it was a file a moment ago
	case unix.ETXTBSY:
		return nil, fault.New(fault.Unavailable, shown(at.path)+" is a program that is running (ETXTBSY)", "Try again when it has ended")
	default:
		return nil, err
	}
	return os.NewFile(uintptr(fd), "original"), nil
}

// originalOf locks f, and takes it if it is still the file under the name then.
func (at *place) originalOf(ctx context.Context, f *os.File) (*original, error) {
	if err := at.lock(ctx, int(f.Fd()), unix.LOCK_EX, shown(at.path)); err != nil {
		return nil, err
	}
	var st, there unix.Stat_t
	if err := fstat(int(f.Fd()), &st); err != nil {
		return nil, err
	}
	err := fstatat(at.at, at.name, &there)
	if err == unix.ENOENT || err == nil && !versionOf(&there).sameFile(versionOf(&st)) || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errStale
	}
	return &original{file: f, version: versionOf(&st), mode: uint32(st.Mode), uid: st.Uid, gid: st.Gid, links: uint64(st.Nlink)}, err
}

// is says whether this is the version that a stamp describes.
func (old *original) is(s confine.Stamp) bool {
	return old.version == version{dev: s.Dev, ino: s.Ino, size: s.Size, mtime: s.Modified, ctime: s.Changed}
}

// wrongKind is why what is there is not opened as a file.
func (at *place) wrongKind() error {
	f, _, err := at.dir.Open(at.name)
	if err != nil {
		return err
	}
	return errors.Join(errStale, f.Close())
}
