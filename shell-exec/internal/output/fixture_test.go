package output_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

func TestMain(m *testing.M) { mcptest.Children(m, children) }

var children = map[string]func(args []string) error{}

// fixture is a store with a clock that continues only when told.
type fixture struct {
	*testing.T
	dir string
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	return &fixture{t, filepath.Join(t.TempDir(), "state", "outputs"), time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
}

func (w *fixture) open(l output.Limits) *output.Store { return w.of("p", l) }

// of is the store as a server of a project has it.
func (w *fixture) of(project string, l output.Limits) *output.Store {
	w.Helper()
	s, err := output.Open(w.dir, project, l, func() time.Time { return w.now })
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *fixture) begin(s *output.Store, name string) *output.Run {
	w.Helper()
	r, err := s.Begin(context.Background(), output.About{ExecutionID: "exec-" + name, Name: name})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { r.End() })
	return r
}

func (w *fixture) write(r *output.Run, t output.Type, text string) {
	w.Helper()
	if n, err := r.Writer(t).Write([]byte(text)); n != len(text) || err != nil {
		w.Fatalf("%d bytes of %d were taken: %v", n, len(text), err)
	}
}

func (w *fixture) end(r *output.Run) {
	w.Helper()
	if err := r.End(); err != nil {
		w.Fatal(err)
	}
}

// ran is a run that wrote to Stdout, and ended one second after the one before.
func (w *fixture) ran(s *output.Store, name, text string) *output.Run {
	w.Helper()
	w.now = w.now.Add(time.Second)
	r := w.begin(s, name)
	w.write(r, output.Stdout, text)
	w.end(r)
	w.age(r)
	return r
}

// age gives the files of a run the times of the fixture's clock.
func (w *fixture) age(r *output.Run) {
	for _, name := range w.files() {
		if strings.HasPrefix(name, "p/"+r.ID()) {
			if err := os.Chtimes(filepath.Join(w.dir, name), w.now, w.now); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// all is an output read from its beginning to its end, by pages.
func (w *fixture) all(s *output.Store, id string, size int, e output.Encoding) string {
	w.Helper()
	var raw []byte
	for at := int64(0); ; {
		p, err := s.Read(id, output.Window{Offset: at, Size: size, Encoding: e})
		if err != nil {
			w.Fatal(err)
		}
		if p.Offset != at || p.Next != at+int64(len(p.Raw)) || p.More() && p.Next == at {
			w.Fatalf("the page at %d goes from %d to %d of %d with %d bytes", at, p.Offset, p.Next, p.Total, len(p.Raw))
		}
		raw = append(raw, p.Raw...)
		if at = p.Next; !p.More() {
			return string(raw)
		}
	}
}

func (w *fixture) read(s *output.Store, id string) string { return w.all(s, id, 0, "") }

// names is what is listed, in one line.
func (w *fixture) names(s *output.Store, f output.Filter) string {
	w.Helper()
	all, _, err := s.List(f)
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return strings.Join(names, " ")
}

// info is the listed output with this id.
func (w *fixture) info(s *output.Store, id string) output.Info {
	w.Helper()
	all, _, err := s.List(output.Filter{})
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(all, func(i output.Info) bool { return i.ID == id })
	if i < 0 {
		w.Fatalf("%s is not listed", id)
	}
	return all[i]
}

// files are the names of all files of the store, with the project's directory.
func (w *fixture) files() []string {
	w.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(w.dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return names
}

func refused(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if _, ok := errors.AsType[*fault.Error](err); !ok || !errors.Is(err, code) {
		t.Errorf("%v instead of %s", err, code)
	}
}
