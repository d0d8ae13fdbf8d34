package output_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

func TestWhatIsWrittenCanBeReadApartAndInItsOrder(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "make")
	for _, part := range []struct {
		to   output.Type
		text string
	}{{output.Stdout, "a\n"}, {output.Stderr, "warning\n"}, {output.Stdout, "b"}, {output.Stdout, "c\n"}, {output.Stderr, "error\n"}} {
		w.write(r, part.to, part.text)
	}
	look := func(s *output.Store) {
		t.Helper()
		for id, want := range map[string]string{r.ID(): "a\nwarning\nbc\nerror\n", r.OutputID(output.Stdout): "a\nbc\n", r.OutputID(output.Stderr): "warning\nerror\n"} {
			for _, size := range []int{1, 2, 5, 0} {
				if got := w.all(s, id, size, output.Base64); got != want {
					t.Errorf("%s by %d is %q, not %q", id, size, got, want)
				}
			}
		}
	}
	look(s)
	look(w.open(output.Limits{}))
	if got := w.info(s, r.ID()).State; got != output.Running {
		t.Errorf("before the end it is %s", got)
	}
	w.end(r)
	look(s)
	s.Close()
	s = w.open(output.Limits{})
	look(s)
	if got := w.info(s, r.ID()); got.State != output.Ended || got.Bytes != 19 || !got.Ended.Equal(w.now) || got.ExecutionID != "exec-make" {
		t.Errorf("after the end it is %+v", got)
	}
}

func TestAFirstWordOnStderrStaysFirst(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	w.write(r, output.Stderr, "first\n")
	first := w.read(s, r.ID())
	w.write(r, output.Stdout, "second\n")
	if got := w.read(s, r.ID()); first != "first\n" || got != "first\nsecond\n" {
		t.Errorf("%q, then %q", first, got)
	}
}

func TestACharacterIsNotCutByTheOtherStream(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	w.write(r, output.Stdout, "a日"[:2])
	w.write(r, output.Stderr, "E"+"本"[:1])
	before := w.read(s, r.ID())
	w.write(r, output.Stdout, "日"[1:])
	w.write(r, output.Stderr, "本"[1:])
	w.end(r)
	if got := w.read(s, r.ID()); before != "aE" || got != "aE日本" {
		t.Errorf("%q, then %q", before, got)
	}
}

func TestWhatWasReadOfARunningCommandStaysWhereItIs(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	var stop atomic.Bool
	var said [2]strings.Builder
	var writers sync.WaitGroup
	for i, to := range []output.Type{output.Stdout, output.Stderr} {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			text := []byte(strings.Repeat("日本語 and more\n", 10))
			for !stop.Load() {
				n := 1 + random.IntN(40)
				r.Writer(to).Write(text[:n])
				said[i].Write(text[:n])
				text = append(text[n:], text[:n]...)
				time.Sleep(100 * time.Microsecond) // the reader reads all of it over and over
			}
			r.Writer(to).Write(text)
			said[i].Write(text)
		})
	}
	var seen string
	grew := 0
	for grew < 20 {
		now := w.all(s, r.ID(), output.MaxPage, output.Base64)
		if !strings.HasPrefix(now, seen) {
			t.Fatalf("%d bytes that were read are no beginning of %d", len(seen), len(now))
		}
		if len(now) > len(seen) {
			grew++
		}
		seen = now
	}
	stop.Store(true)
	writers.Wait()
	w.end(r)
	all := w.all(s, r.ID(), output.MaxPage, output.Base64)
	if !strings.HasPrefix(all, seen) || len(all) != said[0].Len()+said[1].Len() {
		t.Errorf("%d bytes that were read are no beginning of %d, or not all were kept", len(seen), len(all))
	}
	for i, to := range []output.Type{output.Stdout, output.Stderr} {
		if w.all(s, r.OutputID(to), output.MaxPage, output.Base64) != said[i].String() {
			t.Errorf("%s is not what was written", to)
		}
	}
}

