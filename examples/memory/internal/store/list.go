package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// columns are those of a Memory, in the order in which one reads them.
const columns = `id, content, category, tags, created, updated`

// Newest calls visit for every memory, the last one that was told first.
func (s *Store) Newest(ctx context.Context, visit func(Memory) error) error {
	rows, err := s.read.QueryContext(ctx, `SELECT `+columns+` FROM memories ORDER BY updated DESC, id DESC`)
	return coded(each(rows, err, visit))
}

// Oldest calls visit for every memory in the order in which they were first told.
func (s *Store) Oldest(ctx context.Context, visit func(Memory) error) error {
	rows, err := s.read.QueryContext(ctx, `SELECT `+columns+` FROM memories ORDER BY id`)
	return coded(each(rows, err, visit))
}

// each visits what a query gave, and ends it.
func each(rows *sql.Rows, err error, visit func(Memory) error) error {
	if err != nil {
		return err
	}
	defer rows.Close() // what it says, Err says too
	for rows.Next() {
		m, err := one(rows)
		if err == nil {
			err = visit(m)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// one reads a row of the columns.
func one(row interface{ Scan(...any) error }) (Memory, error) {
	var m Memory
	var tags string
	var created, updated int64
	if err := row.Scan(&m.ID, &m.Content, &m.Category, &tags, &created, &updated); err != nil {
		return Memory{}, err
	}
	m.Created, m.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	if err := json.Unmarshal([]byte(tags), &m.Tags); err != nil {
		return Memory{}, errors.Join(errDamaged, err)
	}
	return m, nil
}
