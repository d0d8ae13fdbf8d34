package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// machine is what the kernel can do. Tests take from it to force what other
// machines lack.
type machine struct {
	landlock   int    // the ABI; 0 without Landlock
	seccomp    bool   // system-call filters
	supervisor bool   // calls that a filter cannot judge can be asked about, and done for the caller
	adopts     bool   // orphans have to come to this process for that
	group      string // a directory of control groups that is ours to divide; "" for none
	counted    bool   // groups made there count memory and threads
	maxPID     int    // numbers of processes end here
}

// scoped reports whether a domain keeps signals inside.
func (m machine) scoped() bool { return m.landlock >= 6 }

func inspect() machine {
	m := machine{
		landlock: restrict.LandlockABI(), seccomp: restrict.HasFilters(),
		group: ownGroup(), maxPID: number("/proc/sys/kernel/pid_max"),
	}
	m.counted = m.group != "" && shareControllers(m.group) == nil

	// Which processes of this user may this one look into (Yama)? 0: all; 1: its descendants, which
	// orphans are not any more unless they come to this process; else none. A capability lifts that but for 3.
	traces := number("/proc/sys/kernel/yama/ptrace_scope")
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if traces < 3 && unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0 {
		traces = 0
	}
	m.adopts = traces == 1

	// A supervisor needs a kernel that asks somebody, who can also take what an argument names: a
	// descriptor (Linux 5.6), and who is told which sockets are listened at.
	action := uint32(restrict.Notify)
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	_, getfd := unix.PidfdGetfd(-1, 0, 0)
	m.supervisor = forkexec.Available && m.seccomp && e == 0 && getfd == unix.EBADF && (traces == 0 || traces == 1)
	if fd, err := diagnosing(); err != nil {
		m.supervisor = false
	} else {
		if _, err = listeners(fd); err != nil {
			m.supervisor = false
		}
		unix.Close(fd)
	}
	return m
}

// number is what a file of /proc says; 0 where there is none.
func number(name string) int {
	text, _ := os.ReadFile(name)
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// ownGroup is the control group (version 2) that this process is in, if groups
// may be made in it and killed at once (Linux 5.14).
func ownGroup() string {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	self, _ := os.ReadFile("/proc/self/cgroup")
	var mount, dir string
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			mount = f[1]
		}
	}
	for line := range strings.Lines(string(self)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && mount != "" && dir == "" {
			dir = strings.TrimSuffix(mount+path, "/")
		}
	}
	for _, pid := range []int{os.Getpid(), os.Getppid()} { // the latter at level 2
		if p, ok := readProcess(pid); ok && filepath.Base(dir) == lowerName+owner(p)+"-" {
			dir = filepath.Dir(dir) // this process has gone one further down
			break
		}
	}
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
