//go:build linux || darwin

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

// fixture is a writer on a literal fixture (see mcptest.Tree), and the fixture's directory.
type fixture struct {
	*writer
	t   *testing.T
	dir string
}

func newFixture(t *testing.T, entries ...string) fixture {
	t.Helper()
	return worldWith(t, confine.Options{}, nil, nil, entries...)
}

func worldWith(t *testing.T, o confine.Options, mime, open []string, entries ...string) fixture {
	t.Helper()
	dir := mcptest.Tree(t, entries...)
	roots, err := confine.Open([]string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { roots.Close() })
	past, err := history.Open(filepath.Join(t.TempDir(), "history"), history.Limits{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { past.Close() })
	g, err := newGuards(mime, open)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{&writer{scope: confine.NewScope(roots, nil), files: replace.New(g.rules()), past: past, guards: g}, t, dir}
}

// holds checks what a file holds, or that it is not there: content "<none>".
func (w fixture) holds(what, name, content string) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		b, err = []byte("<none>"), nil
	}
	if err != nil || string(b) != content {
		w.t.Errorf("%s: %s holds %q, %v; want %q", what, name, b, err, content)
	}
}

// names are all paths under the fixture's directory, a space between them.
func (w fixture) names() string {
	var names []string
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == w.dir {
			return err
		}
		name := strings.TrimPrefix(path, w.dir+"/")
		if d.IsDir() {
			name += "/"
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// is checks that err has the code, nil meaning no error.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// noLinks are the options of a server that was told nothing.
var noLinks = confine.Options{}

// stricter is a writer on the same files and history to which nothing was opened.
func (w fixture) stricter() *writer {
	return &writer{scope: w.scope, files: replace.New(guards{}.rules()), past: w.past}
}
