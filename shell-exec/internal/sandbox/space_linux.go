package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// space holds the processes of a PID namespace that one command has to itself,
// where Landlock does not keep signals inside. It has a first process that does
// nothing but bury the dead: the namespace, and what a command leaves in the
// background, lasts as long as that does, and not a moment longer.
type space struct {
	init   *os.File // a pidfd of the first process
	pid    *os.File // the namespace
	mounts *os.File // those of the command, with a /proc of the namespace

	number int // of init, as this process sees it
	thread *thread
	first  int
}

// space asks for a PID namespace for one command, in a copy of the mounts.
func (k *keeper) space(mounts *os.File) (*space, error) {
	_, files, err := k.ask(request{}, mounts)
	if err != nil {
		return nil, err
	}
	s := &space{init: files[0], pid: files[1], mounts: files[2]}
	if s.number, err = pidfdNumber(s.init); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// pidfdNumber is the number of a process that is held.
func pidfdNumber(f *os.File) (int, error) {
	return strconv.Atoi(fdinfo(int(f.Fd()), "Pid"))
}

// fdinfo is what the kernel tells of a descriptor of this process under a name; "" for nothing.
func fdinfo(fd int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// newSpace is asked of the keeper: it makes a PID namespace and, in a copy of the
// mounts, its /proc.
func newSpace(mounts *os.File) (files []*os.File, err error) {
	var pidfd int
	init, err := os.StartProcess("/proc/self/exe", []string{"mcp-init"}, &os.ProcAttr{
		Dir: "/", Env: []string{role + "=" + roleInit}, Files: []*os.File{nil, nil, nil},
		Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID, PidFD: &pidfd},
	})
	if err != nil {
		return nil, fmt.Errorf("first process of a PID namespace: %w", err)
	}
	files = []*os.File{os.NewFile(uintptr(pidfd), "init")}
	_, err = newThread(func() error {
		if err := unix.Setns(pidfd, unix.CLONE_NEWPID); err != nil {
			return err
		}
		pid, err := os.Open("/proc/thread-self/ns/pid_for_children")
		if err != nil {
			return err
		}
		files = append(files, pid)
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		if err := unix.Setns(int(mounts.Fd()), unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		own, err := os.Open("/proc/thread-self/ns/mnt")
		if err != nil {
			return err
		}
		files = append(files, own)
		// Where /proc may not be mounted, that of all commands stays.
		_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=ptraceable")
		return nil
	})
	if err != nil {
		_ = init.Kill()
		closeFiles(files)
		return nil, err
	}
	return files, nil
}

// runInit is the work of the first process of a PID namespace.
func runInit() {
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	signal.Ignore(unix.SIGCHLD) // the kernel then reaps by itself
	for {
		time.Sleep(time.Hour)
	}
}

// members are those that descend from the first process of the command or of
// the namespace: there is nobody else there that an orphan could go to.
func (s *space) members() ([]process, error) { return settled(s.seen) }

// doomed looks once: nobody is born without a first process.
func (s *space) doomed() ([]process, error) { return s.seen() }

func (s *space) seen() ([]process, error) {
	all, err := census()
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

func (s *space) strike(sig unix.Signal) error {
	if sig == unix.SIGKILL { // the kernel takes the rest with the first one
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
