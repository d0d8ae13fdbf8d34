package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

// What a recall looks at is bounded, however many memories there are: of each token so
// many of the newest memories that have it, and of all tokens together so many.
const (
	mostOfToken = 5_000
	mostOfAll   = 30_000
)

// Found is what a recall answers, the best first.
type Found struct {
	Memories []Memory
	More     int  // further memories that match
	AtLeast  bool // there may be more than that
}

// Recall looks for memories that have the words of query, at most limit of them. Those
// that have more of the words, and rarer ones, come first; of equals, the newest.
func (s *Store) Recall(ctx context.Context, query string, limit int) (Found, error) {
	if length := utf8.RuneCountInString(query); length > MaxQuery {
		return Found{}, tooLong("the query", "characters", length, MaxQuery)
	}
	if err := s.present(); err != nil {
		return Found{}, err
	}
	found, err := s.recall(ctx, words.Asked(query), limit)
	return found, coded(err)
}

// recall reads one state of the database, whatever others write meanwhile.
func (s *Store) recall(ctx context.Context, tokens []string, limit int) (Found, error) {
	if len(tokens) == 0 {
		return Found{}, fault.New(fault.ParamInvalid, "there is no word in the query", "Ask with words that the memory would have")
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Found{}, err
	}
	defer tx.Rollback() // nothing was written
	scores, whole, err := score(ctx, tx, tokens)
	if err != nil {
		return Found{}, err
	}
	best := ordered(scores)
	found := Found{AtLeast: !whole}
	found.Memories, err = take(ctx, tx, best[:min(limit, len(best))])
	found.More = len(best) - len(found.Memories)
	return found, err
}

// score says how well memories match: by the sum of what each token is worth that they
// have. whole says that no memory with one of them was left out.
func score(ctx context.Context, tx *sql.Tx, tokens []string) (scores map[int64]float64, whole bool, err error) {
	var newest int64 // the ID of a memory tells how many there are, or were
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM memories`).Scan(&newest); err != nil {
		return nil, false, err
	}
	scores, whole = map[int64]float64{}, true
	most, all := min(mostOfToken, mostOfAll/len(tokens)), 0.0
	for _, token := range tokens {
		ids, err := having(ctx, tx, quoted(token), most)
		if err != nil {
			return nil, false, err
		}
		whole = whole && len(ids) < most
		worth := worthOf(ids, most, newest)
		for _, id := range ids {
			scores[id] += worth
		}
		all += worth
	}
	if whole || len(tokens) == 1 {
		return scores, whole, nil
	}
	// A memory that has all the tokens may be older than those looked at.
	ids, err := having(ctx, tx, conjunction(tokens), most)
	for _, id := range ids {
		scores[id] = all
	}
	return scores, whole, err
}

// having is the newest memories that match an expression of FTS5, at most so many.
func having(ctx context.Context, tx *sql.Tx, match string, most int) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, `SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?`, match, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // what it says, Err says too
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// worthOf is the more, the fewer memories have a token: its inverse document frequency
// as BM25 has it. Where not all were looked at, those that were tell how dense they lie.
func worthOf(ids []int64, most int, newest int64) float64 {
	with, of := float64(len(ids)), float64(newest)
	if len(ids) == most {
		with *= of / float64(newest-ids[most-1]+1)
	}
	return math.Log1p(max(0, of-with+0.5) / (with + 0.5))
}

// quoted is a token as FTS5 takes it for a string and nothing else. It holds no
// quotation mark (see package words).
func quoted(token string) string { return `"` + strings.ReplaceAll(token, `"`, `""`) + `"` }

func conjunction(tokens []string) string {
	all := make([]string, len(tokens))
	for i, token := range tokens {
		all[i] = quoted(token)
	}
	return strings.Join(all, " AND ")
}

// ordered is the IDs by their score, the newest first of those that have the same.
func ordered(scores map[int64]float64) []int64 {
	return slices.SortedFunc(maps.Keys(scores), func(a, b int64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
}

// take reads memories until their contents are as much as an answer may hold.
func take(ctx context.Context, tx *sql.Tx, ids []int64) ([]Memory, error) {
	var all []Memory
	size := 0
	for _, id := range ids {
		m, err := one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM memories WHERE id = ?`, id))
		if err != nil {
			return nil, fmt.Errorf("memory %d: %w", id, err)
		}
		if size += len(m.Content); size > MaxAnswer && len(all) > 0 {
			break
		}
		all = append(all, m)
	}
	return all, nil
}
