// Package store keeps memories in one SQLite database, which several processes may
// share, and finds them by the tokens of package words.
//
// It is the only room that knows SQL, and what it is given is a value of a statement,
// never a part of one. It refuses to call kept what is not on the disk, to wait without
// an end, to let another user of the machine read it, and to touch a file that is no
// database of memories, or a damaged one.
package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Bounds of a memory and of an answer.
const (
	MaxContent  = 16 << 10 // bytes
	MaxCategory = 64       // characters
	MaxTag      = 64       // characters
	MaxTags     = 32
	MaxQuery    = 1000     // characters
	MaxAnswer   = 64 << 10 // bytes of contents; one memory is answered in any case
)

// Note is what is to be remembered.
type Note struct {
	Content  string
	Category string
	Tags     []string
}

// Memory is what was.
type Memory struct {
	ID int64 // never given again, not even when the memory is forgotten
	Note
	Created, Updated time.Time // UTC
}

// Limits are what its operator allows a store. The zero value allows nothing.
type Limits struct {
	Memories int
	Clock    func() time.Time
}

// Store is an open database.
type Store struct {
	file   string
	opened fs.FileInfo // of the file as it was opened
	limits Limits
	write  *sql.DB // one connection: SQLite has one writer at a time
	read   *sql.DB
}

// readers are the recalls that run at the same time.
const readers = 4

// Open opens the database in file, or makes it, with the directories above it.
func Open(ctx context.Context, file string, limits Limits) (*Store, error) {
	if err := prepare(file); err != nil {
		return nil, unopened(file, err)
	}
	s := &Store{file: file, limits: limits}
	err := s.connect(ctx)
	if err == nil {
		s.opened, err = os.Lstat(file)
	}
	if err != nil {
		return nil, errors.Join(unopened(file, err), s.Close())
	}
	return s, nil
}

func (s *Store) connect(ctx context.Context) error {
	var err error
	if s.write, err = connectTo(s.file, 1); err != nil {
		return err
	}
	if err = s.settle(ctx); err != nil {
		return err
	}
	if s.read, err = connectTo(s.file, readers); err != nil {
		return err
	}
	return private(s.file)
}

// Close gives the database back.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// prepare makes the file where it is missing, readable by its owner only, and takes the
// rights of others where it is not.
func prepare(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(file)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fault.New(fault.Forbidden, "the database of memories is no regular file", "Name a file with --database, not a link to one")
	case !plausible(file, info.Size()):
		return damaged(nil)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(file, 0o600)
	}
	return nil
}

// plausible is false for what SQLite would take for whole and is not: an empty file,
// whose log it would throw away, and one that ends within a page, which it would fill up.
func plausible(file string, size int64) bool {
	const page = 4096 // of SQLite, and of every database that this package made
	log, err := os.Stat(file + "-wal")
	logged := err == nil && log.Size() > 0
	return size > 0 && (logged || size%page == 0) || size == 0 && !logged
}

func create(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(filepath.Dir(file)))
}

// private takes from others the rights to the files that SQLite makes beside its own.
func private(file string) error {
	for _, name := range []string{file + "-wal", file + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// present says that the database is still the file of its name: what is written to one
// that was removed is lost, and what was in it is not to be recalled.
func (s *Store) present() error {
	info, err := os.Lstat(s.file)
	if err == nil && os.SameFile(info, s.opened) {
		return nil
	}
	return fault.New(fault.Unavailable, "the file with the memories was removed or replaced", "Ask the person who runs this server to start it again").Because(err)
}
