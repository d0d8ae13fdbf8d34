package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

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
		{"kernel", "sockets of AF_ALG", func() error { return closes(unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)) }},
		{"kernel", "unshare", func() error { return unix.Unshare(0) }},
		{"kernel", "keys of the kernel", func() error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, false)
			return known(err, unix.ENOKEY)
		}},
		{"sockets", "connecting to a socket file of another program", func() error { return connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: socket}) }},
		{"sockets", "connecting to an abstract socket of another program", func() error { return connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + t.Abstract}) }},
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
		n := p.Number
		add := func(what string, try func() error) { all = append(all, act{"processes", what + " " + p.who, try}) }
		add("looking into", func() error { _, err := os.Readlink(p.proc + "cwd"); return err })
		add("reading the environment of", opens(p.proc+"environ", unix.O_RDONLY))
		add("reading the memory of", opens(p.proc+"mem", unix.O_RDONLY))
		add("signalling", p.same(func() error { return unix.Kill(n, 0) }))
		add("limiting", p.same(func() error { return relimit(n) }))
		add("slowing down", p.same(func() error { return renice(n) }))
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

func known(err, also error) error {
	if errors.Is(err, also) {
		return nil
	}
	return err
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

// relimit gives a process a limit that it has.
func relimit(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &now, nil)
}

// renice gives a process the priority that it has.
func renice(pid int) error {
	now, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return err
	}
	return unix.Setpriority(unix.PRIO_PROCESS, pid, 20-now) // the system call counts from the other end
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

// readTrial understands what a trial has written. One that did not come to its end
// says nothing.
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
