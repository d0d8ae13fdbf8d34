package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Bounds of a memory and of an answer.
const (
	MaxContent  = 16 << 10 // bytes
	MaxCategory = 64       // characters
	MaxTag      = 64       // characters
	MaxTags     = 32
	MaxQuery    = 1000     // characters
	MaxAnswer   = 64 << 10 // bytes of contents; one memory is returned in any case
)

// Remember keeps n: when it returns without an error, n is on the disk. Content that is
// there already is not kept twice: the other parts of n replace those of before.
func (s *Store) Remember(ctx context.Context, n Note) (id int64, isNew bool, err error) {
	if n, err = n.clean(); err == nil {
		err = s.present()
	}
	if err != nil {
		return 0, false, err
	}
	err = s.change(ctx, func(tx *sql.Tx) error {
		old, err := one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM memories WHERE digest = ?`, digest(n.Content)))
		if isNew = errors.Is(err, sql.ErrNoRows); isNew {
			id, err = s.insert(ctx, tx, n)
			return err
		}
		if err != nil {
			return err
		}
		id = old.ID
		if n.Category == "" {
			n.Category = old.Category
		}
		if n.Tags == nil {
			n.Tags = old.Tags
		}
		if err := unindex(ctx, tx, old); err != nil {
			return err
		}
		if err := index(ctx, tx, Memory{ID: old.ID, Note: n}); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE memories SET category = ?, tags = ?, updated = ? WHERE id = ?`,
			n.Category, list(n.Tags), s.limits.Clock().UnixMicro(), old.ID)
		return err
	})
	return id, isNew, err
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, n Note) (int64, error) {
	// There are never more memories than the newest ID says, which costs less than counting.
	count, err := newest(ctx, tx)
	if err == nil && count >= int64(s.limits.Memories) {
		err = tx.QueryRowContext(ctx, `SELECT count(*) FROM memories`).Scan(&count)
	}
	if err == nil && count >= int64(s.limits.Memories) {
		err = fault.New(fault.LimitReached, fmt.Sprintf("there are %d memories already, which is the limit", count),
			"Ask the person who runs this server to forget some").With("limit", s.limits.Memories)
	}
	if err != nil {
		return 0, err
	}
	now := s.limits.Clock().UnixMicro()
	done, err := tx.ExecContext(ctx, `INSERT INTO memories (digest, content, category, tags, created, updated) VALUES (?, ?, ?, ?, ?, ?)`,
		digest(n.Content), n.Content, n.Category, list(n.Tags), now, now)
	if err != nil {
		return 0, err
	}
	id, err := done.LastInsertId()
	if err != nil {
		return 0, err
	}
	return id, index(ctx, tx, Memory{ID: id, Note: n})
}

// newest returns the greatest ID, 0 where there is none.
func newest(ctx context.Context, tx *sql.Tx) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM memories`).Scan(&id)
	return id, err
}

func index(ctx context.Context, tx *sql.Tx, m Memory) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO words (rowid, tokens) VALUES (?, ?)`, m.ID, m.tokens())
	return err
}

// unindex needs the same tokens again: FTS5 keeps no copy of them.
func unindex(ctx context.Context, tx *sql.Tx, m Memory) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)`, m.ID, m.tokens())
	return err
}

// tokens is what a memory is found by.
func (n Note) tokens() string {
	return strings.Join(words.Of(n.Content+"\n"+n.Category+"\n"+strings.Join(n.Tags, "\n")), " ")
}

func digest(content string) []byte {
	sum := sha256.Sum256([]byte(content))
	return sum[:]
}

// list is tags as they are kept.
func list(tags []string) string {
	b, err := json.Marshal(append([]string{}, tags...))
	if err != nil {
		panic(err) // strings always have a form in JSON
	}
	return string(b)
}

// clean is n without control characters, which document 004 removes, and without blanks
// around its parts; or why it cannot be kept.
func (n Note) clean() (Note, error) {
	oneLine := func(s string) string { return strings.Join(strings.Fields(tidy(s)), " ") }
	n.Content, n.Category = tidy(n.Content), oneLine(n.Category)
	var tags []string
	for _, tag := range n.Tags {
		if tag = oneLine(tag); tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	n.Tags = tags
	switch {
	case n.Content == "":
		return n, fault.New(fault.ParamInvalid, "there is nothing in the content to remember", "Say what to remember")
	case len(n.Content) > MaxContent:
		return n, tooLong("the content", "bytes", len(n.Content), MaxContent)
	case utf8.RuneCountInString(n.Category) > MaxCategory:
		return n, tooLong("the category", "characters", utf8.RuneCountInString(n.Category), MaxCategory)
	case len(tags) > MaxTags:
		return n, tooLong("the list of tags", "tags", len(tags), MaxTags)
	}
	for _, tag := range tags {
		if length := utf8.RuneCountInString(tag); length > MaxTag {
			return n, tooLong("a tag", "characters", length, MaxTag)
		}
	}
	return n, nil
}

// tidy is text in NFC without control characters but tabs and line feeds.
func tidy(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(norm.NFC.String(s))
}

func tooLong(what, unit string, length, limit int) error {
	return fault.New(fault.LimitReached, fmt.Sprintf("%s has %d %s, and %d are the most", what, length, unit, limit),
		"Say it in less, or in several").With("limit", limit).With("length", length)
}

// Forget removes memories, all of them or none, and overwrites where they were.
func (s *Store) Forget(ctx context.Context, ids ...int64) error {
	err := s.change(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			m, err := one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM memories WHERE id = ?`, id))
			if errors.Is(err, sql.ErrNoRows) {
				return fault.New(fault.NotFound, fmt.Sprintf("there is no memory %d", id), "See which there are").With("id", id)
			}
			if err == nil {
				err = unindex(ctx, tx, m)
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, `DELETE FROM memories WHERE id = ?`, id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// What is forgotten is still in the write-ahead log, which is moved into the database and
	// cut off.
	var busy, pages, done int
	err = s.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &done)
	if err == nil && busy != 0 {
		err = fault.New(fault.Unavailable,
			"it is forgotten, but its text is in the log of the database for as long as another process reads that",
			"Forget something else, or end the other servers")
	}
	return coded(err)
}

// columns are those of a Memory, in the order in which one reads them.
const columns = `id, content, category, tags, created, updated`

// Newest calls visit for every memory, the one that was updated last first.
func (s *Store) Newest(ctx context.Context, visit func(Memory) error) error {
	rows, err := s.read.QueryContext(ctx, `SELECT `+columns+` FROM memories ORDER BY updated DESC, id DESC`)
	return coded(each(rows, err, visit))
}

// Oldest calls visit for every memory in the order in which they were created.
func (s *Store) Oldest(ctx context.Context, visit func(Memory) error) error {
	rows, err := s.read.QueryContext(ctx, `SELECT `+columns+` FROM memories ORDER BY id`)
	return coded(each(rows, err, visit))
}

// each visits the rows of a query, and closes it.
func each(rows *sql.Rows, err error, visit func(Memory) error) error {
	if err != nil {
		return err
	}
	defer rows.Close() // its error is that of Err
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
func one(row interface{ Scan(...any) error }) (m Memory, err error) {
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
