package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Forget removes memories, all of them or none, and overwrites where they were.
func (s *Store) Forget(ctx context.Context, ids ...int64) error {
	err := s.change(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			if err := forget(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.empty(ctx)
}

func forget(ctx context.Context, tx *sql.Tx, id int64) error {
	m, err := one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM memories WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, fmt.Sprintf("there is no memory %d", id), "See which there are").With("id", id)
	}
	if err != nil {
		return err
	}
	if err := unindex(ctx, tx, m); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM memories WHERE id = ?`, id)
	return err
}

// empty brings the write-ahead log, in which what is forgotten still stands, into the
// database and cuts it off.
func (s *Store) empty(ctx context.Context) error {
	var busy, pages, done int
	err := s.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &done)
	if err == nil && busy != 0 {
		err = fault.New(fault.Unavailable, "it is forgotten, but its text is in the log of the database for as long as another process reads that", "Forget something else, or end the other servers")
	}
	return coded(err)
}
