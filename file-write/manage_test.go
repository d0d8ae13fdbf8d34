//go:build linux || darwin

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestMovingAndCopying(t *testing.T) {
	here := []string{"a.txt=old", "b.txt=other", "run=#!/bin/sh\n", "d/x.txt=x", "d/e/y.txt=y", "g/.git/config=c", ".vscode/s.json={}", "l => a.txt"}
	const all = ".vscode/ .vscode/s.json a.txt b.txt d/ d/e/ d/e/y.txt d/x.txt g/ g/.git/ g/.git/config l run"
	for _, c := range []struct {
		what, tool, from, to string
		overwrite            bool
		code                 error
		names                string
	}{
		{"a file", "move", "a.txt", "c.txt", false, nil, ".vscode/ .vscode/s.json b.txt c.txt d/ d/e/ d/e/y.txt d/x.txt g/ g/.git/ g/.git/config l run"},
		{"a file", "copy", "a.txt", "c.txt", false, nil, ".vscode/ .vscode/s.json a.txt b.txt c.txt d/ d/e/ d/e/y.txt d/x.txt g/ g/.git/ g/.git/config l run"},
		{"into directories that are missing", "move", "a.txt", "n/m/c.txt", false, nil, ".vscode/ .vscode/s.json b.txt d/ d/e/ d/e/y.txt d/x.txt g/ g/.git/ g/.git/config l n/ n/m/ n/m/c.txt run"},
		{"onto a file", "move", "a.txt", "b.txt", false, fault.Exists, all},
		{"onto a file", "copy", "a.txt", "b.txt", false, fault.Exists, all},
		{"onto a file, to be replaced", "move", "a.txt", "b.txt", true, nil, ".vscode/ .vscode/s.json b.txt d/ d/e/ d/e/y.txt d/x.txt g/ g/.git/ g/.git/config l run"},
		{"onto a file, to be replaced", "copy", "a.txt", "b.txt", true, nil, all},
		{"onto a directory", "move", "a.txt", "d", true, fault.Exists, all},
		{"onto itself", "copy", "a.txt", "a.txt", true, fault.ParamInvalid, all},
		{"onto itself", "move", "a.txt", "a.txt", true, fault.ParamInvalid, all},
		{"a directory", "move", "d", "n", false, nil, ".vscode/ .vscode/s.json a.txt b.txt g/ g/.git/ g/.git/config l n/ n/e/ n/e/y.txt n/x.txt run"},
		{"a directory", "copy", "d", "n", false, fault.ParamInvalid, all},
		{"a directory into itself", "move", "d", "d/e/d", false, fault.ParamInvalid, all},
		{"what is not there", "move", "none", "n/m/c.txt", false, fault.NotFound, all},
		{"what is not there", "copy", "none", "n/m/c.txt", false, fault.NotFound, all},
		{"outside", "move", "a.txt", "../a.txt", false, fault.OutsideAllowed, all},
		{"from outside", "copy", "/etc/passwd", "p", false, fault.OutsideAllowed, all},
		{"a link", "move", "l", "m", false, fault.Forbidden, all},
		{"a link", "copy", "l", "m", false, fault.Forbidden, all},
		{"a script", "move", "run", "go", false, fault.Forbidden, all},
		{"a script", "copy", "run", "go", false, fault.Forbidden, all},
		{"what becomes one by its name", "move", "a.txt", "a.sh", false, fault.Forbidden, all},
		{"what becomes one by its name", "copy", "a.txt", "a.sh", false, fault.Forbidden, all},
		{"to a protected path", "move", "a.txt", ".git/config", false, fault.Forbidden, all},
		{"to a protected path", "copy", "a.txt", "n/.git/hooks/x", false, fault.Forbidden, all},
		{"from a protected path", "move", ".vscode/s.json", "s.json", false, fault.Forbidden, all},
		{"a directory with something protected in it", "move", "g", "h", false, fault.Forbidden, all},
	} {
		w := newFixture(t, here...)
		var err error
		if c.tool == "move" {
			_, err = w.move(t.Context(), moveIn{Source: c.from, Destination: c.to, Overwrite: c.overwrite})
		} else {
			_, err = w.copy(t.Context(), copyIn{Source: c.from, Destination: c.to, Overwrite: c.overwrite})
		}
		is(t, c.tool+" "+c.what, err, c.code)
		if got := w.names(); got != c.names {
			t.Errorf("%s %s: there is %s, want %s", c.tool, c.what, got, c.names)
		}
	}
}