func TestPagesBeginAndEndBetweenCharacters(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	text := "aé日👩\xff\xe3\x81x\n" + strings.Repeat("語", 10)
	r := w.ran(s, "x", text)
	id := r.OutputID(output.Stdout)
	for size := 4; size < 20; size++ {
		if got := w.all(s, id, size, output.UTF8); got != text {
			t.Errorf("by %d: %q", size, got)
		}
		var steps []byte
		for at := 0; at < len(text); at += size {
			p, err := s.Read(id, output.Window{Offset: int64(at), Size: size})
			if err != nil || !utf8.ValidString(p.Content()) {
				t.Fatalf("%q %v", p.Content(), err)
			}
			steps = append(steps, p.Raw...)
		}
		if string(steps) != text {
			t.Errorf("by steps of %d: %q", size, steps)
		}
	}
	for size := 1; size < 4; size++ {
		if got := w.all(s, id, size, output.UTF8); got != text {
			t.Errorf("by %d: %q", size, got)
		}
	}
	p, err := s.Read(id, output.Window{Encoding: "UTF-8"})
	if want := string([]rune(text)); err != nil || p.Content() != want || p.Total != int64(len(text)) {
		t.Errorf("%q, not %q, of %d: %v", p.Content(), want, p.Total, err)
	}
	p, err = s.Read(id, output.Window{Encoding: output.Base64})
	if b, _ := base64.StdEncoding.DecodeString(p.Content()); err != nil || string(b) != text {
		t.Errorf("%q: %v", b, err)
	}
}

func TestACharacterThatIsBeingWrittenIsNoPartYet(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	w.write(r, output.Stdout, "ab\xe3")
	p, err := s.Read(r.OutputID(output.Stdout), output.Window{})
	if err != nil || p.Content() != "ab" || p.Next != 2 || p.More() || p.State != output.Running {
		t.Errorf("%+v %v", p, err)
	}
	w.end(r)
	if p, err = s.Read(r.OutputID(output.Stdout), output.Window{Offset: 2}); err != nil || p.Content() != "\uFFFD" {
		t.Errorf("%+v %v", p, err)
	}
}

func TestEveryByteBeyondACapIsCounted(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{Stream: 1000})
	r := w.begin(s, "x")
	w.write(r, output.Stdout, strings.Repeat("a", 998))
	if r.Err() != nil || r.Dropped(output.Stdout) != 0 {
		t.Error("something was dropped too early")
	}
	w.write(r, output.Stdout, "bcdef")
	w.write(r, output.Stdout, "ghi")
	w.write(r, output.Stderr, "still")
	refused(t, r.Err(), fault.LimitReached)
	w.end(r)
	w.write(r, output.Stdout, "late")
	if got := w.info(s, r.OutputID(output.Stdout)); got.Bytes != 1000 || got.Dropped != 6 {
		t.Errorf("%d bytes and %d dropped", got.Bytes, got.Dropped)
	}
	if got := w.info(s, r.ID()); got.Bytes != 1005 || got.Dropped != 6 {
		t.Errorf("%d bytes and %d dropped", got.Bytes, got.Dropped)
	}
	if got := w.read(s, r.ID()); got != strings.Repeat("a", 998)+"bcstill" {
		t.Errorf("%q", got)
	}
}

func TestTheOldestThatEndedGoFirst(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{Total: 40_000})
	running := w.begin(s, "running")
	w.write(running, output.Stdout, strings.Repeat("r", 5000))
	w.age(running)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		w.ran(s, name, strings.Repeat(name, 6000))
	}
	s.Close()
	s = w.open(output.Limits{Total: 40_000})
	if got := w.names(s, output.Filter{}); got != "g.stdout f.stdout e.stdout d.stdout c.stdout running.stdout" {
		t.Errorf("what stayed is %s", got)
	}
	if got := w.read(s, running.ID()); got != strings.Repeat("r", 5000) {
		t.Error("the run that goes on is damaged")
	}
}

