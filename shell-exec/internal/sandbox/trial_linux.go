package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

const (
	needLandlock = "Use Linux 5.13 or newer with Landlock enabled (lsm=landlock,… on the kernel's command line)"
	needTruncate = "Use Linux 6.2 or newer (Landlock ABI 3)"
	needScope    = "Use Linux 6.12 or newer (Landlock ABI 6, with the fix of its erratum 2)"
	needSeccomp  = "Use a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64"
	needUserNS   = "Allow user namespaces: sysctl user.max_user_namespaces=1000, and on Ubuntu an AppArmor profile for this program " +
		"with `userns,` (or kernel.apparmor_restrict_unprivileged_userns=0); in a container, one that may make them"
	wantUserNS = "Use --sandbox-level 2"
	tellUs     = "Do not rely on it; report this with the kernel's version"
)

// outcome is what became of the acts of one part.
type outcome struct {
	refused int
	escaped string // an act that was not refused; "" if there was none
}

// try tries every promise with empty rules, as a command, and says what became of it.
func (s *Sandbox) try() Report {
	if s.mode == Off {
		var out Report
		for _, name := range []string{"read", "write", "network", "sockets", "processes", "kernel", "kill", "limits", "namespaces"} {
			out = append(out, Part{Name: name, Why: "the sandbox is off", Fix: "Use --sandbox auto or required"})
		}
		return out
	}
	tried, err := s.tryActs()
	report := s.promised(tried, err)
	killed := s.tryKill()
	limits := Part{Name: "limits"}
	if killed != nil {
		limits.Why, limits.Fix = "they could not be tried: "+cause(killed), tellUs
	} else {
		limits.Holds, limits.Why = true, "each process is bound by the kernel (RLIMIT_DATA, _FSIZE, _CPU), their sum is watched"
		if s.machine.counted {
			limits.Why += "; a control group counts all memory and threads"
		}
	}
	return append(report, s.killPart(killed), limits, s.namespacesPart(s.why, tried["namespaces"]))
}

// promised says of every promise what was seen. err is why nothing could be tried.
func (s *Sandbox) promised(tried map[string]outcome, err error) (out Report) {
	m := s.machine
	landlock, truncate, signals := fmt.Sprintf("Landlock (ABI %d)", m.landlock), needTruncate, s.confineSignals()
	if m.landlock == 0 {
		truncate, signals = needLandlock, needLandlock
	}
	for _, p := range []struct {
		name     string
		enforced bool   // this machine can
		by       string // what enforces it
		fix      string
	}{
		{"read", m.landlock > 0, landlock, needLandlock},
		{"write", m.landlock >= 3 || m.landlock > 0 && m.seccomp, landlock, truncate},
		{"network", m.seccomp, "a system-call filter", needSeccomp},
		{"sockets", m.seccomp, "a supervisor of system calls, or a filter,", needSeccomp},
		{"processes", m.landlock > 0, landlock, signals},
		{"kernel", m.seccomp, "a system-call filter", needSeccomp},
	} {
		part, saw := Part{Name: p.name, Fix: p.fix}, tried[p.name]
		switch {
		case err != nil:
			part.Why = "it could not be tried: " + cause(err)
		case !p.enforced:
			part.Why = "this kernel cannot forbid it"
		case saw.escaped != "":
			part.Why = p.by + " does not forbid " + saw.escaped
		case saw.refused == 0:
			part.Why = p.by + " is in force, but there was nothing to try it on"
			part.Fix = "Run the server where something exists that a command may not touch"
		default:
			part.Holds, part.Fix = true, ""
			part.Why = fmt.Sprintf("%s forbids it: all %d attempts were refused", p.by, saw.refused)
		}
		out = append(out, part)
	}
	return out
}

// confineSignals is what confines signals where Landlock does not, for the operator.
func (s *Sandbox) confineSignals() string {
	switch {
	case s.level == 2:
		return needScope
	case s.why != nil:
		return needScope + ", or level 2 of the sandbox. " + needUserNS
	}
	return needScope + ", or --sandbox-level 2"
}

func (s *Sandbox) killPart(err error) Part {
	by := s.machine.killer(s.level == 2)
	switch {
	case err != nil:
		return Part{Name: "kill", Why: by.String() + " did not end a command: " + cause(err), Fix: tellUs}
	case by == byAncestry:
		why := "only a walk through /proc finds what a command started, and that can be outrun"
		return Part{Name: "kill", Why: why, Fix: s.confineSignals()}
	}
	return Part{Name: "kill", Holds: true, Why: by.String() + " ended a command with everything it had started, and nothing else"}
}

