package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
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
	w := newFixture(t)
	s, err := inspect().sandbox(Options{Mode: Off, Level: 1, Home: w.Home})
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

// TestAControlGroupHasTheLimits looks where the controllers are handed on.
func TestAControlGroupHasTheLimits(t *testing.T) {
	l := Limits{Memory: 64 << 20, Processes: 3}
	g, err := newGroup(groupParent(t), l)
	must(t, err)
	defer g.release()
	for file, want := range map[string]string{"memory.max": "67108864", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": strconv.Itoa(l.threads())} {
		got, err := os.ReadFile(filepath.Join(g.dir, file))
		if os.IsNotExist(err) {
			t.Skipf("SKIPPED: %s is not handed on to groups in %s (version 1 has the controller, or nobody enabled it)", file, filepath.Dir(g.dir))
		}
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %q", file, got)
		}
	}
}

// TestEveryCommandRunsInAControlGroupThatCounts needs memory and processes to be counted by groups
// (version 2) in that of this process, or this process alone in one that may do so.
func TestEveryCommandRunsInAControlGroupThatCounts(t *testing.T) {
	skipRaced(t)
	m := inspect()
	if !m.counted {
		t.Skip("SKIPPED: control groups do not count memory here, or that is not ours to say")
	}
	w := newFixture(t)
	s := newBox(t, w.Home)
	c := w.shell("sleep 1000 & exec sleep 1000")
	c.Limits = Limits{Memory: hoardLimit, Processes: 50}
	tree, err := s.Start(t.Context(), c, Files{})
	must(t, err)
	var dir string
	eventually(t, "a group with both processes", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(tree.PID()) + "/cgroup")
		if _, name, ok := strings.Cut(string(text), "/"+ownGroups()); ok {
			dir = filepath.Join(m.group, ownGroups()+strings.TrimSpace(name))
		}
		members, _ := (&group{dir: dir}).pids()
		return len(members) == 2
	})
	must(t, tree.Close())
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the group was not given back: %v", err)
	}
	c = w.hoarding(t, "files without a name", "", 1)
	c.Limits.Memory = hoardLimit
	if got := hoarded(t, s, c, 1); !got.MemoryExceeded || got.Peak < hoardLimit {
		t.Errorf("%+v", got)
	}
}