func TestACopyHasNoMoreRightsThanItsSource(t *testing.T) {
	w := newFixture(t, "a.txt=secret", "b.py=print(1)\n")
	for name, mode := range map[string]fs.FileMode{"a.txt": 0o600, "b.py": 0o755} {
		if err := os.Chmod(w.dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
		_, err := w.copy(t.Context(), copyIn{Source: name, Destination: "copy-" + name})
		is(t, name, err, nil)
		info, err := os.Stat(w.dir + "/copy-" + name)
		if err != nil || info.Mode().Perm()&^(mode&0o666) != 0 {
			t.Errorf("a copy of a file with %o has %o, %v", mode, info.Mode().Perm(), err)
		}
	}
}

func TestDirectoriesAreMadeOnce(t *testing.T) {
	w := newFixture(t, "a.txt=x")
	out, err := w.createDirectory(t.Context(), directoryIn{Path: "n/m"})
	is(t, "new", err, nil)
	again, err := w.createDirectory(t.Context(), directoryIn{Path: "n/m"})
	is(t, "again", err, nil)
	if !out.Created || again.Created || w.names() != "a.txt n/ n/m/" {
		t.Errorf("%+v, then %+v, there is %s", out, again, w.names())
	}
	_, err = w.createDirectory(t.Context(), directoryIn{Path: "a.txt"})
	is(t, "where a file is", err, fault.ParamInvalid)
	_, err = w.createDirectory(t.Context(), directoryIn{Path: "a.txt/n"})
	is(t, "beneath a file", err, fault.ParamInvalid)
	_, err = w.createDirectory(t.Context(), directoryIn{Path: "n/.ssh"})
	is(t, "a protected one", err, fault.Forbidden)
}

// lastChange is the id of the last change, "" where there is none.
func (w fixture) lastChange() string {
	w.t.Helper()
	if changes := w.changesSoFar(); len(changes) > 0 {
		return changes[0].ID
	}
	return ""
}

// changesSoFar is the history, the last change first.
func (w fixture) changesSoFar() []changeOut {
	w.t.Helper()
	out, err := w.listChanges(w.t.Context(), changesIn{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Changes
}

func TestEveryChangeCanBeUndone(t *testing.T) {
	here := []string{"a.txt=one\n", "b.txt=other\n", "d/x.txt=x", "d/e/y.txt=y", "d/l => x.txt"}
	for _, c := range []struct {
		what string
		do   func(w fixture) (id string, err error)
		gone string // a path that is not there any more
	}{
		{"an overwrite", func(w fixture) (string, error) {
			out, err := w.write(w.t.Context(), writeIn{Path: "a.txt", Content: "new", Overwrite: true})
			return out.ChangeID, err
		}, ""},
		{"an addition", func(w fixture) (string, error) {
			out, err := w.write(w.t.Context(), writeIn{Path: "a.txt", Content: "new", Append: true})
			return out.ChangeID, err
		}, ""},
		{"an edit", func(w fixture) (string, error) {
			out, err := w.edit(w.t.Context(), editIn{Path: "a.txt", Old: ptr("one"), New: ptr("1")})
			return out.ChangeID, err
		}, ""},
		{"a move", func(w fixture) (string, error) {
			out, err := w.move(w.t.Context(), moveIn{Source: "a.txt", Destination: "n.txt"})
			return out.ChangeID, err
		}, "a.txt"},
		{"a move of a directory", func(w fixture) (string, error) {
			out, err := w.move(w.t.Context(), moveIn{Source: "d", Destination: "n"})
			return out.ChangeID, err
		}, "d"},
		{"a deletion", func(w fixture) (string, error) {
			out, err := w.delete(w.t.Context(), deleteIn{Path: "a.txt"})
			return out.TrashID, err
		}, "a.txt"},
		{"a deletion of a directory", func(w fixture) (string, error) {
			out, err := w.delete(w.t.Context(), deleteIn{Path: "d", Recursive: true})
			return out.TrashID, err
		}, "d"},
		{"a copy over a file", func(w fixture) (string, error) {
			out, err := w.copy(w.t.Context(), copyIn{Source: "b.txt", Destination: "a.txt", Overwrite: true})
			return out.ReplacedID, err
		}, ""},
	} {
		w := newFixture(t, here...)
		before := w.snapshot()
		id, err := c.do(w)
		is(t, c.what, err, nil)
		if id == "" || w.snapshot() == before {
			t.Fatalf("%s: nothing has changed, id %q", c.what, id)
		}
		if _, err := os.Lstat(w.dir + "/" + c.gone); c.gone != "" && err == nil {
			t.Errorf("%s: %s is still there", c.what, c.gone)
		}
		changed := w.snapshot()
		_, err = w.restore(t.Context(), restoreIn{ID: id, DryRun: true})
		is(t, c.what+", undone dry", err, nil)
		if w.snapshot() != changed {
			t.Errorf("%s: a dry run changes something", c.what)
		}
		_, err = w.restore(t.Context(), restoreIn{ID: id})
		is(t, c.what+", undone", err, nil)
		if after := w.snapshot(); after != before {
			t.Errorf("%s: after undoing there is\n%s, there was\n%s", c.what, after, before)
		}
	}
}

// snapshot is every path and content.
func (w fixture) snapshot() string {
	var b strings.Builder
	for name := range strings.FieldsSeq(w.names()) {
		content, err := os.ReadFile(w.dir + "/" + name)
		if err != nil {
			content = nil // a directory
		}
		b.WriteString(name + "=" + string(content) + "\n")
	}
	return b.String()
}

func TestWhatWasReplacedByAMoveIsKept(t *testing.T) {
	w := newFixture(t, "a.txt=new", "b.txt=old")
	out, err := w.move(t.Context(), moveIn{Source: "a.txt", Destination: "b.txt", Overwrite: true})
	is(t, "moving", err, nil)
	_, err = w.restore(t.Context(), restoreIn{ID: out.ChangeID})
	is(t, "moving back", err, nil)
	_, err = w.restore(t.Context(), restoreIn{ID: out.ReplacedID})
	is(t, "putting back what was replaced", err, nil)
	w.holds("afterwards", "a.txt", "new")
	w.holds("afterwards", "b.txt", "old")
}

func TestUndoingIsAChangeThatCanBeUndone(t *testing.T) {
	w := newFixture(t, "a.txt=one")
	first, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "two", Overwrite: true})
	is(t, "overwriting", err, nil)
	back, err := w.restore(t.Context(), restoreIn{ID: first.ChangeID})
	is(t, "undoing", err, nil)
	w.holds("undone", "a.txt", "one")
	_, err = w.restore(t.Context(), restoreIn{ID: back.ChangeID})
	is(t, "undoing that", err, nil)
	w.holds("done again", "a.txt", "two")
}

func TestUndoingHasTheSameGuards(t *testing.T) {
	w := worldWith(t, noLinks, []string{"application/x-sh"}, []string{".vscode"}, "run.sh=#!/bin/sh\n", ".vscode/s.json={}", "d/.vscode/s.json={}")
	var ids []string
	for _, in := range []deleteIn{{Path: "run.sh"}, {Path: ".vscode/s.json"}, {Path: "d", Recursive: true}} {
		out, err := w.delete(t.Context(), in)
		is(t, "deleting "+in.Path, err, nil)
		ids = append(ids, out.TrashID)
	}
	before := w.names()
	strict := w
	strict.writer = w.stricter()
	for _, id := range ids {
		_, err := strict.restore(t.Context(), restoreIn{ID: id})
		is(t, "putting back by a server that may not write it", err, fault.Forbidden)
	}
	if got := w.names(); got != before {
		t.Errorf("there is %s, there was %s", got, before)
	}
	for _, id := range ids {
		_, err := w.restore(t.Context(), restoreIn{ID: id})
		is(t, "putting back by one that may", err, nil)
	}
}

func TestARefusalLeavesNoChangeInTheList(t *testing.T) {
	w := newFixture(t, "a.txt=old", "d/x.txt=x", "b.txt=b")
	for what, do := range map[string]func() error{
		"a script over a file": func() error {
			_, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "#!/bin/sh\n", Overwrite: true})
			return err
		},
		"a directory that is not empty": func() error { _, err := w.delete(t.Context(), deleteIn{Path: "d"}); return err },
		"a move onto a file": func() error {
			_, err := w.move(t.Context(), moveIn{Source: "a.txt", Destination: "b.txt"})
			return err
		},
		"an edit without a match": func() error {
			_, err := w.edit(t.Context(), editIn{Path: "a.txt", Old: ptr("x"), New: ptr("y")})
			return err
		},
	} {
		if err := do(); err == nil {
			t.Errorf("%s is not refused", what)
		}
		if got := w.changesSoFar(); len(got) > 0 {
			t.Errorf("%s is listed: %+v", what, got)
		}
	}
}

