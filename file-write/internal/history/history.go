// Package history keeps what was in a file before a change, so that it can be put
// back. A store is a directory of its own, which several processes may share:
//
//	index.jsonl       one line per change, or per change that is gone; oldest first
//	objects/ab/cdef…  contents under their SHA-256, each once
//	drafts/           contents on their way in
//	lock              locked while any of it is looked at or changed
//
// It refuses to open what a client names: Path is a text to it, and every file it
// touches is opened through the store's directory by a name made of a hash or of
// random letters. It also refuses to put anything back; who does must take care that
// a content was verified to its end before it is used.
//
// Crashes: a content is durable before the line that tells of it is written, and the
// line that lets a change go is durable before its content is removed. So whatever is
// listed can be read, at whatever moment a process is killed or the power goes; what a
// crash leaves besides is removed by the next Open. What the file system must be told
// for that, beyond the index itself, is told only once: a content that a line tells of
// is durable already, and so is the directory of one.
package history

import (
	"context"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

const (
	defaultBytes = 1 << 30
	defaultAge   = 30 * 24 * time.Hour
	mostChanges  = 1 << 16 // bounds the index, and the memory of each process
	fewDead      = 1 << 10 // lines without use that an index may have in any case
)

// Limits say when changes go, the oldest first. A field that is zero has its default.
type Limits struct {
	Bytes int64         // of contents, each counted once; default 1 GiB
	Age   time.Duration // default 30 days
}

// Change is one change and what was there before it.
type Change struct {
	ID        string      // 26 letters of base32, chosen by Keep
	Time      time.Time   // UTC, set by Keep
	Path      string      // as the caller told it; never opened here
	To        string      // of a move: where it went; a text like Path
	Op        string      // overwrite, edit, append, move, delete or restore
	Tool      string      // the tool that was called
	RequestID string      // of the call, as in the audit log
	SHA256    string      // of the content before, lower-case hex, set by Keep; "" where nothing was
	Bytes     int64       // of the content before, set by Keep
	Mode      fs.FileMode // of the file before
	Existed   bool        // was there a file? If not there is no content, and putting back means removing
	Tree      bool        // it was a directory, and the content is an archive of it
}

// holds says whether c has a content. A move has none, since it takes nothing away.
func (c Change) holds() bool { return c.Existed && c.To == "" }

// Store is an open store; its methods may be called from several goroutines.
type Store struct {
	root   *os.Root
	lock   *os.File
	limits Limits
	clock  func() time.Time
	most   int // changes
	slack  int // dead lines

	mu     sync.Mutex
	index  index           // as it was at the last look; guarded by mu
	placed map[string]bool // directories of contents that are known to be durable; guarded by mu
}

// Open opens the store in dir, which is created, and its parents too, for this user
// alone (0700). Changes over the limits go, and leftovers of crashes are removed.
// Limits below zero are fault.Misconfigured. Where a platform has no file locks the
// answer is fault.Unavailable.
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
	s := &Store{limits: l, clock: clock, most: mostChanges, slack: fewDead, placed: map[string]bool{}}
	if err := s.open(dir); err != nil {
		return nil, failed("opened", err)
	}
	if err := s.locked(context.Background(), s.tidy); err != nil {
		s.Close()
		return nil, failed("opened", err)
	}
	return s, nil
}

func (s *Store) open(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	if s.lock, err = prepare(root); err != nil {
		root.Close()
		return err
	}
	s.root = root
	return nil
}

// prepare makes what a store consists of and opens its lock.
func prepare(root *os.Root) (*os.File, error) {
	if err := private(root); err != nil {
		return nil, err
	}
	for _, name := range []string{objects, drafts} {
		if _, err := mkdir(root, name); err != nil {
			return nil, err
		}
	}
	if err := syncDir(root, "."); err != nil {
		return nil, err
	}
	return root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
}

// private takes the store's directory from everybody else, if somebody made it wider.
func private(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return root.Chmod(".", 0o700)
}

// Close gives the store's files back. A content that is still open stays readable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.lock.Close()
	if e := s.root.Close(); err == nil {
		err = e
	}
	return err
}

// locked runs work while no other process and no other call touches the store, with
// the index as it is now.
func (s *Store) locked(ctx context.Context, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := flock.Wait(ctx, s.lock, "the history of changes"); err != nil {
		return err
	}
	defer flock.Unlock(s.lock)
	if err := s.look(); err != nil {
		return err
	}
	return work()
}