// namespacesPart is level 2, which closes what level 1 leaves open.
func (s *Sandbox) namespacesPart(err error, saw outcome) Part {
	const open = "commands can change modes and times of files outside that the user may change, see that they exist, " +
		"be told by the kernel what happens to them, and see the command lines of other processes"
	part := Part{Name: "namespaces"}
	switch {
	case s.level == 2 && saw.escaped == "" && saw.refused > 0:
		part.Holds = true
		part.Why = fmt.Sprintf("level 2 forbids what level 1 leaves open: all %d attempts were refused", saw.refused)
	case s.level == 2 && s.keeper.noProc != "":
		part.Why = "commands see other processes: a /proc of their own cannot be mounted here: " + s.keeper.noProc
		part.Fix = "In a container, do not cover parts of /proc"
	case s.level == 2:
		part.Why, part.Fix = "level 2 does not forbid "+saw.escaped, tellUs
	case err != nil:
		part.Why, part.Fix = open+"; level 2 forbids that, but cannot be had: "+cause(err), needUserNS
	default:
		part.Why, part.Fix = open, wantUserNS
	}
	return part
}

// cause is an error for the report: what happened, or the system's word for it.
func cause(err error) string {
	if f, ok := err.(*fault.Error); ok && f.Err != nil {
		return f.Msg + " (" + f.Err.Error() + ")"
	}
	return err.Error()
}

// tryActs runs a trial outside of the sandbox, and then one inside with the network
// and one without. Only what worked outside says anything.
func (s *Sandbox) tryActs() (map[string]outcome, error) {
	t := targets{Server: pidOf(os.Getpid()), Stranger: pidOf(s.canary.process.Pid)}
	close, err := t.open()
	if err != nil {
		return nil, err
	}
	defer close()
	work, _ := os.Getwd()
	for _, dir := range []string{"/", s.home, work, os.TempDir()} {
		if dir != "" && !slices.Contains(t.Dirs, dir) && (s.level == 1 || !covered(dir, scratch())) {
			t.Dirs = append(t.Dirs, dir) // in scratch directories commands have one of their own
		}
	}
	outside, err := t.tryFree()
	if err != nil {
		return nil, err
	}
	connected, err := s.tryInside(t, true)
	if err != nil {
		return nil, err
	}
	offline, err := s.tryInside(t, false)
	if err != nil {
		return nil, err
	}
	tried := map[string]outcome{}
	for part, acts := range outside {
		inside, o := connected, outcome{}
		if part == "network" {
			inside = offline
		}
		for _, name := range acts {
			if slices.Contains(inside[part], name) {
				o.escaped = name
			} else {
				o.refused++
			}
		}
		tried[part] = o
	}
	return tried, nil
}

func pidOf(number int) pid {
	p, _ := readProcess(number)
	return pid{number, p.start}
}

func (t targets) environment() []string {
	text, _ := json.Marshal(t) // strings and numbers
	// A program built with the race detector would wait for a second at its end.
	return []string{role + "=" + roleTrial, trialTargets + "=" + string(text), "GORACE=atexit_sleep_ms=0"}
}

// tryFree is what the program of a trial could do without a sandbox.
func (t targets) tryFree() (worked, error) {
	thread, err := newThread(func() error { return nil })
	if err != nil {
		return nil, err
	}
	defer thread.end()
	t.Thread = pidOf(thread.id)
	free := exec.Command("/proc/self/exe")
	free.Env = t.environment()
	text, err := free.Output()
	if err != nil {
		return nil, err
	}
	return readTrial(string(text))
}

// tryInside is what it could do as a command.
func (s *Sandbox) tryInside(t targets, network bool) (worked, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := confine.OpenGrant(self, nil)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	defer in.Close()
	l := &launch{s: s, kind: s.machine.killer(s.level == 2), c: Command{
		Path: program.Path(), Args: []string{"mcp-trial"}, Dir: "/", Rules: Rules{Read: []*confine.Grant{program}, Network: network},
	}}
	defer l.abandon()
	if err := l.bind(); err != nil {
		return nil, err
	}
	t.Thread = pidOf(l.thread.id)
	l.c.Env = t.environment()
	files, null, err := Files{Stdout: in}.open()
	if err != nil {
		return nil, err
	}
	defer null.Close()
	p, err := l.exec(l.c.Path, l.c.Args, files)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = p.Kill()
		_, _ = p.Wait()
	}()
	if l.supervisor != nil {
		go l.supervisor.serve()
	}
	in.Close()
	_ = out.SetReadDeadline(time.Now().Add(20 * time.Second))
	text, err := io.ReadAll(out)
	if err != nil {
		return nil, err
	}
	return readTrial(string(text))
}

