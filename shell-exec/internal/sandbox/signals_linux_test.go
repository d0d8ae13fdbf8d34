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

	"golang.org/x/sys/unix"
)

// olderBox is a sandbox as on a kernel whose Landlock has no scope for signals.
func olderBox(t *testing.T, home string, abi int) *Sandbox {
	t.Helper()
	m := inspect()
	if m.landlock < abi || !m.supervisor || level() == 2 {
		t.Skip("SKIPPED: signals are not supervised here")
	}
	m.landlock = abi
	s, report, err := m.sandbox(Options{Mode: Auto, Level: 1, Home: home})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	for _, part := range report {
		if part.Name == "processes" && !part.Holds {
			t.Errorf("ABI %d: %+v", abi, part)
		}
	}
	return s
}

func TestWithoutScopesNothingElseIsReachedEither(t *testing.T) {
	w := newWorld(t)
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
			if got := run(t, s, w.deed(t, "own", strconv.Itoa(pid))); got.out != "[]\n" {
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
	w := newWorld(t)
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
		case <-time.After(5 * time.Second):
			return fmt.Errorf("way %d: nothing came", i%len(ways))
		}
		time.Sleep(time.Millisecond)
		if len(came) > 0 {
			return fmt.Errorf("way %d: it came %d times", i%len(ways), 1+len(came))
		}
	}
	return nil
}
