// Package history keeps what was in a file or directory before a change, so that it can be
// restored. A store is a directory of its own, which several processes may share:
//
//	index.jsonl       one line per change, or per change that is gone; oldest first
//	objects/ab/cdef…  contents under their SHA-256, each once
//	drafts/           contents on their way in
//	lock              locked while any of it is read or changed
//
// The store never opens what a client names: Path is a text to it, and every file of its
// own is opened through the store's directory by a name made of a hash or of random
// letters. Whoever restores a content must read it to its end first: only then is it
// verified. A directory is one content, an archive ([Pack], [Unpack]).
//
// Crashes: a content is durable before its line in the index is written, and the line
// that lets a change go is durable before its content is removed. So whatever is listed
// can be read, whenever a process is killed or the power goes. The next Open removes what
// else a crash leaves. A content that a line names is durable already, and so is its
// directory: neither is synced twice.
package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

const (
	defaultBytes = 1 << 30
	defaultAge   = 30 * 24 * time.Hour
	maxChanges   = 1 << 16 // bounds the index, and the memory of each process
	maxDead      = 1 << 10 // unused lines that an index may have in any case
)

// Limits say when changes go, the oldest first. A field that is zero has its default.
type Limits struct {
	Bytes int64         // of contents, each counted once; default 1 GiB
	Age   time.Duration // default 30 days
}

// Change is one change and what was there before it. The index stores it as JSON.
type Change struct {
	ID        string      `json:"id"`             // 26 letters of base32, chosen by Keep
	Time      time.Time   `json:"time"`           // UTC, set by Keep
	Path      string      `json:"path"`           // as the caller gave it; never opened here
	To        string      `json:"to,omitempty"`   // of a move: its destination; a text like Path
	Op        string      `json:"op"`             // overwrite, edit, append, move, delete or restore
	Tool      string      `json:"tool"`           // the tool that was called
	RequestID string      `json:"request_id"`     // of the call, as in the audit log
	SHA256    string      `json:"sha256"`         // of the content before, lower-case hex, set by Keep; "" where nothing was
	Bytes     int64       `json:"bytes"`          // of the content before, set by Keep
	Mode      fs.FileMode `json:"mode"`           // of the file before
	Existed   bool        `json:"existed"`        // false: there was no file, and restoring means removing
	Tree      bool        `json:"tree,omitempty"` // it was a directory, and the content is an archive of it
}

// holds reports whether c has a content. A move has none, since it takes nothing away.
func (c Change) holds() bool { return c.Existed && c.To == "" }

// Store is an open store; its methods may be called from several goroutines.
type Store struct {
	root       *os.Root
	lock       *os.File
	limits     Limits
	clock      func() time.Time
	maxChanges int
	maxDead    int

	mu     sync.Mutex
	index  index           // as it was when last read; guarded by mu
	placed map[string]bool // directories of contents that are known to be durable; guarded by mu
}

// What a store consists of.
const (
	indexName = "index.jsonl"
	lockName  = "lock"
	objects   = "objects"
	drafts    = "drafts"
)

// objectDir and objectName want the hex of a SHA-256; index lines with anything else
// are damaged ones.
func objectDir(sum string) string  { return path.Join(objects, sum[:2]) }
func objectName(sum string) string { return path.Join(objectDir(sum), sum[2:]) }

// Open opens the store in dir, which is created, and its parents too, for this user
// alone (0700). Changes over the limits go, and leftovers of crashes are removed.
// Limits below zero are fault.Misconfigured. Where a platform has no file locks the
// error is fault.Unavailable.
func Open(dir string, l Limits, clock func() time.Time) (*Store, error) {
	if l.Bytes < 0 || l.Age < 0 {
		return nil, fault.New(fault.Misconfigured, "the limits of the history are below zero", "Give a size and an age of zero or more")
	}
	if l.Bytes == 0 {
		l.Bytes = defaultBytes
	}
	if l.Age == 0 {
		l.Age = defaultAge
	}
	s := &Store{limits: l, clock: clock, maxChanges: maxChanges, maxDead: maxDead, placed: map[string]bool{}}
	err := s.open(dir)
	if err == nil {
		err = s.locked(context.Background(), s.tidy)
	}
	if err != nil {
		s.Close()
		return nil, failed("opened", err)
	}
	return s, nil
}

