package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// machine is what the kernel can do. Tests take from it to force what other
// machines lack.
type machine struct {
	landlock   int    // the ABI; 0 without Landlock
	seccomp    bool   // system-call filters
	supervisor bool   // calls that a filter cannot judge can be asked about, and done for who asks
	adopts     bool   // orphans have to come to this process for that
	group      string // a directory of control groups that is ours to divide; "" for none
	counted    bool   // groups made there count memory and threads
	pids       int    // numbers of processes end here
}

func inspect() machine {
	looks := traces()
	fd, err := diagnosing()
	if err == nil {
		_, err = listeners(fd)
		unix.Close(fd)
	}
	m := machine{
		landlock: landlockABI(), seccomp: seccomp.Available(), group: ownGroup(), pids: lastPID(),
		supervisor: forkexec.Available && canListen() && looks != nobody && err == nil, adopts: looks == descendants,
	}
	m.counted = m.group != "" && handOn(m.group) == nil
	return m
}

// tracing is which processes of this user this one may look into (Yama).
type tracing int

const (
	everybody   tracing = iota
	descendants         // orphans are none any more, unless they come to this process
	nobody
)

func traces() tracing {
	text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	scope, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	switch {
	case err != nil || scope == 0:
		return everybody
	case scope < 3 && unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0:
		return everybody
	case scope == 1:
		return descendants
	}
	return nobody
}

// landlockABI is the version of Landlock to be used: 0 where there is none. 6
// and 7 without the fix of erratum 2 count as 5: there a thread in a domain can
// no longer signal the other threads of its process, which the Go runtime does
// all the time.
func landlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	if errata, err := ll.LandlockGetErrata(); abi >= 6 && (err != nil || errata&2 == 0) {
		return 5
	}
	return abi
}

// scoped reports whether a domain keeps signals inside.
func (m machine) scoped() bool { return m.landlock >= 6 }

// ownGroup is the control group (version 2) that this process is in, if groups
// may be made in it and killed at once (Linux 5.14).
func ownGroup() string {
	dir := groupDir()
	if dir == "" || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	probe, err := os.MkdirTemp(dir, "mcp-probe-")
	if err != nil {
		return ""
	}
	defer os.Remove(probe)
	if unix.Access(probe+"/cgroup.kill", unix.W_OK) != nil || unix.Access(probe+"/cgroup.procs", unix.W_OK) != nil {
		return ""
	}
	return dir
}

// groupDir is where the control group of this process stands in the file system.
func groupDir() string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	var mount string
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			mount = f[1]
		}
	}
	for line := range strings.Lines(string(self)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && mount != "" {
			dir := strings.TrimSuffix(mount+path, "/")
			for _, pid := range []int{os.Getpid(), os.Getppid()} { // the latter at level 2
				if p, ok := look(pid); ok && filepath.Base(dir) == lowerName+owner(p)+"-" {
					return filepath.Dir(dir) // this process has gone one further down
				}
			}
			return dir
		}
	}
	return ""
}

// lastPID is where the numbers of processes begin anew.
func lastPID() int {
	b, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}
