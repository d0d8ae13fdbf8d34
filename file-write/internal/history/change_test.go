package history_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestAMoveKeepsWhereItWentAndNoContent(t *testing.T) {
	for _, to := range []string{"/w/b.txt", "/w/\xff\xfe", "/w/a\n\"b\"", "../../index.jsonl"} {
		w := newFixture(t)
		s := w.open(history.Limits{})
		want := history.Change{Path: "/w/a.txt", To: to, Op: "move", Tool: "move_file", Mode: 0o640, Existed: true}
		kept, err := s.Keep(t.Context(), want, nil)
		if err != nil {
			t.Fatal(err)
		}
		want.ID, want.Time = kept.ID, w.now
		s.Close()
		s = w.open(history.Limits{})
		got, err := s.Get(kept.ID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		if got := w.paths(s, history.Filter{}); got != "/w/a.txt" {
			t.Errorf("%q is listed", got)
		}
		_, _, err = s.Content(kept.ID)
		refused(t, err, fault.ParamInvalid)
		if got := w.files("objects"); len(got) != 0 {
			t.Errorf("stored: %v", got)
		}
	}
}

func TestWhatIsForgottenIsGoneWithItsContent(t *testing.T) {
	for _, c := range []struct {
		name    string
		kept    []string // contents
		forget  []int
		want    string // the paths that stay, newest first
		objects int
	}{
		{"the only one", []string{"x"}, []int{0}, "", 0},
		{"the last", []string{"x", "y"}, []int{1}, "0", 1},
		{"one in between", []string{"x", "y", "z"}, []int{1}, "2 0", 2},
		{"a content that another change has too", []string{"x", "x"}, []int{0}, "1", 1},
		{"both of them", []string{"x", "x", "y"}, []int{0, 1}, "2", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			s, other := w.open(history.Limits{}), w.open(history.Limits{})
			var kept []history.Change
			for i, content := range c.kept {
				kept = append(kept, w.keep(s, string(rune('0'+i)), content))
			}
			for _, i := range c.forget {
				if err := s.Forget(t.Context(), kept[i].ID); err != nil {
					t.Fatal(err)
				}
				_, err := other.Get(kept[i].ID)
				refused(t, err, fault.NotFound)
				refused(t, s.Forget(t.Context(), kept[i].ID), fault.NotFound)
			}
			for _, s := range []*history.Store{s, other, w.open(history.Limits{})} {
				if got := w.paths(s, history.Filter{}); got != c.want || len(w.files("objects")) != c.objects {
					t.Errorf("%q instead of %q, and %v", got, c.want, w.files("objects"))
				}
			}
			w.keep(s, "next", c.kept[0])
			if got := w.paths(w.open(history.Limits{}), history.Filter{}); got != strings.TrimSpace("next "+c.want) {
				t.Errorf("then %q", got)
			}
		})
	}
}

func TestForgettingThatIsCancelledForgetsNothing(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	c := w.keep(s, "a", "x")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, s.Forget(cancelled, c.ID), fault.TimedOut)
	if w.content(s, c) != "x" {
		t.Error("the content is gone")
	}
}

func TestADirectoryIsWhatLiesBeneathItByWholeNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names of this test are of POSIX")
	}
	w := newFixture(t)
	s := w.open(history.Limits{})
	for _, path := range []string{"/w/a", "/w/a/b", "/w/ab", "/w", "/v/a", "relative"} {
		w.keep(s, path, path)
	}
	if _, err := s.Keep(t.Context(), history.Change{Path: "/v/x", To: "/w/x", Op: "move", Existed: true}, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		filter history.Filter
		want   string
	}{
		{"no directories asked is all", history.Filter{}, "/v/x relative /v/a /w /w/ab /w/a/b /w/a"},
		{"none of them is nothing", history.Filter{Beneath: []string{}}, ""},
		{"a directory and what is in it", history.Filter{Beneath: []string{"/w"}}, "/w /w/ab /w/a/b /w/a"},
		{"a name that only begins alike is another", history.Filter{Beneath: []string{"/w/a"}}, "/w/a/b /w/a"},
		{"several", history.Filter{Beneath: []string{"/w/a", "/v"}}, "/v/x /v/a /w/a/b /w/a"},
		{"the whole disk", history.Filter{Beneath: []string{"/"}}, "/v/x /v/a /w /w/ab /w/a/b /w/a"},
		{"together with a path", history.Filter{Beneath: []string{"/w"}, Path: "/v/a"}, ""},
		{"a limit counts what is wanted", history.Filter{Beneath: []string{"/w"}, Limit: 2}, "/w /w/ab"},
	} {
		if got := w.paths(s, c.filter); got != c.want {
			t.Errorf("%s: %q instead of %q", c.name, got, c.want)
		}
	}
	for _, dir := range []string{"", "w", "/w/", "/w/../v", "./w"} {
		_, err := s.List(history.Filter{Beneath: []string{dir}})
		refused(t, err, fault.ParamInvalid)
	}
}

// A store as it was written before a change could be a move or a directory.
func TestAnIndexWithoutTheNewerFieldsIsRead(t *testing.T) {
	w := newFixture(t)
	w.open(history.Limits{}).Close()
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if err := os.Mkdir(filepath.Join(w.dir, "objects", sum[:2]), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("objects/"+sum[:2]+"/"+sum[2:], "hello")
	w.write("index.jsonl", `{"sum":"35003e26b4db7027","entry":{"generation":"abcdefghijklmnopqrstuvwxyz"}}`+"\n"+
		`{"sum":"03b35ba977ed8fda","entry":{"kept":{"id":"abcdefghijklmnopqrstuvwxyz","time":"2026-07-28T12:00:00Z","path":"/w/a","op":"move","tool":"t","request_id":"7","sha256":"`+sum+`","bytes":5,"mode":416,"existed":true}}}`+"\n")
	s := w.open(history.Limits{})
	if got := w.paths(s, history.Filter{}); got != "/w/a" {
		t.Fatalf("%q", got)
	}
	if got, err := content(s, "abcdefghijklmnopqrstuvwxyz"); err != nil || got != "hello" {
		t.Errorf("%q %v", got, err)
	}
}

// Who died between the name of a content and its line left something that nothing has
// made durable; the same content kept next is written again.
func TestAContentWithoutALineIsNotTrusted(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	first := w.keep(s, "a", "same")
	left := filepath.Join(w.dir, object(first))
	if err := s.Forget(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	w.write(object(first), "same")
	before, err := os.Stat(left)
	if err != nil {
		t.Fatal(err)
	}
	second := w.keep(s, "b", "same")
	after, err := os.Stat(left)
	if err != nil || os.SameFile(before, after) {
		t.Errorf("what was left is used: %v", err)
	}
	w.keep(s, "c", "same")
	if again, err := os.Stat(left); err != nil || !os.SameFile(after, again) || w.content(s, second) != "same" {
		t.Errorf("what a line tells of is not used: %v", err)
	}
}
