package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func groupParent(t *testing.T) string {
	t.Helper()
	parent := inspect().group
	if parent == "" {
		t.Skip("SKIPPED: no tree of control groups (version 2) is ours to divide here")
	}
	return parent
}

func TestTheEmptyGroupOfAKilledServerIsSwept(t *testing.T) {
	parent := groupParent(t)
	gone := process{pid: os.Getpid(), start: 1} // no process of this number began then
	orphan := filepath.Join(parent, groupName+owner(gone)+"-123")
	must(t, os.Mkdir(orphan, 0o755))
	own, err := newGroup(parent, Limits{})
	must(t, err)
	strange := filepath.Join(parent, "mcp-strange-1-2")
	must(t, os.Mkdir(strange, 0o755))
	defer os.Remove(strange)
	w := newWorld(t)
	s, _, err := inspect().sandbox(Options{Mode: Off, Level: 1, Home: w.Home})
	must(t, err)
	defer s.Close()
	for dir, want := range map[string]bool{orphan: false, own.dir: true, strange: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
	own.release()
	if _, err := os.Stat(own.dir); err == nil {
		t.Error("the group was not given back")
	}
}

// TestAControlGroupHasTheLimits looks where the controllers are handed on;
// TestTheLimitsHold tries them.
func TestAControlGroupHasTheLimits(t *testing.T) {
	g, err := newGroup(groupParent(t), Limits{Memory: 64 << 20, Processes: 3})
	must(t, err)
	defer g.release()
	for file, want := range map[string]string{"memory.max": "67108864", "pids.max": "3", "memory.oom.group": "1"} {
		got, err := os.ReadFile(filepath.Join(g.dir, file))
		if os.IsNotExist(err) {
			t.Skipf("SKIPPED: %s is not handed on to groups in %s (version 1 has the controller, or nobody enabled it)", file, filepath.Dir(g.dir))
		}
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %q", file, got)
		}
	}
}
