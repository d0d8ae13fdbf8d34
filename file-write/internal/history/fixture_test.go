package history_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) {
	children := map[string]func(args []string) error{"keep": keepChild}
	maps.Copy(children, platformChildren)
	mcptest.Children(m, children)
}

// fixture is a store with a clock that continues only when told.
type fixture struct {
	*testing.T
	dir string
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	return &fixture{t, filepath.Join(t.TempDir(), "state", "history"), time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
}

func (w *fixture) open(l history.Limits) *history.Store {
	w.Helper()
	s, err := history.Open(w.dir, l, func() time.Time { return w.now })
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *fixture) keep(s *history.Store, path, content string) history.Change {
	w.Helper()
	c, err := s.Keep(context.Background(), edit(path), strings.NewReader(content))
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func edit(path string) history.Change {
	return history.Change{Path: path, Op: "edit", Tool: "edit_file", RequestID: "7", Mode: 0o640, Existed: true}
}

// paths is what is listed, newest first, in one line.
func (w *fixture) paths(s *history.Store, f history.Filter) string {
	w.Helper()
	all, err := s.List(f)
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Path)
	}
	return strings.Join(names, " ")
}

func (w *fixture) content(s *history.Store, c history.Change) string {
	w.Helper()
	b, err := content(s, c.ID)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func content(s *history.Store, id string) (string, error) {
	r, _, err := s.Content(id)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), errors.Join(err, r.Close())
}

// files are the regular files under one part of the store, without their directory.
func (w *fixture) files(part string) []string {
	w.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(w.dir, part), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found = append(found, filepath.ToSlash(p[len(filepath.Join(w.dir, part))+1:]))
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func (w *fixture) read(name string) string {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *fixture) write(name, content string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
}

func object(c history.Change) string { return "objects/" + c.SHA256[:2] + "/" + c.SHA256[2:] }

func refused(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if _, ok := errors.AsType[*fault.Error](err); !ok || !errors.Is(err, code) {
		t.Errorf("%v instead of %s", err, code)
	}
}
