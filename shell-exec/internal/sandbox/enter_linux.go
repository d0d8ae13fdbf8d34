package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// role is the variable that tells a process of this program what it is.
const (
	role       = "MCP_SANDBOX_ROLE"
	roleInit   = "init"   // the first process of a PID namespace
	roleInside = "inside" // the server, in a user namespace of its own
)

// Enter prepares level 2. main calls it before anything else. The program is
// then started once more, in a user namespace in which its threads may have
// namespaces of their own; Enter waits for that, passes signals on, and says
// with which code to end. Where done is false the caller goes on: it is inside,
// it is at level 1, or err says why there is no inside.
func Enter(level int) (code int, done bool, err error) {
	switch os.Getenv(role) {
	case roleInit:
		bury()
	case roleInside:
		return 0, false, os.Unsetenv(role)
	}
	if level < 2 {
		return 0, false, nil
	}
	return again()
}

func again() (code int, done bool, err error) {
	inspect()              // to go down in the tree of control groups, while this process is alone in its own
	runtime.LockOSThread() // Pdeathsig is about this thread
	defer runtime.UnlockOSThread()
	uid, gid := os.Getuid(), os.Getgid()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), role+"="+roleInside)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN},
		Pdeathsig:   unix.SIGKILL,
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, false, fmt.Errorf("no user namespace: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case sig := <-signals:
				_ = cmd.Process.Signal(sig)
			case <-ended:
				return
			}
		}
	}()
	return exitCode(cmd.Wait()), true, nil
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}
