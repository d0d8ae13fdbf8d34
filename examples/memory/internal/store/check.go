package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
)

// Check reads the database in file from end to end and says how many memories are in
// it: none where there is no file yet, which it does not make.
func Check(ctx context.Context, file string) (memories int, err error) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	s, err := Open(ctx, file, Limits{})
	if err != nil {
		return 0, err
	}
	memories, err = s.check(ctx)
	return memories, errors.Join(coded(err), s.Close())
}

func (s *Store) check(ctx context.Context) (memories int, err error) {
	var verdict string
	if err := s.read.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil {
		return 0, err
	}
	if verdict != "ok" {
		return 0, damaged(errors.New(verdict))
	}
	err = s.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO words(words) VALUES ('integrity-check')`)
		return err
	})
	if err == nil {
		err = s.read.QueryRowContext(ctx, `SELECT count(*) FROM memories`).Scan(&memories)
	}
	return memories, err
}
