package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Confines reports whether commands open only what their rules name, as far as this
// machine should; Report says what was seen of it.
func (s *Sandbox) Confines() bool { return s.mode != Off }

// try tries the profile with acts that it forbids.
func (s *Sandbox) try() Report {
	tried := func(path string, args ...string) error {
		argv := bounded(Command{Path: path, Args: append([]string{path}, args...)}, s.home, false, os.Getenv)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = "/"
		return cmd.Run()
	}
	works := tried("/usr/bin/true") == nil
	refuses := func(name, path string, args ...string) Part {
		switch {
		case s.mode == Off:
			return Part{Name: name, Why: "the sandbox is off", Fix: "Use --sandbox auto or required"}
		case !works:
			return Part{Name: name, Why: "Seatbelt does not run a program here", Fix: "Use a macOS that has " + sandboxExec}
		case tried(path, args...) == nil:
			return Part{Name: name, Why: "Seatbelt does not forbid it", Fix: "Do not rely on it; report this with the system's version"}
		}
		return Part{Name: name, Holds: true, Why: "Seatbelt refused the attempt"}
	}
	return Report{
		refuses("read", "/bin/ls", s.home),
		refuses("write", "/usr/bin/touch", s.home+"/.mcp-sandbox-probe"),
		refuses("network", "/usr/bin/nc", "-z", "127.0.0.1", "80"),
		refuses("processes", "/bin/kill", "-0", fmt.Sprint(os.Getpid())),
		{Name: "kernel", Why: "macOS has no filter of system calls for programs to use"},
		{Name: "kill", Why: "only a walk through the processes finds what a command started, and that can be outrun"},
		{Name: "limits", Why: "file size and CPU time of a process are limited, memory is not watched"},
		{Name: "namespaces", Why: "macOS has none"},
	}
}

// Start starts a command and returns its tree: the process and all that come of
// it. ctx is for the start alone.
func (s *Sandbox) Start(ctx context.Context, c Command, f Files) (*Tree, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	free := s.mode == Off || c.Rules.UnsafeUnrestricted
	if s.mode == Required && free {
		return nil, forbidden()
	}
	files, null, err := f.open()
	if err != nil {
		return nil, fault.From(err)
	}
	defer null.Close()
	argv := bounded(c, s.home, free, os.Getenv)
	attr := &os.ProcAttr{
		Dir: c.Dir, Env: append([]string{}, c.Env...), Files: files, // nil as Env would be ours
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: c.Terminal},
	}
	first, err := os.StartProcess(argv[0], argv, attr)
	if err != nil {
		return nil, startFailed(c, err)
	}
	a := &ancestry{newRelatives(first.Pid)}
	a.sessions[first.Pid] = true
	t := newTree(first, a, c, nil)
	t.onEnd = func() { s.forget(t) }
	s.remember(t)
	go t.await(func() {})
	go t.watch()
	return t, nil
}

const sandboxExec = "/usr/bin/sandbox-exec"

// profile is rules in Seatbelt's language, and the parameters it names. The last
// rule that matches decides. Paths go in as parameters, never as text, so that a
// quote in a name cannot add a rule.
func profile(r Rules, home string, getenv func(string) string) (text string, params []string) {
	var p strings.Builder
	p.WriteString(`(version 1)
(deny default)
(allow process-exec) (allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.notification_center"))
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library")
  (subpath "/opt") (subpath "/private/etc") (subpath "/private/var/db/timezone") (subpath "/private/var/select") (literal "/dev"))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty")
  (literal "/dev/random") (literal "/dev/urandom"))
(allow file-ioctl (literal "/dev/tty"))
`)
	add := func(kind, rule string, paths []string) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path) // Seatbelt knows /private/tmp, not /tmp
			if err != nil {
				continue
			}
			name := fmt.Sprintf("%s%d", kind, len(params))
			params = append(params, "-D", name+"="+real)
			fmt.Fprintf(&p, "(%s (subpath (param %q)))\n", rule, name)
		}
	}
	add("R", "allow file-read*", append(toolPaths(home, getenv), r.readable()...))
	add("W", "allow file-read* file-write*", r.writable())
	add("H", "deny file-read* file-write*", paths(r.Hide)) // the last rule that matches counts
	if r.Network {
		p.WriteString(`(allow network*) (allow system-socket)
(allow mach-lookup (global-name "com.apple.dnssd.service") (global-name "com.apple.SystemConfiguration.configd"))
`)
	}
	return p.String(), params
}

// bounded is argv under the limits that a shell can set before it becomes the
// program, and under a profile unless it is free.
func bounded(c Command, home string, free bool, getenv func(string) string) []string {
	const gate = `exec "$0" "$@"`
	var limits strings.Builder
	limits.WriteString("ulimit -c 0; ")
	if c.Limits.FileSize > 0 {
		fmt.Fprintf(&limits, "ulimit -f %d; ", (c.Limits.FileSize+511)/512)
	}
	if c.Limits.CPU > 0 {
		fmt.Fprintf(&limits, "ulimit -t %d; ", int64(c.Limits.CPU.Seconds()+0.999))
	}
	argv := append([]string{"/bin/sh", "-c", limits.String() + gate, c.Path}, c.Args[1:]...)
	if free {
		return argv
	}
	text, params := profile(c.Rules, home, getenv)
	return append(append(append([]string{sandboxExec, "-p", text}, params...), "--"), argv...)
}
