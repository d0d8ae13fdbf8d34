package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	application = 0x4D454D4F // "MEMO", by which a database of memories is known
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

// settle makes the tables where there are none, and the index anew where it was made by
// other rules. Many processes may be at it; one of them does it.
func (s *Store) settle(ctx context.Context) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		version, err := versionOf(ctx, tx)
		if err != nil || version == current {
			return err
		}
		switch {
		case version == 0:
			_, err = tx.ExecContext(ctx, tables)
		case version>>16 == layout && version < current:
			err = reindex(ctx, tx)
		default:
			err = fault.New(fault.Misconfigured, "the database of memories was made by a newer version of this program", "Use that version")
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, current))
		return err
	})
}

// versionOf is the version of the tables, 0 where there are none.
func versionOf(ctx context.Context, tx *sql.Tx) (version int, err error) {
	var id, objects int
	err = tx.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`).Scan(&id, &version, &objects)
	if err == nil && objects > 0 && id != application {
		err = fault.New(fault.Misconfigured, "the file is a database, but not one of memories", "Name another file with --database")
	}
	return version, err
}

// reindex makes the index anew.
func reindex(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO words(words) VALUES ('delete-all')`); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+columns+` FROM memories`)
	return each(rows, err, func(m Memory) error { return index(ctx, tx, m) })
}
