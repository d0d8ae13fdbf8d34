package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// newInner is the second layer, which every command enters between fork and exec,
// alone. It forbids nothing more than the first one does; but Landlock lets nobody
// look into or signal what is not in the same layers, or deeper. So a thread of
// this process reaches its command, and the command neither the thread, by which
// it would have all of this process, nor its will. nil where that cannot be had.
func (m machine) newInner() (*os.File, error) {
	if m.landlock == 0 || !forkexec.Available {
		return nil, nil
	}
	// Every layer denies moving files between directories until it is allowed: so that
	// is allowed everywhere. ABI 1 cannot, and has a right here that no command has.
	attr := ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer, Scoped: handled(m.landlock, true).Scoped}
	if m.landlock < 2 {
		attr.HandledAccessFS = ll.AccessFSMakeBlock
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	set := os.NewFile(uintptr(fd), "landlock")
	if m.landlock < 2 {
		return set, nil
	}
	if err := (grant{path: "/", rights: ll.AccessFSRefer}).allow(fd); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// withdraw takes back that a promise is kept.
func (r Report) withdraw(name, why, fix string) {
	for i := range r {
		if r[i].Name == name && r[i].Holds {
			r[i] = Part{Name: name, Why: why, Fix: fix}
		}
	}
}

// allow adds a rule to a ruleset.
func (g grant) allow(ruleset int) error {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: g.rights, ParentFd: fd}, 0)
}

// attempts are what no command may do to the thread $1 of the process $2, which
// started it; whatever works is printed. It ends well only if it may do the same
// to itself, and when it was waited for.
const attempts = `
cd /proc/$$/cwd || exit
cd /proc/$2/task/$1/cwd && echo looking into it through its thread
cd /proc/$2/cwd && echo looking into it
if [ "$3" ]; then
	kill -s 0 $$ || exit
	kill -s 0 $1 && echo signalling its thread
	kill -s 0 $2 && echo signalling it
fi
echo done
read -r nothing`

// tryInner starts a command that tries to reach the thread that started it, and
// this process; the thread must reach the command.
func (s *Sandbox) tryInner() error {
	if s.inner == nil {
		return errors.New("this kernel or this processor has no second layer for commands")
	}
	l := &launch{s: s, c: Command{Dir: "/"}, means: byDomain}
	var err error
	if l.thread, err = l.bound(); err != nil {
		return err
	}
	defer l.abandon()
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	wait, goOn, err := os.Pipe()
	if err != nil {
		in.Close()
		return err
	}
	defer wait.Close()
	defer goOn.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		in.Close()
		return err
	}
	defer null.Close()
	scoped := ""
	if s.machine.scoped() || s.machine.judgesSignals(s.level) {
		scoped = "scoped"
	}
	args := []string{"sh", "-c", attempts, "sh", fmt.Sprint(l.thread.id), fmt.Sprint(os.Getpid()), scoped}
	p, err := l.exec("/bin/sh", args, []*os.File{wait, in, null})
	in.Close()
	if err != nil {
		return err
	}
	defer p.Wait()
	defer p.Kill()
	if l.supervisor != nil {
		go l.supervisor.serve()
	}
	said := make([]byte, 0, 200)
	_ = out.SetReadDeadline(time.Now().Add(10 * time.Second))
	for !strings.HasSuffix(string(said), "done\n") {
		n, err := out.Read(said[len(said):cap(said)])
		said = said[:len(said)+n]
		if err != nil || len(said) == cap(said) {
			return fmt.Errorf("a command could not try to reach what started it: %q, %v", said, err)
		}
	}
	if worked := strings.TrimSuffix(string(said), "done\n"); worked != "" {
		return fmt.Errorf("a command reaches the thread that started it: %s", strings.ReplaceAll(strings.TrimSpace(worked), "\n", ", "))
	}
	return l.thread.run(func() error {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.Pid))
		return err
	})
}
