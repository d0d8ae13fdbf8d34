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
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Remember keeps n. When it says so, n is on the disk. Content that is there already is
// not kept twice: what n says besides takes the place of what was said before.
func (s *Store) Remember(ctx context.Context, n Note) (id int64, isNew bool, err error) {
	n, err = n.clean()
	if err == nil {
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
		return s.update(ctx, tx, old, n)
	})
	return id, isNew, err
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, n Note) (int64, error) {
	if err := s.room(ctx, tx); err != nil {
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

// room says that one more memory may be kept. There are never more than the newest ID
// says, which costs less than counting.
func (s *Store) room(ctx context.Context, tx *sql.Tx) error {
	count, err := newest(ctx, tx)
	if err == nil && count >= int64(s.limits.Memories) {
		err = tx.QueryRowContext(ctx, `SELECT count(*) FROM memories`).Scan(&count)
	}
	if err == nil && count >= int64(s.limits.Memories) {
		err = fault.New(fault.LimitReached, fmt.Sprintf("there are %d memories already, which is the limit", count),
			"Ask the person who runs this server to forget some").With("limit", s.limits.Memories)
	}
	return err
}

// newest is the greatest ID, 0 where there is none.
func newest(ctx context.Context, tx *sql.Tx) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM memories`).Scan(&id)
	return id, err
}

func (s *Store) update(ctx context.Context, tx *sql.Tx, old Memory, n Note) error {
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
	_, err := tx.ExecContext(ctx, `UPDATE memories SET category = ?, tags = ?, updated = ? WHERE id = ?`,
		n.Category, list(n.Tags), s.limits.Clock().UnixMicro(), old.ID)
	return err
}

func index(ctx context.Context, tx *sql.Tx, m Memory) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO words (rowid, tokens) VALUES (?, ?)`, m.ID, m.tokens())
	return err
}

// unindex tells FTS5 again what it was told of m, which it keeps no copy of.
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

func oneLine(s string) string { return strings.Join(strings.Fields(tidy(s)), " ") }

func tooLong(what, unit string, length, most int) error {
	return fault.New(fault.LimitReached, fmt.Sprintf("%s has %d %s, and %d are the most", what, length, unit, most), "Say it in less, or in several").
		With("limit", most).With("length", length)
}