func TestWhatStaysAsItIsIsNoChange(t *testing.T) {
	w := newFixture(t, "a.txt=same", "b.txt=same")
	_, err := w.copy(t.Context(), copyIn{Source: "a.txt", Destination: "b.txt", Overwrite: true})
	is(t, "a copy over a file with the same content", err, nil)
	_, err = w.write(t.Context(), writeIn{Path: "a.txt", Content: "same", Overwrite: true})
	is(t, "the same content again", err, nil)
	if got := w.changesSoFar(); len(got) > 0 {
		t.Errorf("listed is %+v", got)
	}
}

func TestChangesAreListedByPlaceAndTime(t *testing.T) {
	w := newFixture(t, "a.txt=1", "d/b.txt=2", "d/e/c.txt=3", "de/f.txt=4")
	for _, p := range []string{"a.txt", "d/b.txt", "d/e/c.txt", "de/f.txt"} {
		_, err := w.write(t.Context(), writeIn{Path: p, Content: "new", Overwrite: true})
		is(t, p, err, nil)
	}
	for _, c := range []struct {
		what string
		in   changesIn
		want string
	}{
		{"all, the last first", changesIn{Limit: 10}, "de/f.txt d/e/c.txt d/b.txt a.txt"},
		{"of a file", changesIn{Path: "a.txt", Limit: 10}, "a.txt"},
		{"beneath a directory", changesIn{Path: "d", Limit: 10}, "d/e/c.txt d/b.txt"},
		{"so many", changesIn{Limit: 2}, "de/f.txt d/e/c.txt"},
		{"since an hour", changesIn{Since: "1h", Limit: 1}, "de/f.txt"},
		{"since now", changesIn{Since: "0s", Limit: 10}, ""},
	} {
		out, err := w.listChanges(t.Context(), c.in)
		is(t, c.what, err, nil)
		var got []string
		for _, change := range out.Changes {
			got = append(got, strings.TrimPrefix(change.Path, w.dir+"/"))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.what, s, c.want)
		}
	}
	_, err := w.listChanges(t.Context(), changesIn{Since: "soon", Limit: 1})
	is(t, "since no time", err, fault.ParamMalformed)
	_, err = w.restore(t.Context(), restoreIn{ID: strings.Repeat("a", 26)})
	is(t, "no such change", err, fault.NotFound)
}

