package main

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// killing is one house over many lives of its server, each ended by SIGKILL, and what
// must be true of it.
type killing struct {
	house
	rng   *rand.Rand
	slots []*slot
	lost  map[string]string // what is nowhere but in the history: a change's path by the content's hash
	trees map[string]int    // how often a directory was deleted
	kept  map[string]bool   // changes whose content was read to its end

	calls, unanswered, happened, between, underWay, drafts int
}

// slot is a directory of its own, in which one call at a time changes something.
type slot struct {
	name    string
	files   map[string]string
	version int
	op      *step
}

// step is a call on its way and what it does to the files of its slot.
type step struct {
	pending *mcptest.Pending
	tool    string
	args    map[string]any
	path    string // absolute, as the audit log has it
	lost    []string
	tree    string // the directory that goes, absolute
	after   map[string]string
	between map[string]string // how else a kill may leave them (see replace.Writer.Move); nil: in no other way
}

func TestAKillAtAnyMomentLosesNothing(t *testing.T) {
	const kills, calls = 50, 500
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	k := &killing{
		house: newHouse(t, mcptest.Tree(t)), rng: rand.New(rand.NewPCG(seed, 0)),
		lost: map[string]string{}, trees: map[string]int{}, kept: map[string]bool{},
	}
	for i := range 6 {
		name := fmt.Sprintf("s%d", i)
		must(t, os.Mkdir(k.dir+"/"+name, 0o755))
		k.slots = append(k.slots, &slot{name: name, files: map[string]string{}})
	}
	lives := 0
	for ; (lives < kills || k.calls < calls) && lives < 5*kills; lives++ {
		k.life(t)
	}
	if _, drafts := filesIn(t, k.dir); drafts > 0 {
		k.start().Close()
	}
	k.swept(t)
	t.Logf("%d calls in %d lives; killed: %d unanswered, %d of them begun and not ended, %d had happened, %d in between; %d drafts swept; %d contents are in the history only",
		k.calls, lives, k.unanswered, k.underWay, k.happened, k.between, k.drafts, len(k.lost))
	if k.underWay < kills || k.happened == 0 || k.happened == k.unanswered {
		t.Error("the kills did not come in the midst of work")
	}
}

// life starts a server, lets it work for a moment, kills it, and looks at what is left.
func (k *killing) life(t *testing.T) {
	t.Helper()
	server := k.start()
	k.swept(t)
	sent := map[string]int{}
	for end := time.Now().Add(time.Duration(k.rng.IntN(100_000)) * time.Microsecond); ; {
		for _, s := range k.slots {
			if s.op != nil && s.op.pending.Answered() {
				k.done(t, s)
			}
			if s.op == nil {
				s.op = k.plan(s)
				sent[s.op.key()]++
				k.calls++
				s.op.pending = ask(server, s.op.tool, s.op.args)
			}
		}
		if time.Now().After(end) {
			break
		}
		time.Sleep(50 * time.Microsecond)
	}
	server.Signal(syscall.SIGKILL)
	if code := server.Close(); code != -1 {
		t.Fatalf("the server ended by itself: %d\n%s", code, server.Stderr())
	}
	k.autopsy(t, server.PID(), sent)
}

// plan is what may be done in a slot next.
func (k *killing) plan(s *slot) *step {
	s.version++
	at := func(name string) string { return k.dir + "/" + s.name + "/" + name }
	version := fmt.Sprintf("version %d of %s\n", s.version, s.name)
	content := version + strings.Repeat("a line of text\n", k.rng.IntN(2000)) + "the end of " + version
	o := &step{tool: "file_write", path: at("a"), after: maps.Clone(s.files)}
	a, there := s.files["a"]
	kind := k.rng.IntN(7)
	switch {
	case kind == 0 && there:
		o.args = map[string]any{"path": o.path, "content": version, "append": true}
		o.becomes("a", a+version)
	case kind == 1 && there:
		first, _, _ := strings.Cut(a, "\n")
		o.tool, o.args = "edit_file", map[string]any{"path": o.path, "old_string": first, "new_string": "edited: " + version, "replace_all": true}
		o.becomes("a", strings.ReplaceAll(a, first, "edited: "+version))
	case kind == 2 && there:
		o.tool, o.args = "move_file", map[string]any{"source": o.path, "destination": at("b"), "overwrite": true}
		o.moves("a", "b")
	case kind == 3 && there:
		o.tool, o.args = "delete_file", map[string]any{"path": o.path}
		o.goes("a")
	case kind == 4 && s.files["t/x"] != "":
		o.path, o.tree = at("t"), at("t")
		o.tool, o.args = "delete_file", map[string]any{"path": o.path, "recursive": true}
		delete(o.after, "t/x")
		delete(o.after, "t/u/y")
	case kind == 5:
		name := []string{"t/x", "t/u/y"}[k.rng.IntN(2)]
		o.path = at(name)
		o.args = map[string]any{"path": o.path, "content": content, "overwrite": true}
		o.becomes(name, content)
	default:
		o.args = map[string]any{"path": o.path, "content": content, "overwrite": true}
		o.becomes("a", content)
	}
	return o
}

func (o *step) key() string { return o.tool + " " + o.path }

func (o *step) becomes(name, content string) {
	o.goes(name)
	o.after[name] = content
}

