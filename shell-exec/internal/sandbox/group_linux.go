package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// group holds the processes of a control group (version 2). Children are born
// into it, and none can leave that may not write to the tree of groups.
type group struct {
	dir    string
	thread *thread
	will   *will
}

const groupName = "mcp-command-"

// mine begins the names of the groups that this process makes: who finds one
// again can tell whether it still has an owner.
func mine() string {
	self, _ := look(os.Getpid())
	return groupName + owner(self) + "-"
}

func owner(p process) string { return fmt.Sprintf("%d.%d", p.pid, p.start) }

// sweepGroups removes the groups of servers that ended without doing so. Those
// with processes in them the kernel keeps: a detached command may be one.
func sweepGroups(parent string) {
	entries, err := os.ReadDir(parent)
	if parent == "" || err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), groupName)
		whose, _, named := strings.Cut(rest, "-")
		number, _, _ := strings.Cut(whose, ".")
		pid, err := strconv.Atoi(number)
		if !ok || !named || err != nil {
			continue
		}
		if p, there := look(pid); !there || owner(p) != whose {
			_ = unix.Rmdir(filepath.Join(parent, e.Name()))
		}
	}
}

// newGroup makes a group beneath parent, with the limits that the parent hands on.
func newGroup(parent string, l Limits) (*group, error) {
	dir, err := os.MkdirTemp(parent, mine())
	if err != nil {
		return nil, err
	}
	g := &group{dir: dir}
	if l.Memory > 0 {
		g.set("memory.max", strconv.FormatInt(l.Memory, 10))
		g.set("memory.oom.group", "1")
	}
	if l.Processes > 0 {
		g.set("pids.max", strconv.Itoa(l.Processes))
	}
	return g, nil
}

// set sets a limit where the group has it; where it has not, the tree is watched anyway.
func (g *group) set(name, value string) {
	_ = os.WriteFile(filepath.Join(g.dir, name), []byte(value), 0)
}

// take puts a process into the group.
func (g *group) take(pid int) error {
	return os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

func (g *group) pids() ([]int, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, line := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil {
			out = append(out, pid)
		}
	}
	return out, nil
}

func (g *group) members() ([]process, error) { return settled(g.seen) }

// doomed looks once: what a killed group forks is killed too.
func (g *group) doomed() ([]process, error) { return g.seen() }

func (g *group) seen() ([]process, error) {
	all, err := g.pids()
	var out []process
	for _, pid := range all {
		if p, ok := look(pid); ok && p.alive() {
			out = append(out, p)
		}
	}
	return out, err
}

func (g *group) strike(sig unix.Signal) error {
	if sig == unix.SIGKILL {
		return os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
	}
	all, err := g.members()
	return errors.Join(err, signalAll(all, sig))
}

// provide has the kernel kill the group, should this process end before it could
// do that.
func (g *group) provide() {
	const script = `echo 1 >"$1/cgroup.kill"; for i in 1 2 3 4 5 6 7 8 9; do rmdir "$1" 2>/dev/null && exit; sleep 0.1; done`
	g.will, _ = newWill(script, g.dir)
}

// release removes the group, which is empty.
func (g *group) release() {
	g.will.revoke()
	if g.thread != nil {
		g.thread.end()
	}
	_ = os.Remove(g.dir)
}