func TestAPrivateDirectoryComesBackPrivate(t *testing.T) {
	w := newFixture(t, "d/x.txt=x", "d/e/y.txt=y")
	if err := os.Chmod(w.dir+"/d", 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := w.delete(t.Context(), deleteIn{Path: "d", Recursive: true})
	is(t, "deleting", err, nil)
	_, err = w.restore(t.Context(), restoreIn{ID: out.TrashID})
	is(t, "putting back", err, nil)
	for _, name := range []string{"d/x.txt", "d/e/y.txt"} {
		info, err := os.Stat(w.dir + "/" + name)
		if err != nil || info.Mode()&0o077 != 0 {
			t.Errorf("%s lay in a directory of its owner only and has %v now, %v", name, info.Mode(), err)
		}
	}
}

func TestWhatIsDeniedByNowIsNotTold(t *testing.T) {
	w := newFixture(t, "a.txt=a", ".env=TOKEN=x", "b.txt=b", "c.txt=c", "private/")
	for _, name := range []string{"a.txt", ".env"} {
		if _, err := w.write(t.Context(), writeIn{Path: name, Content: "new", Overwrite: true}); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"b.txt": "private/names-of-people.txt", "c.txt": "d.txt"} {
		if _, err := w.move(t.Context(), moveIn{Source: from, Destination: to}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := w.listChanges(t.Context(), changesIn{Limit: 10})
	if err != nil || len(all.Changes) != 4 {
		t.Fatalf("before: %+v %v", all, err)
	}
	roots, err := confine.Open([]string{w.dir}, confine.Options{DenySecrets: true, Deny: []string{"private/**"}})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	later := &writer{scope: confine.NewScope(roots, nil), files: w.files, past: w.past, guards: w.guards}
	told := ""
	for _, limit := range []int{1, 10} {
		out, err := later.listChanges(t.Context(), changesIn{Limit: limit})
		if err != nil || len(out.Changes) != min(limit, 2) || out.More != (limit == 1) {
			t.Errorf("with a limit of %d: %+v %v", limit, out, err)
		}
		told += out.Text()
	}
	for _, c := range all.Changes {
		denied := strings.Contains(c.Path+c.To, "private") || strings.Contains(c.Path, ".env")
		_, err := later.restore(t.Context(), restoreIn{ID: c.ID})
		if errors.Is(err, fault.OutsideAllowed) != denied || !denied && err != nil {
			t.Errorf("restoring %s %s: %v", c.Path, c.To, err)
		}
		if err != nil {
			told += fmt.Sprint(err, err.(*fault.Error).Details)
		}
	}
	if strings.Contains(told, ".env") || strings.Contains(told, "people") || !strings.Contains(told, "a.txt") {
		t.Errorf("it is told of what is denied: %s", told)
	}
}

func TestWhatIsDeniedInADirectoryIsNotNamed(t *testing.T) {
	w := worldWith(t, confine.Options{DenySecrets: true}, nil, nil, "d/e/.env=TOKEN=x", "d/a.txt=a", "keys/id_rsa=x")
	for what, do := range map[string]func(dir string) error{
		"moved": func(dir string) error {
			_, err := w.move(t.Context(), moveIn{Source: dir, Destination: "other"})
			return err
		},
		"deleted": func(dir string) error {
			_, err := w.delete(t.Context(), deleteIn{Path: dir, Recursive: true})
			return err
		},
	} {
		for _, dir := range []string{"d", "d/e", "keys"} {
			err := do(dir)
			is(t, dir+" "+what, err, fault.OutsideAllowed)
			said, err := json.Marshal([]any{fmt.Sprint(err), err.(*fault.Error).Details})
			if err != nil || strings.Contains(string(said), ".env") || strings.Contains(string(said), "id_rsa") {
				t.Errorf("%s %s: it is told %s %v", dir, what, said, err)
			}
		}
	}
}
