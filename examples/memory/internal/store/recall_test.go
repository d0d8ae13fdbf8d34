package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/examples/memory/internal/words"
	"github.com/multiollama/mcp-server/shared/fault"
)

// What people and models tell, Japanese and English, in one database.
var told = []string{
	"好きな色は青です",
	"My favourite color is blue",
	"ユーザーの誕生日は3月5日",
	"The user's birthday is on the 5th of March",
	"りんごが好物で、毎朝リンゴジュースを飲む",
	"She organises her notes by project colours",
	"東京から大阪に引っ越した",
	"Wi-Fi のパスワードは金庫の中",
	"The meetings were cancelled; travelling resumes on Monday",
	"Die Straße zum Café ist gesperrt",
	"好物は寿司 🍣",
}

func TestWhatWasToldIsFoundByItsWords(t *testing.T) {
	w := newFixture(t, told...)
	for _, c := range []struct{ query, want string }{
		{"好きな色", "好きな色は青です"},
		{"私の好きな色は何？", "好きな色は青です"},
		{"青い", "好きな色は青です"},
		{"色", "好きな色は青です"},
		{"ｽｷな色", "好きな色は青です"},
		{"favorite colour", "My favourite color is blue"},
		{"favourite color", "My favourite color is blue"},
		{"FAVOURITES", "My favourite color is blue"},
		{"What is my favorite colour?", "My favourite color is blue"},
		{"好きな色 favorite colour", "好きな色は青です|My favourite color is blue"},
		{"誕生日", "ユーザーの誕生日は3月5日"},
		{"３月", "ユーザーの誕生日は3月5日"},
		{"birthdays", "The user's birthday is on the 5th of March"},
		{"リンゴ", "りんごが好物で、毎朝リンゴジュースを飲む"},
		{"りんご", "りんごが好物で、毎朝リンゴジュースを飲む"},
		{"organize", "She organises her notes by project colours"},
		{"東京", "東京から大阪に引っ越した"},
		{"大阪", "東京から大阪に引っ越した"},
		{"wi-fi", "Wi-Fi のパスワードは金庫の中"},
		{"ﾊﾟｽﾜｰﾄﾞ", "Wi-Fi のパスワードは金庫の中"},
		{"meeting canceled", "The meetings were cancelled; travelling resumes on Monday"},
		{"traveler", "The meetings were cancelled; travelling resumes on Monday"},
		{"STRASSE cafe", "Die Straße zum Café ist gesperrt"},
		{"🍣", "好物は寿司 🍣"},
		{"xylophone", ""},
		{"電話", ""},
	} {
		got := w.recalled(c.query, 100)
		for _, want := range strings.Split(c.want, "|") {
			if i := slices.Index(got, want); want != "" && (i < 0 || i > strings.Count(c.want, "|")) {
				t.Errorf("%q finds %q, want %q first", c.query, got, want)
			}
		}
		if c.want == "" && len(got) > 0 {
			t.Errorf("%q finds %q", c.query, got)
		}
	}
}

// Without a dictionary no full-text index knows that these mean the same.
func TestWordsAreComparedAndNotMeanings(t *testing.T) {
	w := newFixture(t, "My favourite color is blue")
	if got := w.recalled("好きな色", 5); len(got) > 0 {
		t.Errorf("found %q", got)
	}
}

func TestTheBestMatchComesFirstAndTheNewestOfEquals(t *testing.T) {
	w := newFixture(t, "a red apple", "green pear", "red wine", "red roses", "apple pie", "blue sky", "grey sea")
	want := []string{"a red apple", "apple pie", "red roses", "red wine"}
	if diff := cmp.Diff(want, w.recalled("red apple", 5)); diff != "" {
		t.Error(diff)
	}
}

func TestCategoryAndTagsAreSearchedToo(t *testing.T) {
	w := newFixture(t)
	w.remember(Note{Content: "blue", Category: "preference", Tags: []string{"favourite colour", "好み"}})
	for _, query := range []string{"preferences", "favorite", "好み"} {
		if got := w.recalled(query, 5); len(got) != 1 {
			t.Errorf("%s finds %q", query, got)
		}
	}
}

func TestARecallIsBoundedAndSaysHowManyMoreThereAre(t *testing.T) {
	w := newFixture(t)
	for i := range 20 {
		w.remember(Note{Content: fmt.Sprintf("cat %d %s", i, strings.Repeat("purr ", 2000))})
	}
	for _, c := range []struct{ limit, memories int }{{1, 1}, {5, 5}, {100, 6}} {
		found, err := w.Recall(t.Context(), "cat", c.limit)
		is(t, "recall", err, nil)
		if len(found.Memories) != c.memories || found.More != 20-c.memories || found.AtLeast {
			t.Errorf("of 20 with a limit of %d: %d, and %d more, at least: %t", c.limit, len(found.Memories), found.More, found.AtLeast)
		}
	}
	_, err := w.Recall(t.Context(), "", 5)
	is(t, "an empty query", err, fault.ParamInvalid)
	_, err = w.Recall(t.Context(), "… ?", 5)
	is(t, "a query without a word", err, fault.ParamInvalid)
	_, err = w.Recall(t.Context(), strings.Repeat("あ", MaxQuery+1), 5)
	is(t, "a long query", err, fault.LimitReached)
}

// An old memory that has all the words is found behind any number of new ones that have
// one of them.
func TestAnOldMemoryIsFoundBehindManyNewOnes(t *testing.T) {
	w := openWorld(t, t.TempDir()+"/m.db", 20_000)
	w.remember(Note{Content: "red apple"})
	w.fill(2*maxOfToken+2, func(i int) string { return []string{"red", "apple"}[i%2] + fmt.Sprint(" ", i) })
	found, err := w.Recall(t.Context(), "red apple", 1)
	is(t, "recall", err, nil)
	if got := contents(found.Memories); len(got) != 1 || got[0] != "red apple" || !found.AtLeast {
		t.Errorf("found is %q, at least: %t", got, found.AtLeast)
	}
}

// A query is data: whatever it is, it finds what has its words or says that there are
// none, and changes nothing. It is no fuzz target because the whole database would be
// compiled once more for it; that tokens hold no syntax, the one of package words holds.
func TestAQueryIsDataWhateverItSays(t *testing.T) {
	w := newFixture(t, "here to stay")
	queries := []string{"好きな色", `"`, `a" OR "b`, `NEAR(a b, 5)`, "tokens:x", "a*", "^a", "-a", "a + b", "'; DROP TABLE memories; --", "a\x00b", "\xffx", "AND", "NOT", "{a b}:c", `words MATCH "x"`}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(queries[rng.IntN(16)])
		}
		queries = append(queries, b.String())
	}
	for _, query := range queries {
		if len(words.Asked(query)) == 0 {
			continue
		}
		id := w.remember(Note{Content: query})
		found, err := w.Recall(t.Context(), query, 100)
		if err != nil || !slices.ContainsFunc(found.Memories, func(m Memory) bool { return m.ID == id }) {
			t.Fatalf("%q is not found by itself: %v", query, err)
		}
		is(t, query, w.Forget(t.Context(), id), nil)
	}
	if got := w.recalled("here to stay", 5); len(got) != 1 || len(w.all()) != 1 {
		t.Errorf("afterwards there is %q", got)
	}
}