func TestTheNumberOfRunsIsBounded(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{Runs: 16})
	for range 100 {
		w.ran(s, "x", "x")
	}
	if _, count, err := s.List(output.Filter{}); err != nil || count < 16 || count > 18 {
		t.Errorf("%d: %v", count, err)
	}
}

func TestRunningCommandsCannotFillTheDisk(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{Total: 1 << 20})
	old := w.ran(s, "old", strings.Repeat("o", 100_000))
	r := w.begin(s, "x")
	for range 300 {
		w.write(r, output.Stdout, strings.Repeat("x", 10_000))
	}
	refused(t, r.Err(), fault.LimitReached)
	stored := w.info(s, r.OutputID(output.Stdout)).Bytes
	if stored < 1<<19 || stored > 1<<20+1<<17 || stored+r.Dropped(output.Stdout) != 3_000_000 {
		t.Errorf("%d bytes are stored and %d dropped", stored, r.Dropped(output.Stdout))
	}
	_, err := s.Read(old.ID(), output.Window{})
	refused(t, err, fault.NotFound)
	w.end(r)
	next := w.ran(s, "next", "there is room again")
	if got := w.read(s, next.ID()); got != "there is room again" {
		t.Errorf("%q", got)
	}
}

func TestListsAreFiltered(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	w.ran(s, "go test", "ok")
	w.now = w.now.Add(time.Second)
	both := w.begin(s, "make [all]")
	w.write(both, output.Stdout, "out")
	w.write(both, output.Stderr, "err")
	w.end(both)
	w.now = w.now.Add(time.Second)
	history := w.begin(s, "bash")
	w.write(history, output.Log, "log")
	w.end(history)
	w.now = w.now.Add(time.Second)
	w.end(w.begin(s, "true"))
	for _, c := range []struct {
		f    output.Filter
		want string
	}{
		{output.Filter{}, "true.combined bash.log make [all].combined make [all].stdout make [all].stderr go test.stdout"},
		{output.Filter{Type: output.All, Limit: 2}, "true.combined bash.log"},
		{output.Filter{Type: output.Stderr}, "make [all].stderr"},
		{output.Filter{Type: output.Log}, "bash.log"},
		{output.Filter{ExecutionID: "exec-go test"}, "go test.stdout"},
		{output.Filter{ExecutionID: "exec-go"}, ""},
		{output.Filter{Name: "test"}, "go test.stdout"},
		{output.Filter{Name: "*.std*"}, "make [all].stdout make [all].stderr go test.stdout"},
		{output.Filter{Name: "std*"}, ""},
	} {
		if got := w.names(s, c.f); got != c.want {
			t.Errorf("%+v lists %q, not %q", c.f, got, c.want)
		}
	}
	if _, total, err := s.List(output.Filter{Limit: 1}); total != 6 || err != nil {
		t.Errorf("%d in total: %v", total, err)
	}
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.ran(s, "x", "text")
	read := func(id string, win output.Window) error { _, err := s.Read(id, win); return err }
	list := func(f output.Filter) error { _, _, err := s.List(f); return err }
	remove := func(ids []string, confirmed bool) error {
		_, err := s.Delete(context.Background(), ids, confirmed)
		return err
	}
	capture := func(n int) error { _, err := output.NewCapture(n); return err }
	opened := func(l output.Limits) error { _, err := output.Open(w.dir, "p", l, time.Now); return err }
	other := strings.Repeat("a", 26)
	for _, c := range []struct {
		what string
		err  error
		code fault.Code
	}{
		{"an id nobody has", read(other, output.Window{}), fault.NotFound},
		{"a path", read("../../etc/passwd", output.Window{}), fault.NotFound},
		{"a file of the store", read(r.ID()+".about", output.Window{}), fault.NotFound},
		{"the lock", read("lock", output.Window{}), fault.NotFound},
		{"an id with an empty part", read(r.ID()+".", output.Window{}), fault.NotFound},
		{"no id", read("", output.Window{}), fault.NotFound},
		{"an offset below zero", read(r.ID(), output.Window{Offset: -1}), fault.ParamInvalid},
		{"an offset beyond the end", read(r.ID(), output.Window{Offset: 5}), fault.ParamInvalid},
		{"a size below zero", read(r.ID(), output.Window{Size: -1}), fault.ParamInvalid},
		{"a size that is too large", read(r.ID(), output.Window{Size: output.MaxPage + 1}), fault.ParamInvalid},
		{"an encoding nobody knows", read(r.ID(), output.Window{Encoding: "rot13"}), fault.ParamInvalid},
		{"a type nobody knows", list(output.Filter{Type: "stdin"}), fault.ParamInvalid},
		{"a limit below zero", list(output.Filter{Limit: -1}), fault.ParamInvalid},
		{"a limit that is too large", list(output.Filter{Limit: output.MaxLimit + 1}), fault.ParamInvalid},
		{"a pattern that is none", list(output.Filter{Name: "["}), fault.ParamInvalid},
		{"nothing to delete", remove(nil, true), fault.ParamMissing},
		{"too much to delete", remove(make([]string, 1001), true), fault.ParamInvalid},
		{"deleting without confirmation", remove([]string{r.ID()}, false), fault.Forbidden},
		{"a capture that is too small", capture(1023), fault.ParamInvalid},
		{"a capture that is too large", capture(100<<20 + 1), fault.ParamInvalid},
		{"limits below zero", opened(output.Limits{Total: -1}), fault.Misconfigured},
	} {
		t.Run(c.what, func(t *testing.T) { refused(t, c.err, c.code) })
	}
	if w.read(s, r.ID()) != "text" {
		t.Error("something was deleted")
	}
}

