//go:build linux || darwin

package replace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// maxTries is how often a change is begun again because another program changed the
// file meanwhile. Then it is refused: a file that changes all the time is not ours.
const maxTries = 8

// maxStale is how many other changes one may have to wait for. Each was done by one
// that had the lock, so that waiting for them does not count as being outrun.
const maxStale = 1000

// Why a change is begun again. None of these reaches a caller.
var (
	errOutrun  = errors.New("another program was faster")
	errStale   = errors.New("the file was replaced while its lock was waited for")
	errChanged = errors.New("another program changed the directory")
)

// state is what a Writer has where files can be changed.
type state struct {
	order order
	lacks lacks
	moved func(step) // tests change the world here; nil in a program
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

// entry is one entry of a directory that is held open. Every system call of a change
// takes the descriptor and the name, never a path: whatever is swapped on the way to the
// directory, the change stays in it.
type entry struct {
	path  confine.Path // for messages
	real  confine.Path // for rules: where the entry is, links on the way followed
	dir   *confine.Dir
	fd    int // of dir, which stays open until close
	name  string
	mode  fs.FileMode // what the caller wants of a new file; 0 for no wish
	rules *Rules
	lacks lacks
	moved func(step)
	undo  []func() // what close does, last first
}

// open opens the directory of p. With follow, a link under the name is treated as in
// [confine.Path.Open], and the rules are asked at once. Without it the entry itself is
// meant, and the rules are asked when it is known what it is: see judge.
func (w *Writer) open(p confine.Path, follow bool, rules *Rules) (*entry, error) {
	openParent := p.OpenParentOfLink
	if follow {
		openParent = p.OpenParent
	}
	dir, name, err := openParent()
	if err != nil {
		return nil, err
	}
	e := &entry{path: p, dir: dir, name: name, rules: rules, lacks: w.lacks, moved: w.moved}
	e.undo = append(e.undo, func() { _ = dir.Close() }) // nothing was written through it
	if follow {
		e.real = dir.Path().Child(name)
		err = rules.entry(e.real)
	}
	if err == nil {
		var fd uintptr
		var giveBack func()
		if fd, giveBack, err = dir.LendDir(); err == nil {
			e.fd, e.undo = int(fd), append(e.undo, giveBack)
			return e, nil
		}
	}
	e.close()
	return nil, e.explained(err)
}

// openAlone is open for an entry that nobody else changes through w meanwhile.
func (w *Writer) openAlone(ctx context.Context, p confine.Path, follow bool) (*entry, error) {
	e, err := w.open(p, follow, &w.rules)
	if err != nil {
		return nil, err
	}
	if err := w.exclude(ctx, e); err != nil {
		e.close()
		return nil, e.explained(err)
	}
	return e, nil
}

// exclude keeps others from the entries until the first of them is closed: callers of w
// from the entries, and processes that sweep from their directories. Where directories
// have no locks, Sweep does nothing.
func (w *Writer) exclude(ctx context.Context, entries ...*entry) error {
	var keys []key
	for _, e := range entries {
		k, err := e.key()
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	// Turns first, locks second, always: who waits for a lock may hold a turn, but
	// nobody who waits for a turn holds a lock.
	leave, err := w.order.enter(ctx, keys...)
	if err != nil {
		return err
	}
	entries[0].undo = append(entries[0].undo, leave)
	for _, e := range entries {
		if err := e.lock(ctx, e.fd, true, "the directory of "+shown(e.path)); err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) close() {
	for _, undo := range slices.Backward(e.undo) {
		undo()
	}
}

func (e *entry) reached(s step) {
	if e.moved != nil {
		e.moved(s)
	}
}

// explained is err as a caller may see it.
func (e *entry) explained(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	if _, ok := f.Details["path"]; ok {
		return f
	}
	return f.With("path", e.path.String())
}

// lock waits for an advisory lock (flock(2)), which closing the descriptor ends. Ours
// last as long as a change takes; whoever holds one longer must not block the call for
// ever. A file system without locks has none to wait for.
func (e *entry) lock(ctx context.Context, fd int, shared bool, what string) error {
	const patience = 5 * time.Second
	// Any other error means that there are no locks here (NFS without lockd, some FUSE).
	// Then other processes are noticed by the looks before and after a swap only.
	locked, err := flock.Within(ctx, uintptr(fd), shared, patience)
	if ctx.Err() != nil && !locked {
		return ctx.Err()
	}
	if locked || err != nil {
		return nil
	}
	return fault.New(fault.Unavailable, "another program holds "+what+" locked", "Try again later")
}

// kind describes the entry, which must be a file or a directory.
func (e *entry) kind() (confine.Info, error) {
	info, err := e.dir.Info(e.name)
	switch {
	case err != nil:
		return info, err
	case info.Type == confine.Symlink:
		return info, fault.New(fault.Forbidden, shown(e.path)+" is a symbolic link, which is neither moved nor removed",
			"Leave it as it is, or name what it leads to").With("path", e.path.String()).With("link", e.path.String())
	case info.Type == confine.Other:
		return info, isSpecial(e.path)
	}
	return info, nil
}

// judge asks the rules about the entry, as what it is or is to be.
func (e *entry) judge(kind confine.Type) (err error) {
	if e.real, err = e.dir.Path().ChildAs(e.name, kind); err != nil {
		return err
	}
	return e.rules.entry(e.real)
}

func (r *Rules) entry(real confine.Path) error {
	if r.Entry == nil {
		return nil
	}
	return r.Entry(real)
}

func (r *Rules) content(real confine.Path, content []byte, mode uint32) error {
	if r.Content == nil {
		return nil
	}
	return r.Content(real, content, fs.FileMode(mode&0o777))
}

// sync puts the directory on the disk after a change that worked. If that fails, the
// file is changed all the same, and may be the old one again after a power cut.
func (e *entry) sync() error {
	err := again(func() error { return syncDirectory(e.fd) })
	if err == nil || unoffered(err) {
		return nil
	}
	return e.changedAnyway(err)
}

// changedAnyway is an error after which the new content is in place all the same.
func (e *entry) changedAnyway(err error) error {
	return fault.From(err).With("path", e.path.String()).With("changed", true)
}

// key is an entry of a directory, whatever path led there.
type key struct {
	dev, ino uint64 // of the directory
	name     string // in lower case, for file systems that ignore case
}

func (e *entry) key() (key, error) {
	var st unix.Stat_t
	if err := fstat(e.fd, &st); err != nil {
		return key{}, err
	}
	return key{dev: uint64(st.Dev), ino: st.Ino, name: strings.ToLower(e.name)}, nil
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.dev, other.dev), cmp.Compare(k.ino, other.ino), strings.Compare(k.name, other.name))
}

// order lets changes of one entry happen one after the other. It holds only keys
// that are in use.
type order struct {
	mu    sync.Mutex
	turns map[key]*turn
}

type turn struct {
	busy chan struct{} // has one element while somebody is inside
	want int           // callers inside or waiting; guarded by order.mu
}

// enter waits for all of keys to be free, or for ctx to end. Locks of files alone would
// not do: they are of a file, and the file under the name changes with every write. Everybody takes them in the
// same order, so that two callers never wait for each other. leave must be called once.
func (o *order) enter(ctx context.Context, keys ...key) (leave func(), err error) {
	slices.SortFunc(keys, key.compare)
	var undo []func()
	leave = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	for _, k := range slices.Compact(keys) {
		t := o.turn(k)
		select {
		case t.busy <- struct{}{}:
			undo = append(undo, func() {
				<-t.busy
				o.drop(k, t)
			})
		case <-ctx.Done():
			o.drop(k, t)
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

func (o *order) turn(k key) *turn {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns == nil {
		o.turns = map[key]*turn{}
	}
	t := o.turns[k]
	if t == nil {
		t = &turn{busy: make(chan struct{}, 1)}
		o.turns[k] = t
	}
	t.want++
	return t
}

func (o *order) drop(k key, t *turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.want--; t.want == 0 {
		delete(o.turns, k)
	}
}

// version is which file an entry was, and in what state. ctime is of no use once
// the file has been renamed.
type version struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64
}

func versionOf(st *unix.Stat_t) version {
	return version{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano()}
}

func versionOfFile(f *os.File) (version, error) {
	var st unix.Stat_t
	err := fstat(int(f.Fd()), &st)
	return versionOf(&st), err
}

// version is that of an entry of the directory.
func (e *entry) version(name string) (version, error) {
	var st unix.Stat_t
	err := fstatat(e.fd, name, &st)
	return versionOf(&st), err
}

func (v version) sameFile(w version) bool { return v.dev == w.dev && v.ino == w.ino }

// sameState is equality for a file that has been renamed.
func (v version) sameState(w version) bool {
	return v.sameFile(w) && v.size == w.size && v.mtime == w.mtime
}

// original is the file that is to be replaced, open for writing though nothing is
// written: that it can be opened so is the proof that it may be changed. It is locked:
// of all processes of this program, only the one that has the lock of the file under
// the name may put another there. Without that, one could read what another has put
// there only to look, and take it for the truth.
type original struct {
	entry    *entry
	file     *os.File
	version  version
	mode     uint32
	uid, gid uint32
	links    uint64
	content  []byte // where the change was made from it
}

// original is what is under the name, locked.
func (e *entry) original(ctx context.Context) (*original, error) {
	for range maxStale {
		old, err := e.tryOriginal(ctx)
		if !errors.Is(err, errStale) {
			return old, err
		}
	}
	return nil, restless(e.path)
}

func (e *entry) tryOriginal(ctx context.Context) (*original, error) {
	info, err := e.dir.Info(e.name)
	switch {
	case err != nil:
		return nil, err
	case info.Type != confine.File:
		f, _, err := e.dir.Open(e.name) // says what it is instead
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(errStale, f.Close())
	case info.Mode.Perm()&0o222 == 0:
		return nil, readOnly(e.path) // also to root, whom the kernel would let
	}
	old, err := e.openOriginal(originalFlags)
	if err != nil {
		return nil, err
	}
	if err := old.lock(ctx); err != nil {
		return nil, errors.Join(err, old.file.Close())
	}
	return old, nil
}

func (e *entry) openOriginal(flags int) (*original, error) {
	fd, err := openat(e.fd, e.name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	switch err {
	case nil:
		return &original{entry: e, file: os.NewFile(uintptr(fd), "original")}, nil
	case unix.ENOENT, unix.ELOOP, unix.EISDIR:
		return nil, errStale // it was a file a moment ago
	case unix.ETXTBSY:
		return nil, fault.New(fault.Unavailable, shown(e.path)+" is a program that is running (ETXTBSY)", "Try again when it has ended")
	}
	return nil, err
}

// lock locks the file, which must still be under the name then.
func (old *original) lock(ctx context.Context) error {
	e, fd := old.entry, int(old.file.Fd())
	if err := e.lock(ctx, fd, false, shown(e.path)); err != nil {
		return err
	}
	// The lock may have come after another change: then the file that was locked is not
	// the one under the name any more, and is tried again.
	var st, there unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		return err
	}
	old.version, old.mode, old.uid, old.gid, old.links = versionOf(&st), uint32(st.Mode), st.Uid, st.Gid, uint64(st.Nlink)
	err := fstatat(e.fd, e.name, &there)
	if err == unix.ENOENT || err == nil && !versionOf(&there).sameFile(old.version) || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errStale
	}
	return err
}

// is says whether this is the version that a stamp describes.
func (old *original) is(s confine.Stamp) bool {
	return old.version == version{dev: s.Dev, ino: s.Ino, size: s.Size, mtime: s.Modified, ctime: s.Changed}
}

// namesOf lists an open directory from its start, in order, and at most limit names;
// 0 is no limit. It sees what rules leave out of listings.
func namesOf(dir, limit int) ([]string, error) {
	fd, err := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "directory")
	names, err := f.Readdirnames(limit)
	if err == io.EOF {
		err = nil // it is empty
	}
	slices.Sort(names)
	return names, errors.Join(err, f.Close())
}

// unoffered says that the kernel or the file system does not know a function.
func unoffered(err error) bool {
	return err == unix.ENOSYS || err == unix.EINVAL || err == unix.EOPNOTSUPP || err == unix.ENOTSUP
}

// again repeats a system call that a signal interrupted, as some of FUSE and NFS can be.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func openat(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

func fstat(fd int, st *unix.Stat_t) error { return again(func() error { return unix.Fstat(fd, st) }) }

func fstatat(dir int, name string, st *unix.Stat_t) error {
	return again(func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

func fchmod(fd int, mode uint32) error { return again(func() error { return unix.Fchmod(fd, mode) }) }

func unlinkat(dir int, name string, flags int) error {
	return again(func() error { return unix.Unlinkat(dir, name, flags) })
}

// shown is a path as messages carry it: quoted, so that it cannot forge a line.
func shown(p confine.Path) string { return strconv.Quote(p.String()) }

func taken(p confine.Path, cause error) error {
	return fault.New(fault.Exists, "there is already something under "+shown(p), "Choose another name, or ask to overwrite").
		With("path", p.String()).Because(cause)
}

func readOnly(p confine.Path) error {
	return fault.New(fault.PermissionDenied, shown(p)+" is read-only",
		"Leave it as it is, or ask the person it belongs to to make it writable").
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

// restless refuses a file that was another at every try.
func restless(p confine.Path) error {
	return fault.New(fault.Unavailable, shown(p)+" is being changed by another program all the time",
		"Try again later").With("path", p.String())
}

func tooLarge(p confine.Path, size int64) error {
	if size <= MaxBytes {
		return nil
	}
	return fault.New(fault.LimitReached,
		fmt.Sprintf("the content of %s has %d bytes, more than the %d that are changed at once", shown(p), size, MaxBytes),
		"Split it into several files").With("path", p.String()).With("limit_bytes", MaxBytes)
}

func isSpecial(p confine.Path) error {
	return fault.New(fault.ParamInvalid, shown(p)+" is neither a file nor a directory nor a link",
		"Leave it and what it is in as they are").
		With("path", p.String()).With("type", confine.Other.String())
}

func isMount(p confine.Path) error {
	return fault.New(fault.Forbidden, shown(p)+" is on another file system than the directory it is in",
		"Leave it and what it is in where they are").
		With("path", p.String())
}