// open makes what a store consists of and opens its lock.
func (s *Store) open(dir string) (err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if s.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	info, err := s.root.Stat(".")
	if err == nil && info.Mode().Perm()&0o077 != 0 { // somebody let others in
		err = s.root.Chmod(".", 0o700)
	}
	for _, name := range []string{objects, drafts} {
		if err == nil {
			_, err = mkdir(s.root, name)
		}
	}
	if err == nil {
		err = syncDir(s.root, ".")
	}
	if err == nil {
		s.lock, err = s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	}
	return err
}

// Close closes the store's files. A content that is still open stays readable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.lock != nil {
		err = s.lock.Close()
	}
	if s.root != nil {
		err = errors.Join(err, s.root.Close())
	}
	return err
}

// locked runs work while no other process and no other call uses the store, with the
// index as it is now.
func (s *Store) locked(ctx context.Context, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := flock.Wait(ctx, s.lock, "the history of changes"); err != nil {
		return err
	}
	defer flock.Unlock(s.lock)
	if err := s.refresh(); err != nil {
		s.index = index{} // after an error nothing is known
		return err
	}
	return work()
}

// tidy lets go what is over the limits and removes what crashes left. The lock is held.
func (s *Store) tidy() error {
	now := s.clock()
	if err := s.commit(nil, nil, now); err != nil {
		return err
	}

	// Whoever let a change go may have died before that was durable, and its content must
	// not be removed before.
	f, err := s.root.OpenFile(indexName, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = syncData(f)
	f.Close()
	if err != nil {
		return err
	}

	// A draft that no living process has locked is a leftover. Its owner may be discarding
	// it at the same time, which needs no lock.
	all, err := fs.ReadDir(s.root.FS(), drafts)
	if err != nil {
		return err
	}
	for _, e := range all {
		if !validID(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		name, dead := path.Join(drafts, e.Name()), false
		f, err := s.root.OpenFile(name, os.O_RDWR, 0)
		if err == nil {
			dead, err = flock.Try(f, false)
			f.Close()
		}
		if dead {
			err = s.root.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.sweepObjects(now)
}

// sweepObjects removes the contents that no change has. What does not look like one of
// ours stays.
func (s *Store) sweepObjects(now time.Time) error {
	dirs, err := fs.ReadDir(s.root.FS(), objects)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if !d.IsDir() || len(d.Name()) != 2 {
			continue
		}
		files, err := fs.ReadDir(s.root.FS(), path.Join(objects, d.Name()))
		for _, f := range files {
			if err == nil {
				err = s.sweepObject(d.Name()+f.Name(), f, now)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepObject removes a content without a change. While a line of the index is damaged, it
// may have been that line's, and a person may want it: it stays for Limits.Age.
func (s *Store) sweepObject(sum string, f fs.DirEntry, now time.Time) error {
	if !validSum(sum) || s.index.refs[sum] > 0 {
		return nil
	}
	info, err := f.Info()
	if err != nil || len(s.index.damaged) > 0 && now.Sub(info.ModTime()) <= s.limits.Age {
		return err
	}
	return s.root.Remove(objectName(sum))
}

// Filter selects changes; the zero Filter selects all.
type Filter struct {
	Path    string    // exactly this one, as Keep was given it
	Beneath []string  // one of these directories, absolute and clean, or in one; nil is anywhere, and none of them nowhere
	Since   time.Time // this moment or later, by the clock as it was then
	Limit   int       // at most so many; 0 is no limit

	Only func(Change) bool // nil selects all. It must not use the Store
}

func (f Filter) selects(c Change) bool {
	const separator = string(filepath.Separator)
	in := func(dir string) bool { // by whole components: /w-evil is not in /w
		return c.Path == dir || strings.HasPrefix(c.Path, strings.TrimSuffix(dir, separator)+separator)
	}
	return (f.Path == "" || f.Path == c.Path) && (f.Since.IsZero() || !c.Time.Before(f.Since)) &&
		(f.Beneath == nil || slices.ContainsFunc(f.Beneath, in)) && (f.Only == nil || f.Only(c))
}

// List returns the changes that f selects, the one that was kept last first, whatever the
// clock was. A change whose content somebody removed is not listed.
func (s *Store) List(f Filter) ([]Change, error) {
	if f.Limit < 0 {
		return nil, fault.New(fault.ParamInvalid, "the limit is below zero", "Use 0 for no limit")
	}
	for _, dir := range f.Beneath {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			return nil, fault.New(fault.ParamInvalid, "a directory to look in is not absolute and clean", "Name it in full").With("path", dir)
		}
	}
	var found []Change
	err := s.locked(context.Background(), func() error {
		for _, c := range slices.Backward(s.index.kept) {
			if f.selects(c) && s.present(c) {
				found = append(found, c)
			}
			if f.Limit > 0 && len(found) == f.Limit {
				break
			}
		}
		return nil
	})
	return found, failed("read", err)
}

// Get returns the change with this id. An id that no change has is fault.NotFound, one that
// none could have fault.ParamMalformed.
func (s *Store) Get(id string) (c Change, err error) {
	err = s.locked(context.Background(), func() (err error) {
		c, err = s.index.get(id)
		return err
	})
	return c, failed("read", err)
}

// Content opens what was there before the change with this id; it is empty where no file
// existed. The content is verified while it is read: where it is damaged the last Read
// fails with fault.Unavailable in place of io.EOF, so nothing that was read may be used
// before io.EOF. Ids are as in Get; that of a move, which has no content, is
// fault.ParamInvalid.
func (s *Store) Content(id string) (content io.ReadCloser, c Change, err error) {
	err = s.locked(context.Background(), func() error {
		if c, err = s.index.get(id); err != nil {
			return err
		}
		if c.To != "" {
			return fault.New(fault.ParamInvalid, "a move has no content: nothing was lost by it", "It is undone by moving back").
				With("id", c.ID).With("path", c.Path).With("to", c.To)
		}
		if !c.holds() {
			content = io.NopCloser(strings.NewReader(""))
			return nil
		}
		f, err := s.root.Open(objectName(c.SHA256))
		if errors.Is(err, fs.ErrNotExist) {
			return damaged(c, "it was removed")
		}
		content = &verified{file: f, change: c, hash: sha256.New()}
		return err
	})
	if err != nil {
		return nil, Change{}, failed("read", err)
	}
	return content, c, nil
}

// verified reads an object and reaches io.EOF only if it is what was kept.
type verified struct {
	file   *os.File
	change Change
	hash   hash.Hash
	read   int64
}

func (v *verified) Read(b []byte) (int, error) {
	n, err := v.file.Read(b)
	v.hash.Write(b[:n])
	v.read += int64(n)
	switch {
	case v.read > v.change.Bytes:
		return 0, damaged(v.change, "it is longer than it was")
	case err == io.EOF && v.read < v.change.Bytes:
		return n, damaged(v.change, "it is shorter than it was")
	case err == io.EOF && hex.EncodeToString(v.hash.Sum(nil)) != v.change.SHA256:
		return n, damaged(v.change, "it is not what was kept")
	case err != nil && err != io.EOF:
		return n, failed("read", err)
	}
	return n, err
}

func (v *verified) Close() error { return failed("read", v.file.Close()) }

// present reports whether there is a file with the content of c, if it has one.
func (s *Store) present(c Change) bool {
	if !c.holds() {
		return true
	}
	info, err := s.root.Lstat(objectName(c.SHA256))
	return err == nil && info.Mode().IsRegular()
}

func mkdir(root *os.Root, name string) (made bool, err error) {
	err = root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// syncDir makes the names in a directory durable. Windows cannot flush a directory, and
// NTFS journals its names.
func syncDir(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// patient reads until ctx ends. Its errors have a code: they are those of a client's
// file, not of the store's.
func patient(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(b []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, fault.From(err)
		}
		n, err := r.Read(b)
		if err != nil && err != io.EOF {
			err = fault.From(err)
		}
		return n, err
	})
}

// failed explains an error of the operating system about the store's own files. An error
// that has its code already stays as it is.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if coded, ok := errors.AsType[*fault.Error](err); ok {
		return coded
	}
	f := fault.FromOwn(err, "a file of it is missing or of the wrong kind")
	return fault.New(f.Code, "the history of changes cannot be "+what+", since "+f.Msg,
		"Ask the person who runs this server to look at its state directory").Because(err)
}

func damaged(c Change, how string) error {
	return fault.New(fault.Unavailable, "the content that was kept for this change is damaged: "+how,
		"Do not use what was read of it; an older or newer change of the same path may help").
		With("id", c.ID).With("path", c.Path)
}
