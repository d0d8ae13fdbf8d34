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

// What a recall looks at is bounded, however many memories there are: of each token so
// many of the newest memories that have it, and of all tokens together so many.
const (
	mostOfToken = 2_000
	mostOfAll   = 10_000
	mostInOrder = 20_000 // of the rarest token, to look for memories that have all of them
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
	found, err := s.recall(ctx, words.Asked(tidy(query)), limit)
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
	last, err := newest(ctx, tx) // tells how many memories there are, or were
	if err != nil {
		return nil, false, err
	}
	scores, whole = map[int64]float64{}, true
	most, rarest, all := min(mostOfToken, mostOfAll/len(tokens)), float64(last), 0.0
	for _, token := range tokens {
		ids, err := having(ctx, tx, quoted(token), most)
		if err != nil {
			return nil, false, err
		}
		with := estimate(ids, most, last)
		worth := worthOf(with, float64(last))
		for _, id := range ids {
			scores[id] += worth
		}
		whole = whole && len(ids) < most
		rarest, all = min(rarest, with), all+worth
	}
	if whole || len(tokens) == 1 || rarest > mostInOrder {
		return scores, whole, nil
	}
	// A memory that has all the tokens may be older than those looked at.
	ids, err := having(ctx, tx, conjunction(tokens), most)
	for _, id := range ids {
		scores[id] = all
	}
	return scores, whole, err
}

// having is the newest memories that match an expression of FTS5, at most so many. They
// come as one text: a row for each would take most of the time of a recall.
func having(ctx context.Context, tx *sql.Tx, match string, most int) ([]int64, error) {
	var list string
	err := tx.QueryRowContext(ctx, `SELECT coalesce(group_concat(rowid), '') FROM
		(SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)`, match, most).Scan(&list)
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

// estimate is how many memories have a token. Where not all were looked at, those that
// were tell how dense they lie.
func estimate(ids []int64, most int, last int64) float64 {
	if len(ids) < most {
		return float64(len(ids))
	}
	return float64(len(ids)) * float64(last) / float64(last-slices.Min(ids)+1)
}

// worthOf is the more, the fewer of all memories have a token: its inverse document
// frequency as BM25 has it.
func worthOf(with, of float64) float64 { return math.Log1p(max(0, of-with+0.5) / (with + 0.5)) }

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