func TestDeletingTellsWhatWentAndWhatDidNot(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	whole, half, running := w.ran(s, "whole", "text"), w.begin(s, "half"), w.begin(s, "running")
	w.write(half, output.Stdout, "out1 ")
	w.write(half, output.Stderr, "err1 ")
	w.write(half, output.Stdout, "out2")
	w.write(half, output.Stderr, "err2")
	w.end(half)
	other := strings.Repeat("b", 26)
	d, err := s.Delete(context.Background(), []string{whole.ID(), whole.ID(), half.OutputID(output.Stdout), running.ID(), other}, true)
	if err != nil || len(d.Deleted) != 2 || d.Deleted[0] != whole.ID() || d.Deleted[1] != half.OutputID(output.Stdout) {
		t.Errorf("%+v %v", d, err)
	}
	if len(d.Failed) != 2 || d.Failed[0].ID != running.ID() || d.Failed[0].Err.Code != fault.ParamInvalid || d.Failed[1].Err.Code != fault.NotFound {
		t.Errorf("%+v", d.Failed)
	}
	_, err = s.Read(half.OutputID(output.Stdout), output.Window{})
	refused(t, err, fault.NotFound)
	if got := w.read(s, half.ID()); got != "err1 err2" {
		t.Errorf("what stayed is %q", got)
	}
	if _, err := s.Delete(context.Background(), []string{half.OutputID(output.Stderr)}, true); err != nil {
		t.Error(err)
	}
	if got := w.names(s, output.Filter{}); got != "running.combined" {
		t.Errorf("what stayed is %s", got)
	}
	for _, name := range w.files() {
		if strings.HasPrefix(name, half.ID()) || strings.HasPrefix(name, whole.ID()) {
			t.Errorf("%s is left", name)
		}
	}
}

func TestNobodyElseMayLook(t *testing.T) {
	w := newFixture(t)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	w.write(r, output.Stdout, "a")
	w.write(r, output.Stderr, "b")
	w.write(r, output.Log, "c")
	if info, err := os.Stat(w.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has %v %v", info.Mode(), err)
	}
	names := w.files()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(w.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %v %v", name, info.Mode(), err)
		}
	}
	if len(names) != 6 {
		t.Errorf("the files are %v", names)
	}
}

