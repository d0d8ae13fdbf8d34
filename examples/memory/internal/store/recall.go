package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

// What a recall reads is bounded, however many memories there are: of each token so
// many of the newest memories that have it, and of all tokens together so many.
const (
	maxOfToken = 2_000
	maxOfAll   = 10_000
	maxInOrder = 20_000 // of the rarest token, to look for memories that have all of them
)

// Found is the result of a recall, the best first.
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
	tokens := words.Asked(tidy(query))
	if len(tokens) == 0 {
		return Found{}, fault.New(fault.ParamInvalid, "there is no word in the query", "Ask with words that the memory would have")
	}

	// One state of the database is read, whatever others write meanwhile.
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Found{}, coded(err)
	}
	defer tx.Rollback() // nothing was written
	scores, complete, err := score(ctx, tx, tokens)
	if err != nil {
		return Found{}, coded(err)
	}
	best := slices.SortedFunc(maps.Keys(scores), func(a, b int64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})

	found, size := Found{AtLeast: !complete}, 0
	for _, id := range best[:min(limit, len(best))] {
		m, err := one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM memories WHERE id = ?`, id))
		if err != nil {
			return Found{}, coded(fmt.Errorf("memory %d: %w", id, err))
		}
		if size += len(m.Content); size > MaxAnswer && len(found.Memories) > 0 {
			break
		}
		found.Memories = append(found.Memories, m)
	}
	found.More = len(best) - len(found.Memories)
	return found, nil
}

// score returns how well memories match: the sum of what each token is worth that they
// have, which is the more, the fewer of all memories have it (its inverse document
// frequency as BM25 has it). complete means that no memory with one of them was left out.
func score(ctx context.Context, tx *sql.Tx, tokens []string) (scores map[int64]float64, complete bool, err error) {
	last, err := newest(ctx, tx) // which is how many memories there are, or were
	if err != nil {
		return nil, false, err
	}
	scores, complete = map[int64]float64{}, true
	limit, rarest, all := min(maxOfToken, maxOfAll/len(tokens)), float64(last), 0.0
	quoted := make([]string, len(tokens))
	for i, token := range tokens {
		quoted[i] = `"` + strings.ReplaceAll(token, `"`, `""`) + `"` // for FTS5 a string and nothing else
		ids, err := having(ctx, tx, quoted[i], limit)
		if err != nil {
			return nil, false, err
		}
		with := float64(len(ids))
		if len(ids) == limit { // not all were read: those that were show how dense they are
			with *= float64(last) / float64(last-slices.Min(ids)+1)
			complete = false
		}
		worth := math.Log1p(max(0, float64(last)-with+0.5) / (with + 0.5))
		for _, id := range ids {
			scores[id] += worth
		}
		rarest, all = min(rarest, with), all+worth
	}
	if complete || len(tokens) == 1 || rarest > maxInOrder {
		return scores, complete, nil
	}
	// A memory that has all the tokens may be older than those that were read.
	ids, err := having(ctx, tx, strings.Join(quoted, " AND "), limit)
	for _, id := range ids {
		scores[id] = all
	}
	return scores, complete, err
}

// having returns the newest memories that match an expression of FTS5, at most so many. They
// come as one text: a row for each would take most of the time of a recall.
func having(ctx context.Context, tx *sql.Tx, match string, limit int) ([]int64, error) {
	var list string
	err := tx.QueryRowContext(ctx, `SELECT coalesce(group_concat(rowid), '') FROM
		(SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)`, match, limit).Scan(&list)
	if err != nil || list == "" {
		return nil, err
	}
	ids := make([]int64, 0, strings.Count(list, ",")+1)
	for word := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, errors.Join(errDamaged, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
