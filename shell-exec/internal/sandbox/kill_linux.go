package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// killerKind is which killer a command gets.
type killerKind int

const (
	_          killerKind = iota
	byDomain              // Landlock's signal scope
	bySpace               // a PID namespace, at level 2
	byGroup               // a control group
	byAncestry            // parents, sessions and what Landlock lets the command's thread look at
)

func (k killerKind) String() string {
	return [...]string{"", "Landlock's signal scope", "a PID namespace", "a control group", "a walk through /proc"}[k]
}

// killer is the surest kind that there is: no process can leave the first two, and the third only one that may
// write to the tree of groups. The last can be outrun; the report says so.
func (m machine) killer(level2 bool) killerKind {
	switch {
	case m.scoped():
		return byDomain
	case level2:
		return bySpace
	case m.group != "":
		return byGroup
	}
	return byAncestry
}

// alive is false for what is only a status that nobody has asked for yet.
func (p process) alive() bool { return p.state != 'Z' && p.state != 'X' && p.state != 'x' }

// processList is every process of the machine.
func processList() ([]process, error) {
	all, err := procfs.PIDs()
	var out []process
	for _, pid := range all {
		if p, ok := readProcess(pid); ok {
			out = append(out, p)
		}
	}
	return out, err
}

// readProcess reads what /proc says of a process; false where there is none.
func readProcess(pid int) (process, bool) {
	s, ok := procfs.Read(pid)
	return process{
		pid: pid, via: s.Via, threads: s.Threads, state: s.State, parent: s.Parent, session: s.Session,
		cpu: s.Own, start: uint64(s.Start), memory: s.Resident,
	}, ok
}

// alive are the processes among pids that live.
func alive(pids ...int) (out []process) {
	for _, pid := range pids {
		if p, ok := readProcess(pid); ok && p.alive() {
			out = append(out, p)
		}
	}
	return out
}