func TestNotesAreFoundAfterARestart(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	for _, note := range []string{`{"pid":1}`, `{"pid":2}`} {
		if err := r.Note(json.RawMessage(note)); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, r.Note(json.RawMessage("{")), fault.ParamMalformed)
	refused(t, r.Note(json.RawMessage(`"`+strings.Repeat("x", 1<<16)+`"`)), fault.ParamInvalid)
	w.end(r)
	s.Close()
	if got := w.info(w.open(output.Limits{}), r.ID()); string(got.Note) != `{"pid":2}` {
		t.Errorf("%s", got.Note)
	}
}

func TestARunIsStoredWhenItMustBe(t *testing.T) {
	for what, c := range map[string]struct {
		act  func(w *fixture, r *output.Run) error
		more string
	}{
		"when it ends":          {func(w *fixture, r *output.Run) error { return r.End() }, ""},
		"when it is to be kept": {func(w *fixture, r *output.Run) error { return r.Keep(context.Background()) }, ""},
		"when it grows": {func(w *fixture, r *output.Run) error {
			w.write(r, output.Stderr, strings.Repeat("x", 64<<10))
			return nil
		}, strings.Repeat("x", 64<<10)},
	} {
		w := newFixture(t)
		s := w.open(output.Limits{})
		r := s.Later(output.About{ExecutionID: "7", Name: "echo"})
		w.write(r, output.Stderr, "a")
		w.write(r, output.Stdout, "b")
		w.write(r, output.Stderr, "c")
		if err := r.Note(json.RawMessage(`{"pid":1}`)); err != nil {
			t.Fatal(err)
		}
		if err := c.act(w, r); err != nil {
			t.Fatal(err)
		}
		if got := w.all(s, r.ID(), output.MaxPage, ""); got != "abc"+c.more {
			t.Errorf("%s: %.80q", what, got)
		}
		if got := w.info(s, r.ID()); got.ExecutionID != "7" || string(got.Note) != `{"pid":1}` {
			t.Errorf("%s: %+v", what, got)
		}
		r.End()
	}
}

func TestEndlessNotesEndAndTheEndIsStillTold(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "x")
	var err error
	notes := 0
	for ; err == nil && notes < 100; notes++ {
		err = r.Note(json.RawMessage(`"` + strings.Repeat("x", 60_000) + `"`))
	}
	refused(t, err, fault.LimitReached)
	w.end(r)
	if got := w.info(s, r.ID()); got.State != output.Ended || notes < 10 {
		t.Errorf("%s after %d notes", got.State, notes)
	}
}

func TestLeftoversAndDamageHideNothingElse(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	good, bad := w.ran(s, "good", "text"), w.ran(s, "bad", "text")
	s.Close()
	left := strings.Repeat("c", 26) + ".stdout"
	for name, text := range map[string]string{"p/" + bad.ID() + ".about": "\x00\x00\x00", "p/" + left: "left", "somebody's": "file"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = w.open(output.Limits{})
	if got := w.names(s, output.Filter{}); got != "good.stdout" || w.read(s, good.ID()) != "text" {
		t.Errorf("listed is %s", got)
	}
	files := strings.Join(w.files(), " ")
	if strings.Contains(files, left) || !strings.Contains(files, "somebody's") {
		t.Errorf("there are %s", files)
	}
	s.Close()
	w.open(output.Limits{Runs: 1})
	if files := strings.Join(w.files(), " "); strings.Contains(files, bad.ID()) && strings.Contains(files, good.ID()) {
		t.Errorf("there are %s", files)
	}
}

func TestOneGigabyteTakesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MiB")
	}
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.begin(s, "yes")
	c, err := output.NewCapture(output.DefaultCapture)
	if err != nil {
		t.Fatal(err)
	}
	var newest output.Newest
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 4096)
	most := peak(func() {
		for range 1 << 30 / len(chunk) {
			r.Writer(output.Stdout).Write(chunk)
			c.Write(chunk)
			newest.Write(chunk)
		}
	})
	w.end(r)
	p := c.Parts()
	if p.Total != 1<<30 || p.Omitted != 1<<30-1<<20 || len(newest.Lines(3)) != 3 {
		t.Errorf("of %d bytes %d were left out", p.Total, p.Omitted)
	}
	if got := w.info(s, r.OutputID(output.Stdout)); got.Bytes != 100<<20 || got.Dropped != 1<<30-100<<20 {
		t.Errorf("%d bytes are stored, %d dropped", got.Bytes, got.Dropped)
	}
	t.Logf("at most %d MB", most>>20)
	if most > 32<<20 {
		t.Errorf("%d MB were in use", most>>20)
	}
}