// tryKill starts a command of two processes and ends it, while the canary lives.
func (s *Sandbox) tryKill() error {
	in, keep, err := os.Pipe()
	if err != nil {
		return err
	}
	defer keep.Close()
	const waits = `exec 3<&0; (read -r a <&3) & read -r a <&3`
	t, err := s.Start(context.Background(), Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", waits}, Dir: "/", Limits: Limits{FileSize: 1 << 30},
	}, Files{Stdin: in})
	in.Close()
	if err != nil {
		return err
	}
	defer t.Close()
	for range 1000 {
		if t.Usage().Processes == 2 {
			break
		}
		time.Sleep(time.Millisecond / 2)
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(t.pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil || limit.Max > 1<<30 {
		return fmt.Errorf("a limit is not in force (%v)", err)
	}
	if n := t.Usage().Processes; n != 2 {
		return fmt.Errorf("%d of 2 processes were found", n)
	}
	if err := t.Kill(); err != nil {
		return err
	}
	if status := t.Wait(); status.Signal != "SIGKILL" {
		return fmt.Errorf("the command ended with %+v", status)
	}
	if len(alive(s.canary.process.Pid)) == 0 {
		return fmt.Errorf("a stranger was killed")
	}
	return nil
}

// targets are what a trial tries to reach: things of this process and a process of
// the same user, all of them outside. Trying changes nothing, whether it works or
// not.
type targets struct {
	Dirs     []string // that a command may not read, nor write
	Outside  string   // a directory with the file "file", the socket "socket"
	Port     int      // of a listener on 127.0.0.1
	Abstract string   // a socket's name

	Server, Thread, Stranger pid
}

// open makes what is to be reached. close takes it away.
func (t *targets) open() (close func(), err error) {
	t.Outside, err = os.MkdirTemp("", "mcp-trial-")
	if err != nil {
		return nil, err
	}
	var opened []net.Listener
	close = func() {
		for _, l := range opened {
			_ = l.Close()
		}
		_ = os.RemoveAll(t.Outside)
	}
	t.Abstract = "mcp-trial-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(t.Outside)
	for _, at := range [][2]string{{"tcp4", "127.0.0.1:0"}, {"unix", filepath.Join(t.Outside, "socket")}, {"unix", "@" + t.Abstract}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			continue // what cannot be made is not tried either
		}
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			t.Port = tcp.Port
		}
		opened = append(opened, l)
	}
	if err := os.WriteFile(filepath.Join(t.Outside, "file"), nil, 0o600); err != nil {
		close()
		return nil, err
	}
	return close, nil
}

// pid is a process or thread that is known by its start as well: in another PID
// namespace the number may be somebody else's.
type pid struct {
	Number int
	Start  uint64
}

// act is something that no command may do.
type act struct {
	part string
	name string
	try  func() error
}