func (o *step) goes(name string) {
	if old, there := o.after[name]; there {
		o.lost = append(o.lost, old)
	}
	delete(o.after, name)
}

func (o *step) moves(from, to string) {
	src, old := o.after[from], o.after[to]
	o.goes(to)
	if len(o.lost) > 0 {
		o.between = maps.Clone(o.after)
		o.between[from], o.between[to] = old, src
	}
	delete(o.after, from)
	o.after[to] = src
}

// done takes in an answered call.
func (k *killing) done(t *testing.T, s *slot) {
	t.Helper()
	if r := s.op.pending.Result(); r.IsError {
		t.Errorf("%s: %s %s", s.op.key(), r.Code, r.Text)
	} else {
		k.took(s)
	}
	s.op = nil
}

// took makes what the call of a slot did what is known of it.
func (k *killing) took(s *slot) {
	s.files = s.op.after
	for _, content := range s.op.lost {
		k.lost[sha256Of(content)] = s.op.path
	}
	if s.op.tree != "" {
		k.trees[s.op.tree]++
	}
}

// autopsy compares what is there after a kill with what may be there.
func (k *killing) autopsy(t *testing.T, pid int, sent map[string]int) {
	t.Helper()
	k.verified()
	begun := k.recorded(t, pid)
	for _, s := range k.slots {
		o := s.op
		if o != nil && o.pending.Answered() {
			k.done(t, s)
			o = nil
		}
		files, drafts := filesIn(t, k.dir+"/"+s.name)
		k.drafts += drafts
		switch {
		case o == nil && maps.Equal(files, s.files):
			continue
		case o == nil:
			t.Fatalf("%s is not as the last answer said: %.300q, want %.300q", s.name, files, s.files)
		}
		k.unanswered++
		switch {
		case maps.Equal(files, s.files) && !maps.Equal(files, o.after):
		case maps.Equal(files, o.after):
			k.happened++
			k.took(s)
			if begun[o.key()] != sent[o.key()] {
				t.Errorf("%s has happened; of %d calls %d are in the audit log", o.key(), sent[o.key()], begun[o.key()])
			}
		case o.between != nil && maps.Equal(files, o.between):
			k.between++
			s.files = files
		default:
			t.Fatalf("%s: there is neither the old nor the new: %.300q, want %.300q or %.300q", o.key(), files, s.files, o.after)
		}
		s.op = nil
	}
	k.remembered(t)
}

// recorded counts the begin events of a process, and those without an end.
func (k *killing) recorded(t *testing.T, pid int) map[string]int {
	t.Helper()
	begun, open := map[string]int{}, 0
	for e, err := range audit.Query(k.record, audit.Filter{}) {
		switch {
		case err != nil || e.PID != pid: // a line that is cut short; whether the log is whole, Verify says
		case e.Outcome == "begin":
			begun[e.Tool+" "+e.Paths[0]]++
			open++
		default:
			open--
		}
	}
	k.underWay += open
	return begun
}

// remembered checks that the history lists only what can be read, and all that was lost.
func (k *killing) remembered(t *testing.T) {
	t.Helper()
	past, err := history.Open(k.history, history.Limits{}, time.Now)
	must(t, err)
	defer past.Close()
	all, err := past.List(history.Filter{})
	must(t, err)
	listed, trees := map[string]bool{}, map[string]int{}
	for _, c := range all {
		if listed[c.SHA256] = true; c.Tree {
			trees[c.Path]++
		}
		if k.kept[c.ID] || c.To != "" {
			continue
		}
		k.kept[c.ID] = true
		content, _, err := past.Content(c.ID)
		must(t, err)
		if _, err := io.Copy(io.Discard, content); err != nil || content.Close() != nil {
			t.Errorf("%s of %s is listed and cannot be read: %v", c.Op, c.Path, err)
		}
	}
	for sum, path := range k.lost {
		if !listed[sum] {
			t.Errorf("a version of %s is lost", path)
		}
	}
	for path, n := range k.trees {
		if trees[path] < n {
			t.Errorf("%s was deleted %d times, and is %d times in the history", path, n, trees[path])
		}
	}
}

// swept checks that a server that has started left nothing of those before it.
func (k *killing) swept(t *testing.T) {
	t.Helper()
	if _, drafts := filesIn(t, k.dir); drafts > 0 {
		t.Errorf("%d drafts are left after a start", drafts)
	}
}

// A move to another file system makes its copy where the file goes.
func TestLeftoversAreSweptOnBothSidesOfAMove(t *testing.T) {
	const draft = ".mcp-draft-0123456789abcdef0123456789abcdef"
	w := newFixture(t, "from/a.txt=x", "to/"+draft+"=left over", "elsewhere/b.txt=y")
	_, err := w.move(t.Context(), moveIn{Source: "from/a.txt", Destination: "to/a.txt"})
	must(t, err)
	must(t, os.WriteFile(w.dir+"/from/"+draft, nil, 0o600))
	roots, err := w.scope.Roots(t.Context())
	must(t, err)
	must(t, w.sweep(t.Context(), roots))
	if got := w.names(); got != "elsewhere/ elsewhere/b.txt from/ to/ to/a.txt" {
		t.Errorf("there is %s", got)
	}
}
