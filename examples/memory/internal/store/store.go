// Package store keeps memories in one SQLite database, which several processes may
// share, and finds them by the tokens of package words.
//
// It is the only package that contains SQL, and what it is given is a value of a
// statement, never a part of one. It reports only what is on the disk as kept. A wait is
// bounded, no other user of the machine can read the file, and a file that is no database
// of memories, or a damaged one, is left as it is.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Note is what is to be remembered.
type Note struct {
	Content  string
	Category string
	Tags     []string
}

// Memory is what was.
type Memory struct {
	ID int64 // never used again, not even when the memory is forgotten
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

const (
	readers     = 4          // recalls that run at the same time
	page        = 4096       // bytes of one of SQLite, in every database that this package made
	application = 0x4D454D4F // "MEMO", by which a database of memories is recognized
	layout      = 1          // of the tables
	current     = layout<<16 | words.Version
)

// tables: the text of a memory once, and beside it only the list of its tokens, from
// which FTS5 removes what is forgotten (secure-delete) instead of marking it.
const tables = `
CREATE TABLE memories (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	digest   BLOB NOT NULL UNIQUE,
	content  TEXT NOT NULL,
	category TEXT NOT NULL,
	tags     TEXT NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5(tokens, content='', tokenize='ascii', detail='full');
INSERT INTO words(words, rank) VALUES ('secure-delete', 1);
`

// settings of every connection. A commit is on the disk before it is reported
// (synchronous=FULL); a wait for another process ends after five seconds; what is
// removed is overwritten; nothing in the file is trusted to be more than data.
var settings = []string{
	"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "secure_delete(on)",
	"temp_store(memory)", "trusted_schema(off)", "cell_size_check(on)",
}

// Open opens the database in file, or makes it, with the directories above it.
func Open(ctx context.Context, file string, limits Limits) (*Store, error) {
	s := &Store{file: file, limits: limits}
	err := prepare(file)
	if err == nil {
		s.write, err = connect(file, 1)
	}
	if err == nil {
		err = s.settle(ctx)
	}
	if err == nil {
		s.read, err = connect(file, readers)
	}
	for _, name := range []string{file + "-wal", file + "-shm"} { // which SQLite makes
		if err == nil {
			if err = os.Chmod(name, 0o600); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
	}
	if err == nil {
		s.opened, err = os.Lstat(file)
	}
	if err != nil {
		return nil, errors.Join(fault.From(coded(err)).With("file", file), s.Close())
	}
	return s, nil
}

// prepare makes the file where it is missing, readable by its owner only, and takes the
// rights of others where it is not.
func prepare(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil || runtime.GOOS == "windows" { // where a directory cannot be synced
			return err
		}
		dir, err := os.Open(filepath.Dir(file))
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.Forbidden, "the database of memories is no regular file", "Name a file with --database, not a link to one")
	}

	// SQLite would take two things for intact that are not: an empty file, whose log it would
	// throw away, and one that ends within a page, which it would fill up.
	log, err := os.Stat(file + "-wal")
	logged := err == nil && log.Size() > 0
	if size := info.Size(); size == 0 && logged || size%page != 0 && !logged {
		return damaged(nil)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(file, 0o600)
	}
	return nil
}

// connect makes a pool of so many connections to file.
func connect(file string, connections int) (*sql.DB, error) {
	query := url.Values{"_pragma": settings, "_txlock": {"immediate"}}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: query.Encode()}
	if runtime.GOOS == "windows" {
		u.Path = "/" + u.Path
	}
	db, err := driver.Open(u.String(), fts5.Register)
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

