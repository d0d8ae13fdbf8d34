package store

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// fixture is a store in a directory of its own, whose clock moves a second at each look.
type fixture struct {
	*Store
	t    testing.TB
	file string
}

func newFixture(t testing.TB, contents ...string) fixture {
	t.Helper()
	return openWorld(t, filepath.Join(t.TempDir(), "memories.db"), 1000, contents...)
}

func openWorld(t testing.TB, file string, most int, contents ...string) fixture {
	t.Helper()
	w := fixture{t: t, file: file}
	w.Store = w.open(most)
	for _, c := range contents {
		w.remember(Note{Content: c})
	}
	return w
}

// testClock is for a store that no fixture opened.
func testClock() time.Time { return time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC) }

func (w fixture) open(most int) *Store {
	w.t.Helper()
	now := time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)
	s, err := Open(w.t.Context(), w.file, Limits{Memories: most, Clock: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

func (w fixture) remember(n Note) int64 {
	w.t.Helper()
	id, _, err := w.Remember(w.t.Context(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// fill tells n memories in one transaction, which is what a test has time for.
func (w fixture) fill(n int, content func(int) string) {
	w.t.Helper()
	err := w.change(w.t.Context(), func(tx *sql.Tx) error {
		for i := range n {
			if _, err := w.insert(w.t.Context(), tx, Note{Content: content(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// recalled is the contents that a query gives, in their order.
func (w fixture) recalled(query string, limit int) []string {
	w.t.Helper()
	found, err := w.Recall(w.t.Context(), query, limit)
	if err != nil {
		w.t.Fatalf("%q: %v", query, err)
	}
	return contents(found.Memories)
}

func contents(all []Memory) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, m.Content)
	}
	return out
}

// all is every memory, the oldest first.
func (w fixture) all() []Memory {
	w.t.Helper()
	var all []Memory
	if err := w.Oldest(w.t.Context(), func(m Memory) error { all = append(all, m); return nil }); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// is checks that err has the code, nil meaning no error, and a sentence of its own.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	if err != nil && fault.From(err).Msg == "" {
		t.Errorf("%s: nothing is said", what)
	}
}