// signal reaches the process p and never another one, whose number may be p's by now: pidfd_open holds on to
// the process that has the number, and then the start time tells which one that is.
func (p process) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && err != unix.ENOSYS {
		return err
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := readProcess(p.pid); !ok || now.start != p.start {
		return unix.ESRCH
	}
	if err == unix.ENOSYS { // before Linux 5.3
		return unix.Kill(p.pid, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// awaitEnd returns when the child has ended, if the kernel can tell that without a
// thread of this process waiting for it (Linux 5.10): the status is then there.
func awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "process")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// newestPID is the number that was given to a process last.
func newestPID() int {
	var buf [128]byte
	b, err := procfs.Beginning("/proc/loadavg", buf[:])
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	n, _ := strconv.Atoi(string(f[len(f)-1]))
	return n
}

// maxLooks is how often processes are looked for before it stays open whether there are any.
const maxLooks = 100

var errUnsettled = errors.New("processes come and go too fast to say that none is left")

// settled is what look sees. It sees nobody only if meanwhile no process came to
// be that it could have missed.
func settled(look func() ([]process, error)) ([]process, error) {
	for range maxLooks {
		before := newestPID()
		if out, err := look(); err != nil || len(out) > 0 || newestPID() == before {
			return out, err
		}
	}
	return nil, errUnsettled
}

// domain is the killer of the processes of a Landlock domain: those that its thread may
// signal, and no others (ABI 6, LANDLOCK_SCOPE_SIGNAL). A process cannot leave
// its domain, whatever it does.
type domain struct {
	thread   *thread
	canary   *canary
	first    int       // the number of the process that began it
	began    time.Time // before first was there
	maxPID   int       // where numbers start again
	watchdog *watchdog // only the thread reads and sets it, and release
}

// guard has everything in the domain killed from inside of it, should this process
// end before it could do that: the kernel keeps the watchdog's signals to the domain then too.
func (d *domain) guard() {
	_ = d.thread.run(func() (err error) { // without a watchdog the first process dies all the same
		if err = d.prove(); err == nil {
			d.watchdog, err = newWatchdog("kill -s KILL -- -1")
		}
		return err
	})
}

// prove is nil if this is the thread and its signals stay inside: they do not reach the canary. It comes
// before each use of a signal. Without it a signal to everybody would be one to everybody of this user.
func (d *domain) prove() error {
	if unix.Gettid() != d.thread.id {
		return fmt.Errorf("thread %d instead of %d", unix.Gettid(), d.thread.id)
	}
	if err := unix.Kill(d.canary.process.Pid, 0); err != unix.EPERM {
		return fmt.Errorf("the canary outside of the domain can be reached (%v)", err)
	}
	return nil
}

func (d *domain) signal(sig unix.Signal) error {
	return d.thread.run(func() error {
		if err := d.prove(); err != nil {
			return err
		}
		if err := unix.Kill(-1, sig); err != nil && err != unix.ESRCH && err != unix.EPERM {
			return err
		}
		return nil
	})
}

// members looks again as long as it sees nobody and numbers are being given out:
// what forks and ends between the list and the look was on neither. It stays on
// the thread meanwhile: a look must be shorter than a fork of strangers.
func (d *domain) members() ([]process, error) { return d.look(maxLooks) }

// survivors looks once: the kernel signals all at one moment, and lets nobody fork
// who has been killed.
func (d *domain) survivors() ([]process, error) { return d.look(1) }

func (d *domain) look(times int) (out []process, err error) {
	err = d.thread.run(func() error {
		// What began a moment ago has only numbers that were given out since. A fork takes longer than
		// a microsecond: no machine can have given out all numbers by then.
		after, last := -1, newestPID()
		if time.Since(d.began) < min(time.Second, time.Duration(d.maxPID)*time.Microsecond) {
			after = d.first - 1
		}
		for range times {
			out, err = d.reached(after, last)
			now := newestPID()
			if err != nil || len(out) > 0 || now == last || times == 1 {
				return err
			}
			after, last = last, now
		}
		return errUnsettled
	})
	return out, err
}

// reached are the living that the thread, on which this runs, may signal, among those whose numbers were
// given out after one, up to another; among all if after is -1. To ask the kernel about few numbers is
// cheaper than to list /proc. This process is none of them, though its threads may always signal each other.
func (d *domain) reached(after, last int) (out []process, err error) {
	const few = 512
	var candidates []int
	if after < 0 || last < after || last-after > few {
		if candidates, err = procfs.PIDs(); err != nil {
			return nil, err
		}
	} else {
		for pid := after + 1; pid <= last; pid++ {
			candidates = append(candidates, pid)
		}
	}
	if err := d.prove(); err != nil {
		return nil, err
	}
	for _, pid := range candidates {
		watches := d.watchdog != nil && pid == d.watchdog.shell.Pid
		if pid != unix.Getpid() && !watches && unix.Tgkill(pid, pid, 0) == nil { // threads have no such group
			out = append(out, alive(pid)...)
		}
	}
	return out, nil
}

func (d *domain) release() {
	d.thread.end()
	d.watchdog.stop()
}

// group is the killer of the processes of a control group (version 2). Children are born
// into it, and none can leave that may not write to the tree of groups.
type group struct {
	dir      string
	counts   bool    // the memory of all that is in it
	thread   *thread // nil where the group only counts
	watchdog *watchdog
}

// The names of groups begin with one of these and their owner, so that a later server can tell
// whether the owner still lives.
const (
	groupName = "mcp-command-"
	lowerName = "mcp-server-" // see shareControllers
)

func owner(p process) string { return fmt.Sprintf("%d.%d", p.pid, p.start) }

// ownGroups begins the names of the groups of commands that this process makes.
func ownGroups() string {
	self, _ := readProcess(os.Getpid())
	return groupName + owner(self) + "-"
}

// removeOldGroups removes the groups of servers that ended without doing so. Those
// with processes in them the kernel keeps: a detached command may be one.
func removeOldGroups(parent string) {
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
		if p, there := readProcess(pid); !there || owner(p) != whose {
			_ = unix.Rmdir(filepath.Join(parent, e.Name()))
		}
	}
}

// newGroup makes a group in parent, with the limits whose controllers the parent shares. The kernel
// counts threads where the limit is called one of processes.
func newGroup(parent string, l Limits) (*group, error) {
	dir, err := os.MkdirTemp(parent, ownGroups())
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

// add puts a process into the group.
func (g *group) add(pid int) error { return g.set("cgroup.procs", strconv.Itoa(pid)) }

// shareControllers has the groups in dir count memory and threads, where nobody else is concerned. The kernel
// allows that only for a group without processes: this process goes one further down, if it is alone.
func shareControllers(dir string) error {
	g := &group{dir: dir}
	const controllers = "+memory +pids"
	if err := g.set("cgroup.subtree_control", controllers); err != unix.EBUSY {
		return err
	}
	all, err := g.pids()
	if err != nil || len(all) != 1 || all[0] != os.Getpid() {
		return fmt.Errorf("%s is not this server's alone (%v)", dir, err)
	}
	self, _ := readProcess(os.Getpid())
	lower := &group{dir: filepath.Join(dir, lowerName+owner(self)+"-")}
	if err := os.Mkdir(lower.dir, 0o755); err != nil {
		return err
	}
	if err = lower.add(os.Getpid()); err == nil {
		err = g.set("cgroup.subtree_control", controllers)
	}
	if err != nil {
		_ = g.add(os.Getpid())
		_ = os.Remove(lower.dir)
	}
	return err
}

func (g *group) pids() (out []int, err error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	for _, line := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil {
			out = append(out, pid)
		}
	}
	return out, err
}

func (g *group) members() ([]process, error) { return settled(g.survivors) }

// survivors looks once: what a killed group forks is killed too.
func (g *group) survivors() ([]process, error) {
	all, err := g.pids()
	return alive(all...), err
}

func (g *group) signal(sig unix.Signal) error {
	if sig != unix.SIGKILL {
		all, err := g.members()
		return errors.Join(err, signalAll(all, sig))
	}
	// The kernel passes over a process whose first thread has ended.
	err := g.set("cgroup.kill", "1")
	all, _ := g.survivors()
	return errors.Join(err, signalAll(all, sig))
}

// guard has the kernel kill the group, should this process end before it could do that.
func (g *group) guard() {
	const script = `echo 1 >"$1/cgroup.kill"; for i in 1 2 3 4 5 6 7 8 9; do rmdir "$1" 2>/dev/null && exit; sleep 0.1; done`
	g.watchdog, _ = newWatchdog(script, g.dir)
}

// release removes the group, which is empty.
func (g *group) release() {
	g.watchdog.stop()
	if g.thread != nil {
		g.thread.end()
	}
	_ = os.Remove(g.dir)
}

// space is the killer of the processes of a PID namespace that one command has to itself,
// where Landlock does not keep signals inside. The keeper has made it. Its first process does
// nothing but reap the dead: the namespace, and what a command leaves in the
// background, lasts as long as that does, and not a moment longer.
type space struct {
	init   *os.File // a pidfd of the first process
	pid    *os.File // the namespace
	mounts *os.File // those of the command, with a /proc of the namespace

	number int // of init, as this process sees it
	thread *thread
	first  int
}

func (s *space) members() ([]process, error) { return settled(s.survivors) }

// survivors looks once: nobody is born without a first process. Members descend from the first
// process of the command or of the namespace: there is nobody else there that an orphan could go to.
func (s *space) survivors() ([]process, error) {
	all, err := processList()
	in := map[int]bool{s.first: true, s.number: true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], grown = true, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if in[p.pid] && p.pid != s.number && p.alive() {
			out = append(out, p)
		}
	}
	return out, err
}

func (s *space) signal(sig unix.Signal) error {
	if sig == unix.SIGKILL { // the kernel ends the rest with the first one
		if err := unix.PidfdSendSignal(int(s.init.Fd()), sig, nil, 0); err != unix.ESRCH {
			return err
		}
		return nil
	}
	all, err := s.members()
	return errors.Join(err, signalAll(all, sig))
}

func (s *space) close() {
	_ = unix.PidfdSendSignal(int(s.init.Fd()), unix.SIGKILL, nil, 0)
	closeFiles([]*os.File{s.init, s.pid, s.mounts})
}

func (s *space) release() {
	s.close()
	s.thread.end()
}