// settle makes the tables where there are none, and the index again where it was made by
// other rules. Many processes may be at it; one of them does it.
func (s *Store) settle(ctx context.Context) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		var id, version, objects int
		err := tx.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
			FROM pragma_application_id a, pragma_user_version v`).Scan(&id, &version, &objects)
		switch {
		case err != nil:
			return err
		case objects > 0 && id != application:
			return fault.New(fault.Misconfigured, "the file is a database, but not one of memories", "Name another file with --database")
		case version == current:
			return nil
		case version == 0:
			_, err = tx.ExecContext(ctx, tables)
		case version>>16 == layout && version < current:
			if _, err = tx.ExecContext(ctx, `INSERT INTO words(words) VALUES ('delete-all')`); err == nil {
				rows, failed := tx.QueryContext(ctx, `SELECT `+columns+` FROM memories`)
				err = each(rows, failed, func(m Memory) error { return index(ctx, tx, m) })
			}
		default:
			return fault.New(fault.Misconfigured, "the database of memories was made by a newer version of this program", "Use that version")
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, current))
		return err
	})
}

// Close closes the database.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Check reads the database in file from end to end and returns how many memories are in
// it: none where there is no file yet, which it does not make.
func Check(ctx context.Context, file string) (memories int, err error) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	s, err := Open(ctx, file, Limits{})
	if err != nil {
		return 0, err
	}
	var found string
	err = s.read.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&found)
	if err == nil && found != "ok" {
		err = damaged(errors.New(found))
	}
	if err == nil {
		err = s.change(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO words(words) VALUES ('integrity-check')`)
			return err
		})
	}
	if err == nil {
		err = s.read.QueryRowContext(ctx, `SELECT count(*) FROM memories`).Scan(&memories)
	}
	return memories, errors.Join(coded(err), s.Close())
}

// present checks that the database is still the file of its name: what is written to one
// that was removed is lost, and what was in it is not to be recalled.
func (s *Store) present() error {
	info, err := os.Lstat(s.file)
	if err == nil && os.SameFile(info, s.opened) {
		return nil
	}
	return fault.New(fault.Unavailable, "the file with the memories was removed or replaced",
		"Ask the person who runs this server to start it again").Because(err)
}

// change runs do in a transaction, which is on the disk when change returns no error.
func (s *Store) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err == nil {
		if err = do(tx); err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback() // the error that counts is the other
		}
	}
	if err != nil && ctx.Err() != nil {
		return fault.From(ctx.Err()).Because(err) // SQLite calls it a lock that it waited for
	}
	if errors.Is(err, sqlite3.IOERR) {
		// SQLite does not report why a write failed (go-sqlite3 0.37): one of our own does.
		f, failed := os.CreateTemp(filepath.Dir(s.file), ".probe-")
		if failed == nil {
			_, failed = f.Write(make([]byte, 256<<10))
			failed = errors.Join(failed, f.Close(), os.Remove(f.Name()))
		}
		err = errors.Join(failed, err)
	}
	return coded(err)
}

// errDamaged is for what SQLite takes for intact and cannot be.
var errDamaged = errors.New("a memory in the database makes no sense")

// coded gives an error of SQLite its code, unless the error of the system that is in it
// explains more.
func coded(err error) error {
	is := func(codes ...sqlite3.ErrorCode) bool {
		for _, code := range codes {
			if errors.Is(err, code) {
				return true
			}
		}
		return false
	}
	var e *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDamaged), is(sqlite3.CORRUPT, sqlite3.NOTADB):
		return damaged(err)
	case is(sqlite3.FULL):
		e = fault.New(fault.DiskFull, "there is no space left for the memories; nothing was changed", "Free some space, then try again")
	case is(sqlite3.BUSY, sqlite3.LOCKED, sqlite3.PROTOCOL):
		e = fault.New(fault.Unavailable, "another process has kept the memories locked for too long", "Try again")
	case is(sqlite3.INTERRUPT):
		e = fault.New(fault.TimedOut, "the call was cancelled", "")
	case is(sqlite3.NOMEM):
		e = fault.New(fault.OutOfMemory, "there is no memory left for this", "Try again later")
	case fault.From(err).Code != fault.Internal:
		return fault.From(err)
	case is(sqlite3.READONLY, sqlite3.PERM, sqlite3.CANTOPEN, sqlite3.AUTH):
		e = fault.New(fault.PermissionDenied, "the memories may not be written", "Ask the person who runs this server")
	case is(sqlite3.IOERR):
		e = fault.New(fault.Unavailable, "the memories cannot be read or written now",
			"Try again, or ask the person who runs this server to check the disk")
	default:
		return fault.From(err)
	}
	return e.Because(err)
}

func damaged(cause error) error {
	return fault.New(fault.Unavailable, "the database of memories is damaged, or no database; it is left as it is",
		"Ask the person who runs this server to put back a copy of it, or to name another file with --database").Because(cause)
}
