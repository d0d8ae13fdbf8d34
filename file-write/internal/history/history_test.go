package history_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestWhatWasKeptIsThereAfterReopening(t *testing.T) {
	for _, c := range []struct {
		name, content string
		change        history.Change
	}{
		{"a text", "hello\n", edit("/w/a.txt")},
		{"an empty file", "", edit("/w/empty")},
		{"bytes that are no text", "\x00\xff\r\n", edit("/w/b.bin")},
		{"a path that is not UTF-8", "x", edit("/w/\xff\xfe")},
		{"a path with a newline and quotes", "x", edit("/w/a\n\"b\"")},
		{"a path out of the store, which is only a text", "x", edit("../../index.jsonl")},
		{"every other field", "x", history.Change{Path: "p", Op: "delete", Tool: "delete_file", RequestID: "r<1>", Mode: os.ModeSetuid | 0o4755, Existed: true}},
		{"a change before which there was nothing", "", history.Change{Path: "new", Op: "overwrite", Tool: "file_write"}},
		{"a directory", "an archive", history.Change{Path: "/w/d", Op: "delete", Mode: os.ModeDir | 0o755, Existed: true, Tree: true}},
		{"an append", "x", history.Change{Path: "/w/a", Op: "append", Existed: true}},
		{"putting back", "x", history.Change{Path: "/w/a", Op: "restore", Existed: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(history.Limits{})
			kept, err := s.Keep(t.Context(), c.change, strings.NewReader(c.content))
			if err != nil {
				t.Fatal(err)
			}
			want := c.change
			want.ID, want.SHA256, want.Bytes, want.Time = kept.ID, kept.SHA256, int64(len(c.content)), w.now
			s.Close()
			s = w.open(history.Limits{})
			all, err := s.List(history.Filter{})
			if diff := cmp.Diff([]history.Change{want}, all); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			if diff := cmp.Diff(want, kept); diff != "" {
				t.Error(diff)
			}
			if got := w.content(s, kept); got != c.content {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestTheStoreIsForItsUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rights are those of the parent directory")
	}
	w := newFixture(t)
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c := w.keep(w.open(history.Limits{}), "a", "secret")
	for name, want := range map[string]os.FileMode{".": 0o700, "objects": 0o700, "drafts": 0o700, "index.jsonl": 0o600, "lock": 0o600, object(c): 0o600} {
		info, err := os.Stat(filepath.Join(w.dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestTheSameContentIsStoredOnce(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	a, b := w.keep(s, "a", "same"), w.keep(s, "b", "same")
	if got := w.files("objects"); len(got) != 1 || a.ID == b.ID {
		t.Errorf("%v", got)
	}
	if got := w.files("drafts"); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
	if w.content(s, a)+w.content(s, b) != "samesame" {
		t.Error("the content is not there")
	}
}

func TestKeepingAgainHealsADamagedContent(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	a := w.keep(s, "a", "same")
	w.write(object(a), "sama")
	w.keep(s, "b", "same")
	if got := w.content(s, a); got != "same" {
		t.Errorf("%q", got)
	}
}

func TestLimitsLetTheOldestGoFirst(t *testing.T) {
	type kept struct {
		path, content string
		after         time.Duration
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		name    string
		limits  history.Limits
		most    int
		kept    []kept
		want    string // newest first
		objects int
	}{
		{"what fits exactly stays", history.Limits{Bytes: 8}, 100, []kept{{"a", "aaaa", 0}, {"b", "bbbb", 0}}, "b a", 2},
		{"one byte more and the oldest goes", history.Limits{Bytes: 8}, 100, []kept{{"a", "aaaa", 0}, {"b", "bbbb", 0}, {"c", "c", 0}}, "c b", 2},
		{"as many go as have to", history.Limits{Bytes: 8}, 100, []kept{{"a", "aaa", 0}, {"b", "bbb", 0}, {"c", "cccccccc", 0}}, "c", 1},
		{"a content is counted once", history.Limits{Bytes: 8}, 100, []kept{{"a", "aaaa", 0}, {"b", "aaaa", 0}, {"c", "cccc", 0}}, "c b a", 2},
		{"a shared content stays with the younger change", history.Limits{Bytes: 8}, 100, []kept{{"a", "aaaa", 0}, {"b", "b", 0}, {"c", "aaaa", 0}, {"d", "dddd", 0}}, "d c", 2},
		{"what is as old as the limit stays", history.Limits{Age: day}, 100, []kept{{"a", "a", 0}, {"b", "b", day}}, "b a", 2},
		{"what is older goes", history.Limits{Age: day}, 100, []kept{{"a", "a", 0}, {"b", "b", day + 1}}, "b", 1},
		{"a clock set back makes nothing old", history.Limits{Age: day}, 100, []kept{{"a", "a", 0}, {"b", "b", -40 * day}}, "b a", 2},
		{"nor a change from the future immortal by its size", history.Limits{Bytes: 1}, 100, []kept{{"a", "a", 0}, {"b", "b", -40 * day}}, "b", 1},
		{"the number of changes is bounded, empty ones too", history.Limits{}, 2, []kept{{"a", "", 0}, {"b", "", 0}, {"c", "", 0}}, "c b", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(c.limits)
			s.Bound(c.most, 100)
			for _, k := range c.kept {
				w.now = w.now.Add(k.after)
				w.keep(s, k.path, k.content)
			}
			if got := w.paths(s, history.Filter{}); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
			if got := w.files("objects"); len(got) != c.objects {
				t.Errorf("%v", got)
			}
			s.Close()
			if got := w.paths(w.open(c.limits), history.Filter{}); got != c.want {
				t.Errorf("%q instead of %q after reopening", got, c.want)
			}
		})
	}
}

func TestLimitsHoldAtOpenToo(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	old := w.keep(s, "a", "aaaa")
	w.now = w.now.Add(time.Hour)
	w.keep(s, "b", "bbbb")
	w.keep(s, "c", "cccc")
	if got := w.paths(w.open(history.Limits{Age: time.Minute}), history.Filter{}); got != "c b" {
		t.Errorf("by age: %q", got)
	}
	if got := w.paths(w.open(history.Limits{Bytes: 4}), history.Filter{}); got != "c" || len(w.files("objects")) != 1 {
		t.Errorf("by bytes: %q", got)
	}
	if got := w.paths(s, history.Filter{}); got != "c" {
		t.Errorf("the store that was open before lists %q", got)
	}
	_, _, err := s.Content(old.ID)
	refused(t, err, fault.NotFound)
}

func TestOneContentLargerThanTheStoreIsRefusedAndNothingGoesForIt(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{Bytes: 8})
	w.keep(s, "a", "aaaa")
	_, err := s.Keep(t.Context(), edit("b"), strings.NewReader("123456789"))
	refused(t, err, fault.LimitReached)
	if got := w.paths(s, history.Filter{}); got != "a" || len(w.files("drafts")) != 0 {
		t.Errorf("%q %v", got, w.files("drafts"))
	}
}

func TestAFilterChooses(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	start := w.now
	for _, path := range []string{"a", "b", "a", "c"} {
		w.keep(s, path, path)
		w.now = w.now.Add(time.Minute)
	}
	for _, c := range []struct {
		name   string
		filter history.Filter
		want   string
	}{
		{"nothing asked is all", history.Filter{}, "c a b a"},
		{"a path is exact", history.Filter{Path: "a"}, "a a"},
		{"since takes its own moment in", history.Filter{Since: start.Add(2 * time.Minute)}, "c a"},
		{"a limit takes the newest", history.Filter{Limit: 2}, "c a"},
		{"a limit counts what is wanted", history.Filter{Limit: 1, Path: "b"}, "b"},
		{"nothing fits", history.Filter{Path: "A"}, ""},
	} {
		if got := w.paths(s, c.filter); got != c.want {
			t.Errorf("%s: %q instead of %q", c.name, got, c.want)
		}
	}
}

func TestAClockThatGoesBackDoesNotChangeTheOrder(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	for _, path := range []string{"first", "second", "third"} {
		w.keep(s, path, path)
		w.now = w.now.Add(-time.Hour)
	}
	s.Close()
	if got := w.paths(w.open(history.Limits{}), history.Filter{}); got != "third second first" {
		t.Error(got)
	}
}

// What is told with a change is what the clock said: a clock that is set back makes
// later changes look older, and older ones as young as they said they are.
func TestAClockThatGoesBackKeepsWhatWasToldSane(t *testing.T) {
	w := newFixture(t)
	limits := history.Limits{Age: 24 * time.Hour}
	s := w.open(limits)
	noon := w.now
	w.keep(s, "at noon", "1")
	w.now = noon.Add(-2 * time.Hour)
	w.keep(s, "at ten, after noon", "2")
	w.now = noon.Add(-40 * 24 * time.Hour)
	last := w.keep(s, "weeks before", "3")
	s.Close()
	s = w.open(limits)
	for _, c := range []struct {
		name  string
		since time.Time
		want  string
	}{
		{"all", time.Time{}, "weeks before at ten, after noon at noon"},
		{"since ten", noon.Add(-2 * time.Hour), "at ten, after noon at noon"},
		{"since noon", noon, "at noon"},
		{"since a moment that the clock has not seen", noon.Add(1), ""},
	} {
		if got := w.paths(s, history.Filter{Since: c.since}); got != c.want {
			t.Errorf("%s: %q instead of %q", c.name, got, c.want)
		}
	}
	if w.content(s, last) != "3" {
		t.Error("the last change has no content")
	}
	w.now = noon.Add(23 * time.Hour)
	w.keep(s, "a day later", "4")
	if got := w.paths(s, history.Filter{}); got != "a day later at noon" {
		t.Errorf("the clock is right again, and what it told as old stays: %q", got)
	}
}

func TestAnIDIsNeverAPath(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	w.keep(s, "a", "a")
	for _, c := range []struct {
		id   string
		code fault.Code
	}{
		{"", fault.ParamMalformed},
		{"../index.jsonl", fault.ParamMalformed},
		{"/etc/passwd", fault.ParamMalformed},
		{"abcdefghijklmnopqrstuvwxy/", fault.ParamMalformed},
		{"abcdefghijklmnopqrstuvwxy\x00", fault.ParamMalformed},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", fault.ParamMalformed},
		{"abcdefghijklmnopqrstuvwxyz", fault.NotFound},
	} {
		_, _, err := s.Content(c.id)
		refused(t, err, c.code)
		_, err = s.Get(c.id)
		refused(t, err, c.code)
		refused(t, s.Forget(t.Context(), c.id), c.code)
	}
}

func TestADamagedContentIsTold(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(w *fixture, object string)
	}{
		{"changed", func(w *fixture, o string) { w.write(o, "hellO") }},
		{"cut", func(w *fixture, o string) { w.write(o, "hell") }},
		{"emptied", func(w *fixture, o string) { w.write(o, "") }},
		{"longer", func(w *fixture, o string) { w.write(o, "hello!") }},
		{"removed", func(w *fixture, o string) {
			if err := os.Remove(filepath.Join(w.dir, o)); err != nil {
				w.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(history.Limits{})
			kept, other := w.keep(s, "a", "hello"), w.keep(s, "b", "other")
			c.harm(w, object(kept))
			_, err := content(s, kept.ID)
			refused(t, err, fault.Unavailable)
			if err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("not told: %v", err)
			}
			if got := w.content(s, other); got != "other" {
				t.Errorf("another change: %q", got)
			}
		})
	}
}

func TestADamagedLineHidesNoOtherAndItsContentStaysForAWhile(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(line string) string
	}{
		{"a letter of the path", func(l string) string { return strings.Replace(l, `"path":"b"`, `"path":"x"`, 1) }},
		{"half of it", func(l string) string { return l[:len(l)/2] + "\n" }},
		{"all of it", func(l string) string { return strings.Repeat("\x00", len(l)-1) + "\n" }},
		{"a line with a path where an id and a hash belong", func(l string) string {
			return `{"sum":"cc60d058c4a294ba","entry":{"kept":{"id":"../../x","time":"2026-07-28T12:00:00Z","path":"x","op":"edit","tool":"","request_id":"","sha256":"../../../etc/passwd","bytes":1,"mode":0,"existed":true}}}` + "\n"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(history.Limits{})
			a, b, last := w.keep(s, "a", "aaa"), w.keep(s, "b", "bbb"), w.keep(s, "c", "ccc")
			s.Close()
			lines := strings.SplitAfter(w.read("index.jsonl"), "\n")
			lines[2] = c.harm(lines[2])
			w.write("index.jsonl", strings.Join(lines, ""))
			s = w.open(history.Limits{})
			if got := w.paths(s, history.Filter{}); got != "c a" || w.content(s, a)+w.content(s, last) != "aaaccc" {
				t.Errorf("%q", got)
			}
			w.keep(s, "d", "ddd")
			if got := w.paths(w.open(history.Limits{}), history.Filter{}); got != "d c a" || w.read(object(b)) != "bbb" {
				t.Errorf("%q", got)
			}
			old := w.now.Add(-31 * 24 * time.Hour)
			if err := os.Chtimes(filepath.Join(w.dir, object(b)), old, old); err != nil {
				t.Fatal(err)
			}
			w.open(history.Limits{})
			if got := w.files("objects"); len(got) != 3 {
				t.Errorf("after its time: %v", got)
			}
		})
	}
}

// Every state a crash can leave, made by hand, because a kill seldom hits it.
func TestWhatACrashLeavesIsRemovedByTheNextOpen(t *testing.T) {
	orphan := strings.Repeat("ab", 32)
	for _, c := range []struct {
		name  string
		crash func(w *fixture)
		want  string
	}{
		{"a draft", func(w *fixture) { w.write("drafts/abcdefghijklmnopqrstuvwxyz", "half") }, "b a"},
		{"a content without a line", func(w *fixture) {
			if err := os.MkdirAll(filepath.Join(w.dir, "objects/ab"), 0o700); err != nil {
				w.Fatal(err)
			}
			w.write("objects/ab/"+orphan[2:], "x")
		}, "b a"},
		{"a line without its end", func(w *fixture) { w.write("index.jsonl", w.read("index.jsonl")+`{"sum":"00`) }, "b a"},
		{"a line without its newline", func(w *fixture) { w.write("index.jsonl", strings.TrimSuffix(w.read("index.jsonl"), "\n")) }, "a"},
		{"an index without a single whole line", func(w *fixture) { w.write("index.jsonl", `{"sum":`) }, ""},
		{"an index that is lost", func(w *fixture) {
			if err := os.Remove(filepath.Join(w.dir, "index.jsonl")); err != nil {
				w.Fatal(err)
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(history.Limits{})
			w.keep(s, "a", "a")
			w.keep(s, "b", "b")
			s.Close()
			c.crash(w)
			s = w.open(history.Limits{})
			if got := w.paths(s, history.Filter{}); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
			if index := w.read("index.jsonl"); !strings.HasSuffix(index, "}\n") {
				t.Errorf("the index ends in %q", index[max(0, len(index)-20):])
			}
			if got := len(w.files("objects")); got != len(strings.Fields(c.want)) || len(w.files("drafts")) != 0 {
				t.Errorf("%d contents, drafts %v", got, w.files("drafts"))
			}
			w.keep(s, "next", "n")
			s.Close()
			if got := w.paths(w.open(history.Limits{}), history.Filter{}); got != strings.TrimSpace("next "+c.want) {
				t.Errorf("then %q", got)
			}
		})
	}
}

func TestWhatIsNotOursStays(t *testing.T) {
	w := newFixture(t)
	w.open(history.Limits{}).Close()
	w.write("drafts/note.txt", "mine")
	w.write("objects/note.txt", "mine")
	w.open(history.Limits{})
	if w.read("drafts/note.txt")+w.read("objects/note.txt") != "minemine" {
		t.Error("it was changed")
	}
}

func TestALinkOutOfTheStoreIsNotFollowed(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	c := w.keep(s, "a", "hello")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.dir, object(c))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.dir, object(c))); err != nil {
		t.Skip(err)
	}
	if got, err := content(s, c.ID); err == nil {
		t.Errorf("%q was read through a link", got)
	}
}

func TestErrorsAreReturnedAndNothingIsListed(t *testing.T) {
	broken := errors.New("the cable is out")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		change  history.Change
		content io.Reader
		code    fault.Code
	}{
		{"a content that cannot be read", t.Context(), edit("a"), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), fault.Internal},
		{"a content that vanished", t.Context(), edit("a"), iotest.ErrReader(os.ErrNotExist), fault.NotFound},
		{"a call that was cancelled", cancelled, edit("a"), strings.NewReader("x"), fault.TimedOut},
		{"no content", t.Context(), edit("a"), nil, fault.ParamMissing},
		{"no path", t.Context(), edit(""), strings.NewReader("x"), fault.ParamMissing},
		{"an unknown kind of change", t.Context(), history.Change{Path: "a", Op: "rename"}, nil, fault.ParamInvalid},
		{"a move to nowhere", t.Context(), history.Change{Path: "a", Op: "move", Existed: true}, nil, fault.ParamInvalid},
		{"a move of nothing", t.Context(), history.Change{Path: "a", Op: "move", To: "b"}, nil, fault.ParamInvalid},
		{"a move with a content", t.Context(), history.Change{Path: "a", Op: "move", To: "b", Existed: true}, strings.NewReader("x"), fault.ParamInvalid},
		{"an edit that goes somewhere", t.Context(), history.Change{Path: "a", Op: "edit", To: "b", Existed: true}, strings.NewReader("x"), fault.ParamInvalid},
		{"a directory that was not there", t.Context(), history.Change{Path: "a", Op: "delete", Tree: true}, nil, fault.ParamInvalid},
		{"a move to a path without measure", t.Context(), history.Change{Path: "a", Op: "move", To: strings.Repeat("a", 1<<20), Existed: true}, nil, fault.ParamInvalid},
		{"a path without measure", t.Context(), edit(strings.Repeat("a", 1<<20)), strings.NewReader("x"), fault.ParamInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(history.Limits{})
			_, err := s.Keep(c.ctx, c.change, c.content)
			refused(t, err, c.code)
			if got := w.paths(s, history.Filter{}); got != "" || len(w.files("drafts"))+len(w.files("objects")) != 0 {
				t.Errorf("%q %v %v", got, w.files("drafts"), w.files("objects"))
			}
		})
	}
}

