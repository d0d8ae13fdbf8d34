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
	counts bool // the memory of all that is in it
	thread *thread
	will   *will
}

// The names of groups begin with one of these and the owner: who finds one again can tell
// whether it still has that.
const (
	groupName = "mcp-command-"
	lowerName = "mcp-server-" // see handOn
)

// mine begins the names of the groups of commands that this process makes.
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
		if !ok {
			rest, ok = strings.CutPrefix(e.Name(), lowerName)
		}
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

// newGroup makes a group beneath parent, with the limits that the parent hands on. The kernel counts
// threads where the limit is called one of processes.
func newGroup(parent string, l Limits) (*group, error) {
	dir, err := os.MkdirTemp(parent, mine())
	if err != nil {
		return nil, err
	}
	g := &group{dir: dir}
	if l.Memory > 0 {
		g.counts = g.set("memory.max", strconv.FormatInt(l.Memory, 10)) == nil
		_ = g.set("memory.swap.max", "0") // or the rest goes there
		_ = g.set("memory.oom.group", "1")
	}
	if l.Processes > 0 {
		_ = g.set("pids.max", strconv.Itoa(l.threads()))
	}
	return g, nil
}

// set sets a limit where the group has it; where it has not, the tree is watched anyway.
func (g *group) set(name, value string) error {
	fd, err := unix.Open(filepath.Join(g.dir, name), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(value))
	return err
}

// take puts a process into the group.
func (g *group) take(pid int) error { return g.set("cgroup.procs", strconv.Itoa(pid)) }

// handOn has the groups in dir count memory and threads, where nobody else is concerned. The kernel hands
// that on only from a group without processes: this one goes one further down, if it is alone.
func handOn(dir string) error {
	g := &group{dir: dir}
	const controllers = "+memory +pids"
	if err := g.set("cgroup.subtree_control", controllers); err != unix.EBUSY {
		return err
	}
	all, err := g.pids()
	if err != nil || len(all) != 1 || all[0] != os.Getpid() {
		return fmt.Errorf("%s is not this server's alone (%v)", dir, err)
	}
	self, _ := look(os.Getpid())
	lower := &group{dir: filepath.Join(dir, lowerName+owner(self)+"-")}
	if err := os.Mkdir(lower.dir, 0o755); err != nil {
		return err
	}
	if err = lower.take(os.Getpid()); err == nil {
		err = g.set("cgroup.subtree_control", controllers)
	}
	if err != nil {
		_ = g.take(os.Getpid())
		_ = os.Remove(lower.dir)
	}
	return err
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
		// The kernel passes over a process whose first thread has ended.
		err := g.set("cgroup.kill", "1")
		all, _ := g.seen()
		return errors.Join(err, signalAll(all, sig))
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
