package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
)

// chained is a log with an anchor elsewhere.
func chained(t *testing.T, dir string) *audit.Log {
	t.Helper()
	l, err := audit.Open(filepath.Join(dir, "log/audit.jsonl"), audit.Options{Anchor: filepath.Join(dir, "anchors/audit"), MaxBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func recordSome(t *testing.T, l *audit.Log, n int) {
	t.Helper()
	for range n {
		record(t, l, audit.Event{Tool: "x", Outcome: "ok"})
	}
}

func TestALogThatWasRemovedIsMissed(t *testing.T) {
	clear := func(t *testing.T, dir string) {
		all, err := filepath.Glob(filepath.Join(dir, "log/*"))
		if err != nil || len(all) < 2 {
			t.Fatalf("there is nothing to remove: %v, %v", all, err)
		}
		for _, path := range all {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	copied := func(t *testing.T, from, to string) {
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, dir string, l *audit.Log) // l has 30 events
		lost int                                          // event that is missed first; 0: none
	}{
		{"nothing", func(t *testing.T, dir string, l *audit.Log) { recordSome(t, l, 1) }, 0},
		{"a new start", func(t *testing.T, dir string, l *audit.Log) {
			_ = l.Close()
			recordSome(t, chained(t, dir), 2)
		}, 0},
		{"a new start after a kill", func(t *testing.T, dir string, l *audit.Log) { recordSome(t, chained(t, dir), 2) }, 0},
		{"two at once", func(t *testing.T, dir string, l *audit.Log) {
			other := chained(t, dir)
			recordSome(t, other, 40)
			_ = l.Close() // knows less
			recordSome(t, other, 1)
			_ = other.Close()
			recordSome(t, chained(t, dir), 1)
		}, 0},
		{"removed while it is written", func(t *testing.T, dir string, l *audit.Log) {
			clear(t, dir)
			recordSome(t, l, 3)
		}, 1},
		{"removed with its directory", func(t *testing.T, dir string, l *audit.Log) {
			_ = l.Close()
			if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
				t.Fatal(err)
			}
			recordSome(t, chained(t, dir), 3)
		}, 1},
		{"removed between two servers", func(t *testing.T, dir string, l *audit.Log) {
			_ = l.Close()
			clear(t, dir)
			recordSome(t, chained(t, dir), 3)
		}, 1},
		{"removed, and one that knows nothing began anew", func(t *testing.T, dir string, l *audit.Log) {
			_ = l.Close()
			clear(t, dir)
			l, err := audit.Open(filepath.Join(dir, "log/audit.jsonl"), audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			recordSome(t, l, 3)
			_ = l.Close()
			recordSome(t, chained(t, dir), 3)
		}, 4},
		{"put back as it was before, while it is written", func(t *testing.T, dir string, l *audit.Log) {
			copied(t, filepath.Join(dir, "log"), filepath.Join(dir, "old"))
			recordSome(t, l, 20)
			copied(t, filepath.Join(dir, "old"), filepath.Join(dir, "log"))
			recordSome(t, l, 1)
		}, 31},
		{"put back as it was before, between two servers", func(t *testing.T, dir string, l *audit.Log) {
			copied(t, filepath.Join(dir, "log"), filepath.Join(dir, "old"))
			recordSome(t, l, 20)
			_ = l.Close()
			copied(t, filepath.Join(dir, "old"), filepath.Join(dir, "log"))
			recordSome(t, chained(t, dir), 1)
		}, 31},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := chained(t, dir)
			recordSome(t, l, 30)
			c.do(t, dir, l)
			got, err := audit.Verify(filepath.Join(dir, "log/audit.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			told := fmt.Sprint(got.Broken)
			if c.lost == 0 != got.OK() || c.lost > 0 && !strings.Contains(told, fmt.Sprintf("events %d to ", c.lost)) {
				t.Errorf("it is said: %d events, %s", got.Events, told)
			}
		})
	}
}
