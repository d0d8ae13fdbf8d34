package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestTheSameContentAgainUpdatesAndDoesNotDouble(t *testing.T) {
	w := newFixture(t)
	id := w.remember(Note{Content: "好きな色は青", Category: "old", Tags: []string{"a"}})
	for _, same := range []string{"好きな色は青", "  好きな色は青\r\n", "好きな色は\x07青"} {
		again, isNew, err := w.Remember(t.Context(), Note{Content: same, Category: "preference"})
		if err != nil || isNew || again != id {
			t.Errorf("%q is memory %d, new: %t, %v", same, again, isNew, err)
		}
	}
	all := w.all()
	want := Note{Content: "好きな色は青", Category: "preference", Tags: []string{"a"}}
	if len(all) != 1 || cmp.Diff(want, all[0].Note) != "" || !all[0].Updated.After(all[0].Created) {
		t.Errorf("there is %+v", all)
	}
	if got := w.recalled("old", 5); len(got) > 0 {
		t.Errorf("the former category still finds %q", got)
	}
	if got := w.recalled("preference", 5); len(got) != 1 {
		t.Errorf("the new category finds %q", got)
	}
}

func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	w := openWorld(t, filepath.Join(t.TempDir(), "m.db"), 2, "one", "two")
	many := strings.Split(strings.Repeat("x", MaxTags+1), "")
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		what string
		note Note
		want error
	}{
		{"nothing", Note{}, fault.ParamInvalid},
		{"blanks and control characters", Note{Content: " \x00\x1b\n"}, fault.ParamInvalid},
		{"a long content", Note{Content: strings.Repeat("x", MaxContent+1)}, fault.LimitReached},
		{"a long category", Note{Content: "x", Category: strings.Repeat("あ", MaxCategory+1)}, fault.LimitReached},
		{"a long tag", Note{Content: "x", Tags: []string{strings.Repeat("あ", MaxTag+1)}}, fault.LimitReached},
		{"many tags", Note{Content: "x", Tags: many}, fault.LimitReached},
		{"one memory more", Note{Content: "three"}, fault.LimitReached},
		{"what is known", Note{Content: "two", Tags: []string{"again"}}, nil},
	} {
		_, _, err := w.Remember(t.Context(), c.note)
		is(t, c.what, err, c.want)
	}
	if diff := cmp.Diff([]string{"one", "two"}, contents(w.all())); diff != "" {
		t.Error(diff)
	}
}

func TestTheLongestMemoryIsKeptAsItIs(t *testing.T) {
	w := newFixture(t)
	n := Note{Content: strings.Repeat("青い空\n", MaxContent/10), Category: strings.Repeat("c", MaxCategory), Tags: []string{"one two", "三"}}
	n.Content = strings.TrimSpace(n.Content)
	w.remember(n)
	if diff := cmp.Diff(n, w.all()[0].Note); diff != "" {
		t.Error(diff)
	}
}

// What is forgotten is not found, has no number again, and is in no file any more.
func TestWhatIsForgottenIsGone(t *testing.T) {
	const secret = "xyzzyplugh"
	w := newFixture(t, "first", "the password is "+secret, "last")
	if !holds(t, w.file, secret) {
		t.Fatal("the search would not find it in the files either")
	}
	is(t, "some that are not there", w.Forget(t.Context(), 1, 17), fault.NotFound)
	if got := len(w.all()); got != 3 {
		t.Fatalf("%d are left of three", got)
	}
	is(t, "forget", w.Forget(t.Context(), 2), nil)
	if got := w.recalled(secret, 5); len(got) > 0 || holds(t, w.file, secret) {
		t.Errorf("it is still there: %q", got)
	}
	is(t, "forget", w.Forget(t.Context(), 3), nil)
	if id := w.remember(Note{Content: "new"}); id != 4 {
		t.Errorf("the next memory is %d", id)
	}
	n, err := Check(t.Context(), w.file)
	if is(t, "check", err, nil); n != 2 {
		t.Errorf("%d are left", n)
	}
}

// holds says that a word stands somewhere in the files of a database.
func holds(t *testing.T, file, word string) bool {
	t.Helper()
	names, err := filepath.Glob(file + "*")
	if err != nil || len(names) < 2 {
		t.Fatalf("the files are %q, %v", names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(word)) {
			return true
		}
	}
	return false
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.db")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, file, 10, "private")
	names, err := filepath.Glob(file + "*")
	if err != nil || len(names) != 3 {
		t.Fatalf("the files are %q, %v", names, err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
	}
	w.Close()
}

func TestTwoStoresShareADatabase(t *testing.T) {
	w := newFixture(t)
	other := w.open(1000)
	const each = 50
	errs := make(chan error, 2)
	for i, s := range []*Store{w.Store, other} {
		go func() {
			for n := range each {
				if _, _, err := s.Remember(context.Background(), Note{Content: fmt.Sprintf("store %d says %d", i, n)}); err != nil {
					errs <- err
					return
				}
				if _, err := s.Recall(context.Background(), "says", 5); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	is(t, "one", <-errs, nil)
	is(t, "the other", <-errs, nil)
	if got := len(w.all()); got != 2*each {
		t.Errorf("%d memories of %d", got, 2*each)
	}
}

func TestALockIsWaitedForWithABound(t *testing.T) {
	w := newFixture(t, "here")
	other := w.open(1000)
	tx, err := other.write.BeginTx(t.Context(), nil) // holds the lock
	is(t, "begin", err, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = w.Remember(ctx, Note{Content: "late"})
	is(t, "remembering for as long as the caller waits", err, fault.TimedOut)
	if _, err := w.write.ExecContext(t.Context(), "PRAGMA busy_timeout = 20"); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Remember(t.Context(), Note{Content: "late"})
	is(t, "remembering for as long as we wait", err, fault.Unavailable)
	if got := w.recalled("here", 5); len(got) != 1 {
		t.Errorf("recalling meanwhile gives %q", got)
	}
	is(t, "rollback", tx.Rollback(), nil)
	w.remember(Note{Content: "late"})
}

func TestAnIndexOfOtherRulesIsMadeAnew(t *testing.T) {
	w := newFixture(t, "My favourite colour", "好きな色")
	if _, err := w.write.ExecContext(t.Context(), fmt.Sprintf(
		`INSERT INTO words(words) VALUES ('delete-all'); PRAGMA user_version = %d`, current-1)); err != nil {
		t.Fatal(err)
	}
	if got := w.recalled("favorite", 5); len(got) > 0 {
		t.Fatalf("the index is still there: %q", got)
	}
	w.Close()
	w.Store = w.open(10)
	if got := w.recalled("favorite 好きな色", 5); len(got) != 2 {
		t.Errorf("found is %q", got)
	}
}

func TestADatabaseThatIsNoneOfOursIsLeftAsItIs(t *testing.T) {
	foreign := newFixture(t)
	if _, err := foreign.write.ExecContext(t.Context(), `PRAGMA application_id = 1; CREATE TABLE x(y)`); err != nil {
		t.Fatal(err)
	}
	newer := newFixture(t)
	if _, err := newer.write.ExecContext(t.Context(), fmt.Sprintf(`PRAGMA user_version = %d`, current+1)); err != nil {
		t.Fatal(err)
	}
	for what, w := range map[string]fixture{"of another program": foreign, "of a newer version": newer} {
		is(t, what, w.Close(), nil)
		before, err := os.ReadFile(w.file)
		is(t, what, err, nil)
		_, err = Open(t.Context(), w.file, Limits{Memories: 1, Clock: testClock})
		is(t, what, err, fault.Misconfigured)
		if after, err := os.ReadFile(w.file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: it was changed, %v", what, err)
		}
	}
}

func TestADamagedFileIsToldAndLeftAsItIs(t *testing.T) {
	w := newFixture(t)
	w.fill(200, func(i int) string { return fmt.Sprint("memory ", i, " of many words to fill some pages with") })
	is(t, "close", w.Close(), nil)
	whole, err := os.ReadFile(w.file)
	is(t, "read", err, nil)
	scrambled := bytes.Clone(whole)
	for i := 4096; i < len(scrambled); i++ {
		scrambled[i] ^= 0xA5
	}
	for what, content := range map[string][]byte{
		"garbage":       bytes.Repeat([]byte("garbage!"), 1000),
		"a short text":  []byte("hello"),
		"cut in half":   whole[:len(whole)/2],
		"cut in a page": whole[:len(whole)-100],
		"scrambled":     scrambled,
	} {
		file := filepath.Join(t.TempDir(), "m.db")
		is(t, what, os.WriteFile(file, content, 0o600), nil)
		_, err := Check(t.Context(), file)
		if err == nil {
			t.Errorf("%s: doctor finds nothing", what)
		}
		if s, err := Open(t.Context(), file, Limits{Memories: 1000, Clock: testClock}); err == nil {
			_, recalled := s.Recall(t.Context(), "memory", 5)
			_, _, remembered := s.Remember(t.Context(), Note{Content: "new"})
			err = errors.Join(recalled, remembered)
			if err == nil {
				t.Errorf("%s: it works", what)
			}
			is(t, what, errors.Join(err, s.Close()), fault.Unavailable)
		} else {
			is(t, what, err, fault.Unavailable)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed, %v", what, err)
		}
	}
}

// An empty file beside a log is what is left when somebody emptied it: SQLite would take
// it for a new database, and the log away.
func TestAnEmptiedFileDoesNotCostItsLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.db")
	is(t, "file", os.WriteFile(file, nil, 0o600), nil)
	is(t, "log", os.WriteFile(file+"-wal", []byte("memories"), 0o600), nil)
	_, err := Open(t.Context(), file, Limits{Memories: 1, Clock: testClock})
	is(t, "open", err, fault.Unavailable)
	if b, err := os.ReadFile(file + "-wal"); string(b) != "memories" {
		t.Errorf("the log holds %q, %v", b, err)
	}
}

func TestAFileThatWasRemovedIsNotWrittenTo(t *testing.T) {
	w := newFixture(t, "here")
	is(t, "remove", os.Remove(w.file), nil)
	_, _, err := w.Remember(t.Context(), Note{Content: "lost"})
	is(t, "remember", err, fault.Unavailable)
	_, err = w.Recall(t.Context(), "here", 5)
	is(t, "recall", err, fault.Unavailable)
}

func TestALinkOrADirectoryIsNoDatabase(t *testing.T) {
	w := newFixture(t, "here")
	link := w.file + ".link"
	if err := os.Symlink(w.file, link); err != nil {
		t.Skip("SKIPPED: no links here: ", err)
	}
	for _, file := range []string{link, filepath.Dir(w.file)} {
		_, err := Open(t.Context(), file, Limits{Memories: 1, Clock: testClock})
		is(t, file, err, fault.Forbidden)
	}
}
