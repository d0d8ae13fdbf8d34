//go:build unix

package process

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// pipe is a pipe whose end here does not block. The command's end does, for programs do not expect that a write to stdout
// can say "not now". Both ends close at an exec, even of a command that another goroutine starts at this moment.
func pipe(output bool) (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	here, there, name := ends[0], ends[1], "output"
	if !output {
		here, there, name = ends[1], ends[0], "input"
	}
	if err := unix.SetNonblock(here, true); err != nil {
		_, _ = unix.Close(here), unix.Close(there)
		return nil, nil, err
	}
	return os.NewFile(uintptr(here), name), os.NewFile(uintptr(there), name), nil
}

// maxInPipe is more than a pipe holds: who has read that much has read all that was there at the beginning.
const maxInPipe = 1 << 20

// rest takes what is in the pipe, and does not wait.
func (d *drain) rest(buffer []byte) {
	raw, err := d.from.SyscallConn()
	if err != nil {
		return
	}
	for taken := 0; taken <= maxInPipe; {
		n := 0
		if raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buffer) }) != nil || n <= 0 {
			return
		}
		_, _ = d.to.Write(buffer[:n])
		taken += n
	}
}

// signals are those that document 003 lets a caller send.
var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT,
	"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// stop keeps a process from doing anything more.
const stop = syscall.SIGSTOP

// apart is a session of its own: what happens to the server's session, or its terminal, is not the job's.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signals is what a supervisor passes on; stop ends that. A hang-up is a signal like others to it.
func Signals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGTERM, toKill, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	return c, func() { signal.Stop(c) }
}

// adopt remembers a supervisor that this process has to reap.
func (j *jobs) adopt(p *os.Process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.children = append(j.children, p)
}

// reap takes those that have ended, and waits for none: until then each keeps its number, so none is mistaken.
func (j *jobs) reap() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.children = slices.DeleteFunc(j.children, func(p *os.Process) bool {
		if pid, err := unix.Wait4(p.Pid, nil, unix.WNOHANG, nil); pid == 0 && err == nil {
			return false
		}
		_ = p.Release()
		return true
	})
}

// A person's start-up files may wait for something that never comes.
const (
	toLogIn  = 5 * time.Second
	toFinish = 500 * time.Millisecond
)

// LoginPath is the PATH of the person's login shell, which a server started by a desktop does not have. Nothing else of
// that shell's environment is taken. server is the environment of this process.
func LoginPath(ctx context.Context, server []string) (string, error) {
	environment := Environment{Server: server}.server(append(strings.Fields(passed), "LOGNAME"))
	environment["TERM"] = "dumb"
	shell := environment["SHELL"]
	if !filepath.IsAbs(shell) {
		shell = "/bin/sh"
	}
	ctx, cancel := context.WithTimeout(ctx, toLogIn)
	defer cancel()
	mark := rand.Text()
	cmd := exec.CommandContext(ctx, shell, "-i", "-l", "-c", "echo "+mark+"; printenv PATH; echo "+mark)
	cmd.Env, cmd.Dir, cmd.WaitDelay = Entries(environment), environment["HOME"], toFinish
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // not reaped yet: nobody else has the number
	out, err := cmd.Output()
	parts := bytes.Split(out, []byte(mark))
	if len(parts) != 3 {
		return "", fault.New(fault.Misconfigured, "the login shell "+shell+" did not tell its PATH",
			"Set PATH for the server, or leave --login-path out").Because(err)
	}
	path := strings.TrimSpace(string(parts[1]))
	if path == "" || strings.ContainsAny(path, "\n\x00") {
		return "", fault.New(fault.Misconfigured, "the login shell "+shell+" has no usable PATH",
			"Set PATH for the server, or leave --login-path out")
	}
	return path, nil
}

// fileNumber names a directory as long as it exists.
func fileNumber(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Dev, "/", st.Ino, "/", st.Uid)
	}
	return ""
}