func TestAStoreThatCannotBeUsedSaysSo(t *testing.T) {
	for _, c := range []struct {
		name, blocked string
	}{
		{"a file where the contents are", "objects"},
		{"a directory where the index is", "index.jsonl"},
		{"a file where the drafts are", "drafts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s := w.open(history.Limits{})
			block(w, c.blocked)
			_, err := s.Keep(t.Context(), edit("a"), strings.NewReader("x"))
			refused(t, err, fault.Unavailable)
			if _, err := history.Open(w.dir, history.Limits{}, time.Now); err == nil {
				t.Error("it was opened")
			}
		})
	}
	_, err := history.Open(t.TempDir(), history.Limits{Bytes: -1}, time.Now)
	refused(t, err, fault.Misconfigured)
}

// block puts something of another kind in the place of a part of the store.
func block(w *fixture, part string) {
	place := filepath.Join(w.dir, part)
	info, err := os.Stat(place)
	if err != nil {
		w.Fatal(err)
	}
	if err := os.RemoveAll(place); err != nil {
		w.Fatal(err)
	}
	if info.IsDir() {
		w.write(part, "in the way")
	} else if err := os.Mkdir(place, 0o700); err != nil {
		w.Fatal(err)
	}
}

func TestARewrittenIndexSaysTheSameToEveryStore(t *testing.T) {
	w := newFixture(t)
	a, b := w.open(history.Limits{Bytes: 3}), w.open(history.Limits{Bytes: 3})
	a.Bound(100, 4)
	b.Bound(100, 4)
	for _, path := range strings.Split("abcdefghijklmnopqrst", "") {
		w.keep(a, path, path)
		if ours, theirs := w.paths(a, history.Filter{}), w.paths(b, history.Filter{}); ours != theirs || !strings.HasPrefix(ours, path) {
			t.Fatalf("%q, the other lists %q", ours, theirs)
		}
		a, b = b, a
	}
	if got := strings.Count(w.read("index.jsonl"), "\n"); got > 14 {
		t.Errorf("the index has %d lines for 3 changes", got)
	}
	if got := w.paths(w.open(history.Limits{}), history.Filter{}); got != "t s r" {
		t.Error(got)
	}
}

func TestADamagedLineSurvivesARewriteOfTheIndex(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{Bytes: 3})
	s.Bound(100, 4)
	lost := w.keep(s, "lost", "zz")
	hurt := strings.Replace(w.read("index.jsonl"), `"path":"lost"`, `"path":"lust"`, 1)
	s.Close()
	w.write("index.jsonl", hurt)
	s = w.open(history.Limits{Bytes: 3})
	s.Bound(100, 4)
	for _, path := range strings.Split("abcdefghijklmnopqrst", "") {
		w.keep(s, path, path)
	}
	index := w.read("index.jsonl")
	if got := strings.Count(index, "\n"); got > 15 {
		t.Fatalf("the index was not rewritten: %d lines", got)
	}
	if !strings.Contains(index, `"path":"lust"`) {
		t.Error("the damaged line is gone")
	}
	s.Close()
	w.open(history.Limits{Bytes: 3})
	if w.read(object(lost)) != "zz" {
		t.Error("its content is gone")
	}
}