// acts are all that is tried.
func (t targets) acts() []act {
	file, socket := filepath.Join(t.Outside, "file"), filepath.Join(t.Outside, "socket")
	all := []act{
		{"read", "reading a file outside", opens(file, unix.O_RDONLY)},
		{"write", "writing to a file outside", opens(file, unix.O_WRONLY)},
		{"write", "emptying a file outside", func() error { return unix.Truncate(file, 0) }},
		{"write", "emptying a file outside by opening it", opens(file, unix.O_RDONLY|unix.O_TRUNC)},
		{"write", "renaming a file outside", func() error { return unix.Rename(file, file) }},
		{"namespaces", "changing the mode of a file outside", func() error { return unix.Chmod(file, 0o600) }},
		{"namespaces", "changing the times of a file outside", func() error { return unix.Utimes(file, make([]unix.Timeval, 2)) }},
		{"namespaces", "seeing that a file outside exists", func() error { return unix.Access(file, unix.F_OK) }},
		{"namespaces", "seeing the command line of a stranger", opens(fmt.Sprintf("/proc/%d/cmdline", t.Stranger.Number), unix.O_RDONLY)},
		{"network", "connecting to a server", func() error {
			return connects(unix.AF_INET, &unix.SockaddrInet4{Port: t.Port, Addr: [4]byte{127, 0, 0, 1}})
		}},
		{"kernel", "sockets of AF_ALG", func() error {
			return closes(unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0))
		}},
		{"kernel", "unshare", func() error { return unix.Unshare(0) }},
		{"kernel", "keys of the kernel", func() error {
			if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, false); err != unix.ENOKEY {
				return err
			}
			return nil
		}},
		{"sockets", "connecting to a socket file of another program", func() error {
			return connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: socket})
		}},
		{"sockets", "connecting to an abstract socket of another program", func() error {
			return connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + t.Abstract})
		}},
	}
	for _, dir := range t.Dirs {
		all = append(all,
			act{"read", "reading " + dir, opens(dir, unix.O_RDONLY|unix.O_DIRECTORY)},
			act{"write", "creating a file in " + dir, opens(dir, unix.O_WRONLY|unix.O_TMPFILE)})
	}
	for _, p := range []struct {
		who string
		pid
		proc string
	}{
		{"the server", t.Server, fmt.Sprintf("/proc/%d/", t.Server.Number)},
		{"the thread that started it", t.Thread, fmt.Sprintf("/proc/%d/task/%d/", t.Server.Number, t.Thread.Number)},
		{"a stranger", t.Stranger, fmt.Sprintf("/proc/%d/", t.Stranger.Number)},
	} {
		n := p.Number // limits and priorities are set to what they are
		add := func(what string, try func() error) { all = append(all, act{"processes", what + " " + p.who, try}) }
		add("looking into", func() error { _, err := os.Readlink(p.proc + "cwd"); return err })
		add("reading the environment of", opens(p.proc+"environ", unix.O_RDONLY))
		add("reading the memory of", opens(p.proc+"mem", unix.O_RDONLY))
		add("signalling", p.same(func() error { return unix.Kill(n, 0) }))
		add("limiting", p.same(func() error {
			var now unix.Rlimit
			if err := unix.Prlimit(n, unix.RLIMIT_NOFILE, nil, &now); err != nil {
				return err
			}
			return unix.Prlimit(n, unix.RLIMIT_NOFILE, &now, nil)
		}))
		add("slowing down", p.same(func() error {
			now, err := unix.Getpriority(unix.PRIO_PROCESS, n)
			if err != nil {
				return err
			}
			return unix.Setpriority(unix.PRIO_PROCESS, n, 20-now) // the system call counts from the other end
		}))
	}
	return all
}

// same is try if it could only have been this process that it was done to.
func (p pid) same(try func() error) func() error {
	return func() error {
		if err := try(); err != nil {
			return err
		}
		if s, ok := procfs.Read(p.Number); ok && uint64(s.Start) != p.Start {
			return unix.ESRCH // somebody else has the number here
		}
		return nil
	}
}

func closes(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// opens opens and closes. With O_TMPFILE the file has no name and vanishes.
func opens(path string, flags int) func() error {
	return func() error {
		return closes(unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600))
	}
}

func connects(family int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

// trialTargets is the variable that tells a trial what to try, and trialChild that it is
// the child of one.
const (
	trialTargets = "MCP_SANDBOX_TARGETS"
	trialChild   = "MCP_SANDBOX_CHILD"
)

// runTrial is the whole work of a command that tries everything: on the thread that
// the program began with, on another one, and in a child. It writes down the names
// of what worked, and "done".
func runTrial() {
	var t targets
	if err := json.Unmarshal([]byte(os.Getenv(trialTargets)), &t); err != nil {
		return
	}
	say := func(where string) {
		for _, a := range t.acts() {
			if a.try() == nil {
				fmt.Printf("%s\t%s\t%s\n", a.part, a.name, where)
			}
		}
	}
	if os.Getenv(trialChild) != "" {
		say("in a child")
		fmt.Println("child")
		return
	}
	say("")
	done := make(chan struct{})
	runtime.LockOSThread() // so that the other one is another one
	go func() {
		defer close(done)
		runtime.LockOSThread()
		say("on another thread")
	}()
	<-done
	child := exec.Command("/proc/self/exe")
	child.Env, child.Stdout = append(os.Environ(), trialChild+"=1"), os.Stdout
	if child.Run() == nil {
		fmt.Println("done")
	}
}

// worked is what a trial could do: names of acts by part.
type worked map[string][]string

// readTrial parses what a trial has written. One that was cut off proves nothing: what it
// did not try would count as refused.
func readTrial(text string) (worked, error) {
	w := worked{}
	child := false
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case f[0] == "child":
			child = true
		case f[0] == "done" && child:
			return w, nil
		case len(f) == 3:
			name := strings.TrimSpace(f[1] + " " + f[2])
			if !slices.Contains(w[f[0]], name) {
				w[f[0]] = append(w[f[0]], name)
			}
		}
	}
	return nil, fmt.Errorf("the trial was cut off: %q", text)
}
