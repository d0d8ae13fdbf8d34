package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/audit"
)

// fixture is a log of 35 events: 1–10, 11–20 and 21–30 in rotated files, 31–35 in
// the current one.
type fixture struct {
	t   *testing.T
	dir string
	log string
}

const (
	perFile  = 10
	worldEnd = 35
	fileSize = 14_000 // ten lines of some 1,330 bytes, not eleven
)

func newFixture(t *testing.T) fixture {
	t.Helper()
	dir := t.TempDir()
	w := fixture{t, dir, filepath.Join(dir, "x.jsonl")}
	w.record(worldEnd)
	return w
}

func (w fixture) record(n int) {
	w.t.Helper()
	l := open(w.t, w.log, audit.Options{MaxBytes: fileSize, Clock: fixedClock})
	for range n {
		record(w.t, l, audit.Event{Tool: "file_read", Verdict: "allow", Outcome: "ok", Cause: strings.Repeat("c ", 500)})
	}
}

// lines of a file, each with its newline.
func (w fixture) lines(name string) [][]byte {
	w.t.Helper()
	return slices.Collect(bytes.Lines(w.read(name)))
}

func (w fixture) read(name string) []byte {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w fixture) write(name string, lines ...[]byte) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), slices.Concat(lines...), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w fixture) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w fixture) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)); err != nil {
		w.t.Fatal(err)
	}
}

// everything in the directory, by name.
func (w fixture) everything() string {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		all.WriteString(e.Name() + "\n" + string(w.read(e.Name())))
	}
	return all.String()
}

func (w fixture) names() []string {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func open(t testing.TB, file string, o audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.Open(file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func record(t testing.TB, r audit.Recorder, e audit.Event) {
	t.Helper()
	if err := r.Record(e); err != nil {
		t.Fatal(err)
	}
}

func verify(t testing.TB, file string) audit.Result {
	t.Helper()
	r, err := audit.Verify(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// whole fails unless the log verifies with exactly so many events.
func whole(t testing.TB, file string, events int) audit.Result {
	t.Helper()
	r := verify(t, file)
	if !r.OK() || r.Events != events {
		t.Fatalf("%d events, want %d; broken: %+v", r.Events, events, r.Broken)
	}
	return r
}

func query(t testing.TB, file string, f audit.Filter) []audit.Event {
	t.Helper()
	var all []audit.Event
	for e, err := range audit.Query(file, f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func fixedClock() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }
