package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// olderBox is a sandbox as on a kernel whose Landlock has no scope for signals.
func olderBox(t *testing.T, home string, abi int) *Sandbox {
	t.Helper()
	m := inspect()
	if m.landlock < abi || !m.supervisor || level() == 2 {
		t.Skip("SKIPPED: signals are not supervised here")
	}
	m.landlock = abi
	s, err := m.sandbox(Options{Mode: Auto, Level: 1, Home: home})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	for _, part := range reportOf(fmt.Sprint("ABI ", abi), s) {
		if part.Name == "processes" && !part.Holds {
			t.Errorf("ABI %d: %+v", abi, part)
		}
	}
	return s
}

func TestWithoutScopesNothingElseIsReachedEither(t *testing.T) {
	w := newFixture(t)
	for _, abi := range []int{5, 1} {
		s := olderBox(t, w.Home, abi)
		stranger, err := newCanary()
		must(t, err)
		defer stranger.close()
		other, err := s.Start(t.Context(), w.shell("exec sleep 30"), Files{})
		must(t, err)
		defer other.Close()
		for name, pid := range map[string]int{"this process": os.Getpid(), "a stranger": stranger.process.Pid, "another command": other.PID()} {
			if got := kindsOf(run(t, s, free(w.deed(t, "reach", strconv.Itoa(pid)))).out); !slices.Contains(got, "signal") {
				t.Errorf("%s is not reached from outside of the sandbox either, which says nothing: %q", name, got)
			}
			if got := run(t, s, w.deed(t, "reach", strconv.Itoa(pid))); !got.ok() || got.out != "" {
				t.Errorf("ABI %d: %s is reached:\n%s%+v", abi, name, got.out, got.Status)
			}
			if got := run(t, s, w.deed(t, "own", fmt.Sprint(pid, " ", int(unix.SIGWINCH)))); got.out != "[]\n" {
				t.Errorf("ABI %d: a file tells %s: %+v", abi, name, got)
			}
			c := w.deed(t, "reach", strconv.Itoa(pid))
			c.Detached = true
			if got := run(t, s, c); !got.ok() || got.out != "" {
				t.Errorf("ABI %d, detached: %s is reached:\n%s%+v", abi, name, got.out, got.Status)
			}
		}
	}
}

// TestWithoutScopesACommandSignalsItsOwn runs what shells and programs do all the time.
func TestWithoutScopesACommandSignalsItsOwn(t *testing.T) {
	w := newFixture(t)
	s := olderBox(t, w.Home, 5)
	for _, script := range []string{
		`kill -0 $$ && sleep 30 & kill $! && wait $!; [ $? = 143 ]`,
		`trap 'echo caught' USR1; kill -USR1 $$; kill -USR1 $$; [ caught ]`,
		`sleep 30 & p=$!; kill -STOP $p; kill -CONT $p; kill -9 $p; wait $p; [ $? = 137 ]`,
		`setsid sh -c 'sleep 30 & echo >ready; wait' & p=$!; until [ -e ready ]; do sleep 0.01; done; kill -TERM -$p; wait $p; [ $? = 143 ]`,
		`trap '' TERM; kill -TERM 0`,
		`timeout 0.1 sleep 30; [ $? = 124 ]`,
		`! kill -0 -1 2>/dev/null`,
		`! kill -0 1 2>/dev/null`,
		`! kill -0 999999999 2>/dev/null`,
	} {
		if got := run(t, s, w.shell(script)); !got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
	got := run(t, s, w.deed(t, "reach", "self"))
	for _, want := range []string{"signal: kill", "signal: tkill", "signal: tgkill", "signal: rt_sigqueueinfo", "pidfd: signal"} {
		if !strings.Contains("\n"+got.out, "\n"+want) {
			t.Errorf("a command cannot do this to itself: %s", want)
		}
	}
	if got := run(t, s, w.deed(t, "storm", "")); !got.ok() {
		t.Errorf("signals to oneself, with handlers: %+v", got)
	}
	if got := run(t, s, w.deed(t, "hide", "")); got.ok() {
		t.Errorf("a process hid itself: %+v", got)
	}
}

// storm signals itself in all ways, and counts what comes.
func storm() error {
	came := make(chan os.Signal, 1000)
	signal.Notify(came, unix.SIGUSR1)
	runtime.LockOSThread()
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	ways := []func() error{
		func() error { return unix.Kill(os.Getpid(), unix.SIGUSR1) },
		func() error { return unix.Kill(0, unix.SIGUSR1) },
		func() error { return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGUSR1) },
		func() error {
			_, _, e := unix.Syscall(unix.SYS_TKILL, uintptr(unix.Gettid()), uintptr(unix.SIGUSR1), 0)
			return errOf(e)
		},
		func() error { return unix.PidfdSendSignal(pidfd, unix.SIGUSR1, nil, 0) },
	}
	for i := range 100 {
		if err := ways[i%len(ways)](); err != nil {
			return fmt.Errorf("way %d: %w", i%len(ways), err)
		}
		select {
		case <-came:
		case <-time.After(2 * time.Minute):
			return fmt.Errorf("way %d: nothing came", i%len(ways))
		}
		time.Sleep(time.Millisecond)
		if len(came) > 0 {
			return fmt.Errorf("way %d: it came %d times", i%len(ways), 1+len(came))
		}
	}
	return nil
}

// truncated empties a file that may be read, in the ways that Landlock does not see before ABI 3.
func truncated(path string) error {
	_ = unix.Truncate(path, 0)
	for _, flags := range []int{unix.O_RDONLY, 3} {
		if fd, err := unix.Open(path, flags|unix.O_TRUNC, 0); err == nil {
			unix.Close(fd)
		}
		if fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: uint64(flags | unix.O_TRUNC)}); err == nil {
			unix.Close(fd)
		}
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > 0 {
		err = unix.EPERM
	}
	return err
}

func TestBeforeABI3NothingOutsideIsTruncated(t *testing.T) {
	w := newFixture(t)
	m := inspect()
	if m.landlock < 2 || !m.seccomp {
		t.Skip("SKIPPED: no Landlock, or no system-call filters")
	}
	for _, abi := range []int{2, 1} {
		m.landlock = abi
		s, err := m.sandbox(Options{Mode: Auto, Level: level(), Home: w.Home})
		must(t, err)
		for _, part := range s.Report() {
			if part.Name == "write" && !part.Holds {
				t.Errorf("ABI %d: %+v", abi, part)
			}
		}
		c := w.deed(t, "truncate", w.Outside+"/file")
		c.Rules.Read = append(c.Rules.Read, mcptest.Grant(w.Outside))
		if got := run(t, s, c); got.ok() {
			t.Errorf("ABI %d: %+v", abi, got)
		}
		if got := run(t, s, w.shell("echo x >new && echo y >new && head -c 1 new && : >new")); got.out != "y" {
			t.Errorf("ABI %d, what may be written: %+v", abi, got)
		}
		if got := run(t, s, free(c)); !got.ok() {
			t.Errorf("does not work outside of the sandbox either, and so says nothing: %+v", got)
		}
		must(t, os.WriteFile(w.Outside+"/file", []byte("strange content"), 0o644))
		must(t, s.Close())
	}
}

// objects makes what other programs of the user can find: it says which could be made.
func objects() error {
	made := 0
	if id, _, e := unix.Syscall(unix.SYS_SHMGET, 0, 4096, 0o600|unix.IPC_CREAT); e == 0 {
		made++
		_, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
	}
	if id, _, e := unix.Syscall(unix.SYS_MSGGET, 0, 0o600|unix.IPC_CREAT, 0); e == 0 {
		made++
		_, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
	}
	if id, _, e := unix.Syscall(unix.SYS_SEMGET, 0, 1, 0o600|unix.IPC_CREAT); e == 0 {
		made++
		_, _, _ = unix.Syscall(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID)
	}
	fmt.Print(made)
	return nil
}

func TestObjectsThatStrangersFindAreNotMade(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	want := "0"
	if level() == 2 {
		want = "3" // nobody else is in their namespace
	}
	if got := run(t, s, w.deed(t, "objects", "")); got.out != want {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, free(w.deed(t, "objects", ""))); got.out != "3" {
		t.Errorf("outside of the sandbox: %+v", got)
	}
}

// leases asks to be told before others open a file, and to keep them waiting.
func leases(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	return err
}

// TestNobodyWaitsToOpenAFile: a program with a lease on it would start only after most of a minute,
// and nothing else would be started meanwhile.
func TestNobodyWaitsToOpenAFile(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	if got := run(t, s, w.deed(t, "lease", w.Work+"/file")); got.ok() {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, free(w.deed(t, "lease", w.Work+"/file"))); !got.ok() {
		t.Errorf("does not work outside of the sandbox either, and so says nothing: %+v", got)
	}
}

// flags sets flags of a file to what they are, by its name.
func flags(path string) error {
	const getattr, setattr = 468, 469
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	var attr [3]uint64
	here, size := unix.AT_FDCWD, unsafe.Sizeof(attr)
	for _, call := range []uintptr{getattr, setattr} {
		if _, _, e := unix.Syscall6(call, uintptr(here), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&attr)), size, 0, 0); e != 0 {
			return e
		}
	}
	return nil
}

func TestFlagsOfOthersFilesAreLeftAlone(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	if got := run(t, s, free(w.deed(t, "flag", w.Outside+"/file"))); !got.ok() {
		t.Skip("SKIPPED: this kernel has no call for it: " + got.out)
	}
	if got := run(t, s, w.deed(t, "flag", w.Outside+"/file")); got.ok() {
		t.Errorf("%+v", got)
	}
}

// TestOwnersAndAttributesOfOthersAreLeftAlone runs what sets them.
func TestOwnersAndAttributesOfOthersAreLeftAlone(t *testing.T) {
	if level() == 2 {
		t.Skip("at level 2 what is outside is read-only")
	}
	w := newFixture(t)
	s := openBox(t, w.Home)
	for _, script := range []string{"chown 12345 $OUT/file", "chgrp 12345 $OUT/file", "chown -h 12345 $OUT/file"} {
		c := w.shell(script)
		c.Env = append(c.Env, "OUT="+w.Outside)
		if os.Getuid() == 0 {
			if got := run(t, s, free(c)); !got.ok() {
				t.Errorf("%s: does not work outside of the sandbox either, and so says nothing: %+v", script, got)
			}
		}
		if got := run(t, s, c); got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
	for _, script := range []string{
		"mkdir a && echo x >a/f && cp -a a b && tar cf a.tar a && mkdir c && tar xpf a.tar -C c && cmp a/f c/a/f",
		"cp -p file copy && mv copy moved && install -m 600 file installed && chown $(id -u):$(id -g) installed",
	} {
		if got := run(t, s, w.shell(script)); !got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// TestWithNobodyToAskCommandsHaveNoLocalSockets, and run all the same.
func TestWithNobodyToAskCommandsHaveNoLocalSockets(t *testing.T) {
	w := newFixture(t)
	m := inspect()
	if m.landlock == 0 || m.landlock >= 9 || !m.seccomp {
		t.Skip("SKIPPED: Landlock is missing, or sees local sockets")
	}
	m.supervisor = false
	s, err := m.sandbox(Options{Mode: Auto, Level: level(), Home: w.Home})
	must(t, err)
	defer s.Close()
	serveAt(t, "unix", w.Work+"/foreign")
	if got := run(t, s, w.deed(t, "unix", w.Work+"/foreign")); got.ok() {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, w.deed(t, "serves", w.Work)); got.ok() || !strings.Contains(got.out, "operation not permitted") {
		t.Errorf("%+v", got)
	}
	if got := run(t, s, w.shell("echo a | cat | cat; nice -n 1 true")); got.out != "a\n" {
		t.Errorf("%+v", got)
	}
}
