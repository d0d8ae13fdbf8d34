package store

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/multiollama/mcp-server/shared/fault"
)

// settings of every connection. A commit is on the disk before it is told
// (synchronous=FULL); a wait for another process ends after five seconds; what is
// removed is overwritten; what stands in the file is believed to be nothing but data.
var settings = []string{
	"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "secure_delete(on)",
	"temp_store(memory)", "trusted_schema(off)", "cell_size_check(on)",
}

// connectTo is a pool of so many connections to file.
func connectTo(file string, most int) (*sql.DB, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: url.Values{"_pragma": settings, "_txlock": {"immediate"}}.Encode()}
	if runtime.GOOS == "windows" {
		u.Path = "/" + u.Path
	}
	db, err := driver.Open(u.String(), fts5.Register)
	if err == nil {
		db.SetMaxOpenConns(most)
		db.SetMaxIdleConns(most)
	}
	return db, err
}

// change runs do in a transaction, which is on the disk when change says nothing.
func (s *Store) change(ctx context.Context, do func(*sql.Tx) error) error {
	err := s.transact(ctx, do)
	if err != nil && ctx.Err() != nil {
		return fault.From(ctx.Err()).Because(err) // SQLite calls it a lock that it waited for
	}
	if errors.Is(err, sqlite3.IOERR) {
		err = errors.Join(s.try(), err)
	}
	return coded(err)
}

func (s *Store) transact(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the error that counts is the other
		return err
	}
	return tx.Commit()
}

// try writes and removes a file beside the database, and is what the system says to
// that: of a write that failed SQLite says only that it did (go-sqlite3 0.37).
func (s *Store) try() error {
	f, err := os.CreateTemp(filepath.Dir(s.file), ".probe-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 256<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// errDamaged is for what SQLite takes for whole and cannot be.
var errDamaged = errors.New("a memory in the database makes no sense")

// coded gives an error of SQLite its code. What the system said to SQLite is in the
// error, and says more.
func coded(err error) error {
	code := fault.Internal
	var msg, do string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDamaged), errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return damaged(err)
	case errors.Is(err, sqlite3.FULL):
		code, msg, do = fault.DiskFull, "there is no space left for the memories; nothing was changed", "Free some space, then try again"
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED), errors.Is(err, sqlite3.PROTOCOL):
		code, msg, do = fault.Unavailable, "another process has kept the memories locked for too long", "Try again"
	case errors.Is(err, sqlite3.INTERRUPT):
		code, msg, do = fault.TimedOut, "the call was cancelled", ""
	case errors.Is(err, sqlite3.NOMEM):
		code, msg, do = fault.OutOfMemory, "there is no memory left for this", "Try again later"
	default:
		return unlessKnown(err)
	}
	return fault.New(code, msg, do).Because(err)
}

// unlessKnown codes what the table of fault does not know.
func unlessKnown(err error) error {
	e := fault.From(err)
	var code sqlite3.ErrorCode
	switch {
	case e.Code != fault.Internal || !errors.As(err, &code):
		return e
	case code == sqlite3.READONLY || code == sqlite3.PERM || code == sqlite3.CANTOPEN || code == sqlite3.AUTH:
		return fault.New(fault.PermissionDenied, "the memories may not be written", "Ask the person who runs this server").Because(err)
	case code == sqlite3.IOERR:
		return fault.New(fault.Unavailable, "the memories cannot be read or written now", "Try again, or ask the person who runs this server to check the disk").Because(err)
	}
	return e
}

func damaged(cause error) error {
	return fault.New(fault.Unavailable, "the database of memories is damaged, or no database; it is left as it is",
		"Ask the person who runs this server to put back a copy of it, or to name another file with --database").Because(cause)
}

// unopened is why file cannot be used, for the person who started the server.
func unopened(file string, err error) error { return fault.From(coded(err)).With("file", file) }
