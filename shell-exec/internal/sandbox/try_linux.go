package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// act is something no command may do under empty rules. Trying it changes
// nothing, whether it is refused or not.
type act struct {
	part string
	name string
	try  func() error
}

// outcome is what became of the acts of one part.
type outcome struct {
	refused int
	escaped string // an act that was not refused; "" if there was none
}

// try tries every promise with empty rules, and says what became of it. If
// namespaces cannot be had, commands go without them.
func (s *Sandbox) try() Report {
	var why error
	if s.level == 2 {
		if why = s.tryNamespaces(); why != nil {
			s.level = 1
		}
	}
	tried, err := s.tryActs()
	report := s.machine.report(tried, err)
	if err := s.tryInner(); err != nil {
		report.withdraw("processes", cause(err), needLandlock+", on amd64 or arm64")
	}
	killed := s.tryKill()
	report = append(report, s.killPart(killed), s.limitsPart(killed))
	return append(report, s.namespacesPart(why))
}

// tryNamespaces is nil if a thread can be given its own.
func (s *Sandbox) tryNamespaces() error {
	l := &launch{s: s, means: s.machine.means(true)}
	thread, err := l.bound()
	thread.end()
	if l.space != nil {
		l.space.close()
	}
	return err
}

// tryActs tries what is forbidden, first free, then bound. Only what worked
// before says anything.
func (s *Sandbox) tryActs() (map[string]outcome, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err == nil {
		defer listener.Close()
	}
	var worked []act
	for _, a := range s.acts(listener) {
		if a.try() == nil {
			worked = append(worked, a)
		}
	}
	l := &launch{s: s, means: byDomain}
	thread, err := l.bound()
	if err != nil {
		return nil, err
	}
	defer thread.end()
	seen := map[string]outcome{}
	err = thread.run(func() error {
		for _, a := range worked {
			o := seen[a.part]
			if a.try() == nil {
				o.escaped = a.name
			} else {
				o.refused++
			}
			seen[a.part] = o
		}
		return opens("/bin/sh", unix.O_RDONLY)() // else being refused would mean nothing
	})
	return seen, err
}

func (s *Sandbox) acts(listener net.Listener) []act {
	all := []act{
		{"read", "reading the root directory", opens("/", unix.O_RDONLY|unix.O_DIRECTORY)},
		{"processes", "looking into a stranger", s.canary.looked},
		{"processes", "reading a stranger's environment", opens(fmt.Sprintf("/proc/%d/environ", s.canary.process.Pid), unix.O_RDONLY)},
		{"kernel", "unshare", func() error { return unix.Unshare(0) }},
		{"network", "a socket of AF_ALG", func() error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET) }},
	}
	// In a space the thread is outside, and only commands are inside; where a supervisor judges
	// signals, it does so for commands: there tryInner tries it.
	if s.machine.means(s.level == 2) != bySpace && !s.machine.judgesSignals(s.level) {
		all = append(all, act{"processes", "signalling a stranger", s.canary.reachable})
	}
	work, _ := os.Getwd()
	for _, dir := range []string{s.home, work, os.TempDir()} {
		if dir == "" || s.level == 2 && covered(dir, scratch()) {
			continue // there every command has a directory of its own
		}
		all = append(all,
			act{"read", "reading " + dir, opens(dir, unix.O_RDONLY|unix.O_DIRECTORY)},
			act{"write", "creating a file in " + dir, opens(dir, unix.O_WRONLY|unix.O_TMPFILE)})
	}
	if listener != nil {
		all = append(all, act{"network", "connecting to a server", func() error { return connects(listener.Addr()) }})
	}
	return all
}

// opens opens and closes. With O_TMPFILE the file has no name and vanishes.
func opens(path string, flags int) func() error {
	return func() error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// connects connects on the calling thread, as net.Dial might not.
func connects(to net.Addr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: to.(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}})
}

// looked is nil if the calling thread may look into the canary.
func (c *canary) looked() error {
	_, err := os.Readlink("/proc/" + strconv.Itoa(c.process.Pid) + "/cwd")
	return err
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
	return s.killed(t)
}

func (s *Sandbox) killed(t *Tree) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(t.PID(), unix.RLIMIT_FSIZE, nil, &limit); err != nil || limit.Max > 1<<30 {
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
	if p, ok := look(s.canary.process.Pid); !ok || !p.alive() {
		return fmt.Errorf("a stranger was killed")
	}
	return nil
}

// cause is an error for the report: what happened, or the system's word for it.
func cause(err error) string {
	if f, ok := err.(*fault.Error); ok && f.Err != nil {
		return f.Msg + " (" + f.Err.Error() + ")"
	}
	return err.Error()
}