func TestAnotherProjectHasNothingToDoWithIt(t *testing.T) {
	w := newFixture(t)
	ours := w.open(output.Limits{})
	r := w.ran(ours, "secret", "hunter2")
	going := w.begin(ours, "going")
	w.write(going, output.Stdout, "hunter3")
	other := w.of("q", output.Limits{})
	if got := w.names(other, output.Filter{}); got != "" {
		t.Errorf("it lists %s", got)
	}
	if got := w.names(other, output.Filter{ExecutionID: "exec-secret"}); got != "" {
		t.Errorf("by its execution it lists %s", got)
	}
	for _, id := range []string{r.ID(), r.OutputID(output.Stdout), going.ID(), "p/" + r.ID(), "../p/" + r.ID(), "..", ".", "p"} {
		_, err := other.Read(id, output.Window{})
		refused(t, err, fault.NotFound)
		d, err := other.Delete(t.Context(), []string{id}, true)
		if err != nil || len(d.Failed) != 1 || !errors.Is(d.Failed[0].Err, fault.NotFound) {
			t.Errorf("%s is deleted: %+v, %v", id, d, err)
		}
	}
	again := w.open(output.Limits{}) // a second server of the same project
	if w.read(again, r.ID()) != "hunter2" || w.read(again, going.ID()) != "hunter3" {
		t.Error("its own project does not read it")
	}
	if d, err := again.Delete(t.Context(), []string{r.ID()}, true); err != nil || len(d.Deleted) != 1 {
		t.Errorf("its own project does not delete it: %+v, %v", d, err)
	}
}

func TestTheLimitsAreForAllProjectsTogether(t *testing.T) {
	w := newFixture(t)
	for i := range 6 {
		w.ran(w.of(fmt.Sprint("p", i), output.Limits{}), "x", strings.Repeat("x", 1000))
	}
	last := w.of("last", output.Limits{Total: 5000})
	r := w.ran(last, "mine", "text")
	var left []string
	for _, name := range w.files() {
		if strings.HasSuffix(name, ".stdout") {
			left = append(left, strings.Split(name, "/")[0])
		}
	}
	if slices.Sort(left); !slices.Equal(left, []string{"last", "p2", "p3", "p4", "p5"}) {
		t.Errorf("left are %v", left)
	}
	if w.read(last, r.ID()) != "text" {
		t.Error("the newest has gone")
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "p0")); !os.IsNotExist(err) {
		t.Errorf("an empty project keeps its directory: %v", err)
	}
}

func TestOutputsOfNoProjectGo(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	r := w.ran(s, "old", "text")
	for _, name := range w.files() {
		if strings.HasPrefix(name, "p/") {
			if err := os.Rename(filepath.Join(w.dir, name), filepath.Join(w.dir, filepath.Base(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Close()
	s = w.open(output.Limits{})
	_, err := s.Read(r.ID(), output.Window{})
	refused(t, err, fault.NotFound)
	if got := w.files(); !slices.Equal(got, []string{"lock"}) {
		t.Errorf("there are %v", got)
	}
}
