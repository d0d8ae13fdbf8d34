package sandbox

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// boxes are sandboxes of this level by every means of holding a tree, those too
// that this machine would not choose.
func boxes(t *testing.T, home string) map[string]*Sandbox {
	t.Helper()
	newBox(t, home) // or there is nothing to take from
	full := inspect()
	older, without, alone := full, full, full
	unscoped := min(full.landlock, 5)
	older.landlock, without.landlock, alone.landlock = unscoped, unscoped, unscoped
	without.group = ""
	alone.group = ""
	type choice struct {
		machine
		mode Mode
		kind killerKind
	}
	all := map[string]choice{}
	if full.scoped() {
		all["the signal scope"] = choice{full, Auto, byDomain}
	} else {
		t.Log("SKIPPED: the signal scope: this kernel has none")
	}
	if level() == 2 {
		all["a PID namespace"] = choice{older, Auto, bySpace}
	} else {
		all["a walk by what Landlock lets see"] = choice{without, Auto, byAncestry}
		all["a walk by parents and marks"] = choice{alone, Off, byAncestry}
		if full.group != "" {
			all["a control group"] = choice{older, Auto, byGroup}
		} else {
			t.Log("SKIPPED: a control group: none of ours here")
		}
	}
	out := map[string]*Sandbox{}
	for name, c := range all {
		s, err := c.machine.sandbox(Options{Mode: c.mode, Level: level(), Home: home})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		if got := s.machine.killer(s.level == 2); got != c.kind {
			t.Fatalf("%s: held by %v instead: %+v", name, got, s.Report())
		}
		for _, part := range reportOf(name, s) {
			if part.Name == "kill" && c.kind != byAncestry && !part.Holds {
				t.Errorf("%s: %+v", name, part)
			}
		}
		out[name] = s
	}
	return out
}

// token is a sleep that nobody else sleeps: it finds processes again.
func token() string { return fmt.Sprintf("3000.%09d", rand.IntN(1e9)) }

// carriers are the living processes with the token among their arguments.
func carriers(t testing.TB, token string) (out []string) {
	t.Helper()
	all, err := procfs.PIDs()
	must(t, err)
	for _, pid := range all {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if p, ok := readProcess(pid); ok && p.alive() && pid != os.Getpid() && bytes.Contains(line, []byte(token)) {
			out = append(out, fmt.Sprintf("%d %c %q", pid, p.state, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// daemon forks twice, as daemons do, and ignores the signals that it can.
const daemon = `
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(3000)
    os._exit(0)
`

// runaways start all kinds of processes that a kill of the shell, or of its
// group, would leave behind.
func runaways(w fixture) (c Command, n int) {
	script := `
sleep $1 | cat &
setsid sleep $1 &
(setsid sh -c "sleep $1 & exit 0" &)
(trap "" TERM HUP INT; sleep $1) &
nohup sleep $1 >/dev/null 2>&1 &
`
	n = 5
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		script += "/usr/bin/python3 -c \"$2\" $1\n"
		n++
	}
	return w.shell(script+"wait", token(), daemon), n
}

func TestNothingSurvivesAKill(t *testing.T) {
	w := newFixture(t)
	stranger, err := newCanary()
	must(t, err)
	defer stranger.close()
	const rounds = 3
	for name, s := range boxes(t, w.Home) {
		neighbour, err := s.Start(t.Context(), w.shell("exec sleep 1000"), Files{})
		must(t, err)
		for range rounds {
			c, n := runaways(w)
			tree, err := s.Start(t.Context(), c, Files{})
			must(t, err)
			mark := c.Args[4]
			eventually(t, fmt.Sprintf("%s: one of %d runaways", name, n), func() bool {
				_ = tree.Usage() // a walk must have seen parents while they lived, as watch does
				return len(sleepers(carriers(t, mark))) == n
			})
			must(t, tree.Kill())
			if left := carriers(t, mark); len(left) > 0 {
				t.Errorf("%s: left are %q", name, left)
			}
			if status := tree.Wait(); status.Signal != "SIGKILL" {
				t.Errorf("%s: %+v", name, status)
			}
			must(t, tree.Close())
			if p, ok := readProcess(stranger.process.Pid); !ok || !p.alive() {
				t.Fatalf("%s: a stranger was killed", name)
			}
			if p, ok := readProcess(neighbour.PID()); !ok || !p.alive() {
				t.Fatalf("%s: another command was killed", name)
			}
		}
		must(t, neighbour.Close())
	}
}

func TestAScriptThatIsEndedDoesNotGoOn(t *testing.T) {
	w := newFixture(t)
	went := w.Work + "/went-on"
	for name, s := range boxes(t, w.Home) {
		for signal, end := range map[string]func(*Tree) error{
			"SIGKILL": (*Tree).Kill,
			"SIGTERM": func(tree *Tree) error { return tree.Signal(unix.SIGTERM) },
		} {
			for range 10 {
				c := w.shell(`sleep $1; >went-on; exec sleep $1`, token())
				tree, err := s.Start(t.Context(), c, Files{})
				must(t, err)
				eventually(t, name+": a sleeper", func() bool {
					_ = tree.Usage() // a walk must have seen parents while they lived, as watch does
					return len(sleepers(carriers(t, c.Args[4]))) == 1
				})
				must(t, end(tree))
				if status := tree.Wait(); status.Signal != signal {
					t.Errorf("%s: %+v", name, status)
				}
				must(t, tree.Close())
			}
			if _, err := os.Stat(went); err == nil {
				t.Errorf("%s, %s: it went on to its next command", name, signal)
				must(t, os.Remove(went))
			}
		}
		if r := run(t, s, w.shell("sleep $1; >went-on", "0")); !r.ok() || os.Remove(went) != nil {
			t.Errorf("%s: without a kill it does not go on: %+v", name, r)
		}
	}
}

// sleepers are the carriers that are no shells on their way.
func sleepers(carriers []string) (out []string) {
	for _, c := range carriers {
		_, line, _ := strings.Cut(c, `"`)
		if strings.HasPrefix(line, "sleep ") || strings.HasPrefix(line, "/usr/bin/python3 ") {
			out = append(out, c)
		}
	}
	return out
}

// chain hops into a new process and a new session, a bounded number of times.
const chain = `#!/bin/sh
[ "$1" -gt 0 ] || exec sleep "$2"
setsid sh "$0" $(($1-1)) "$2" &
exit 0
`

// TestAChainOfForksIsCaught kills a chain whose first process has ended long
// before: a look that misses the one link there is must not take the tree for empty.
func TestAChainOfForksIsCaught(t *testing.T) {
	w := newFixture(t)
	must(t, os.WriteFile(w.Work+"/chain", []byte(chain), 0o755))
	const rounds = 5
	for name, s := range boxes(t, w.Home) {
		for range rounds {
			mark := token()
			c := w.shell(`for i in 1 2 3; do setsid sh ./chain 40 $1 & done`, mark)
			c.Limits.Processes = 40
			tree, err := s.Start(t.Context(), c, Files{})
			must(t, err)
			tree.Wait()
			time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond) // anywhere in the chain
			select {
			case <-tree.Gone():
				t.Fatalf("%s: given back with %q", name, carriers(t, mark))
			default:
			}
			must(t, tree.Kill())
			if left := carriers(t, mark); len(left) > 0 {
				t.Errorf("%s: left are %q", name, left)
			}
			must(t, tree.Close())
		}
	}
}

func TestTheFirstProcessIsNotWaitedForByItsChildren(t *testing.T) {
	w := newFixture(t)
	for name, s := range boxes(t, w.Home) {
		mark := token()
		tree, err := s.Start(t.Context(), w.shell("sleep $1 & exit 3", mark), Files{})
		must(t, err)
		if status := tree.Wait(); status.Code != 3 {
			t.Errorf("%s: %+v", name, status)
		}
		if n := tree.Usage().Processes; n != 1 {
			t.Errorf("%s: %d processes are left, %q", name, n, carriers(t, mark))
		}
		must(t, tree.Close())
		if left := carriers(t, mark); len(left) > 0 {
			t.Errorf("%s: left are %q", name, left)
		}
	}
}

func TestASignalReachesTheWholeTree(t *testing.T) {
	w := newFixture(t)
	for name, s := range boxes(t, w.Home) {
		mark := token()
		tree, err := s.Start(t.Context(), w.shell("setsid sleep $1 & sleep $1 & wait; wait; sleep $1", mark), Files{})
		must(t, err)
		eventually(t, "two sleepers", func() bool { return len(sleepers(carriers(t, mark))) == 2 })
		must(t, tree.Signal(unix.SIGTERM))
		eventually(t, name+": the end", func() bool { return len(carriers(t, mark)) == 0 })
		if status := tree.Wait(); status.Signal != "SIGTERM" {
			t.Errorf("%s: %+v", name, status)
		}
		<-tree.Gone()
		must(t, tree.Kill()) // of nothing
		must(t, tree.Close())
	}
}

func TestClosingTheSandboxEndsAllButTheDetached(t *testing.T) {
	w := newFixture(t)
	newBox(t, w.Home)
	s, err := New(Options{Mode: Auto, Level: level(), Home: w.Home})
	must(t, err)
	bound, detached := token(), token()
	_, err = s.Start(t.Context(), w.shell("setsid sleep $1", bound), Files{})
	must(t, err)
	c := w.shell("exec sleep $1", detached)
	c.Detached = true
	tree, err := s.Start(t.Context(), c, Files{})
	must(t, err)
	eventually(t, "both", func() bool {
		return len(sleepers(carriers(t, bound))) == 1 && len(sleepers(carriers(t, detached))) == 1
	})
	must(t, s.Close())
	if left := carriers(t, bound); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if len(carriers(t, detached)) != 1 {
		t.Error("the detached command was ended")
	}
	must(t, unix.Kill(tree.PID(), unix.SIGKILL))
	tree.Wait()
	if _, err := s.Start(t.Context(), w.shell("true"), Files{}); err == nil {
		t.Error("a command started after the end")
	}
}

func TestTheLimitsHold(t *testing.T) {
	w := newFixture(t)
	for name, s := range boxes(t, w.Home) {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) { limitsHold(t, w, s) })
	}
}

func limitsHold(t *testing.T, w fixture, s *Sandbox) {
	const most = 48 << 20
	// What dd has read it keeps until somebody takes it.
	hogs := w.shell(`for i in 1 2 3 4; do dd if=/dev/zero bs=16M count=1 | sleep 100 & done; wait`)
	hogs.Limits.Memory = most
	if got := run(t, s, hogs); !got.MemoryExceeded || got.Peak < most || got.Signal != "SIGKILL" {
		t.Errorf("memory of all: %+v", got)
	}
	hog := w.shell(`sleep 0.2; dd if=/dev/zero of=/dev/null bs=60M count=1`) // limits come right after the start
	if got := run(t, s, hog); !got.ok() {
		t.Errorf("memory of one does not work without a limit, and so says nothing: %+v", got)
	}
	hog.Limits.Memory = most
	if got := run(t, s, hog); got.ok() {
		t.Errorf("memory of one: %+v", got)
	}
	many := w.shell(`for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 100 & done; wait`)
	many.Limits.Processes = 10
	if got := run(t, s, many); !got.ProcessesExceeded {
		t.Errorf("processes: %+v", got)
	}
	big := w.shell(`sleep 0.2; head -c 2000000 /dev/zero > "$1"`, strings.ReplaceAll(t.Name(), "/", "-"))
	big.Limits.FileSize = 1 << 20
	run(t, s, big)
	if info, err := os.Stat(w.Work + "/" + big.Args[4]); err != nil || info.Size() != 1<<20 {
		t.Errorf("a file grew: %v %v", info, err)
	}
	if s.machine.killer(s.level == 2) != byDomain {
		return // the kernel counts a second of the processor, at the least: the call is the one for the size of a file
	}
	spin := w.shell("while :; do :; done")
	spin.Limits.CPU = time.Second
	if got := run(t, s, spin); got.Signal != "SIGXCPU" && got.Signal != "SIGKILL" {
		t.Errorf("CPU: %+v", got)
	}
}

// TestAtLevelTwo runs all tests of this package again, inside a user namespace.
func TestAtLevelTwo(t *testing.T) {
	if level() == 2 {
		t.Skip("this is level 2")
	}
	self, err := os.Executable()
	must(t, err)
	const differ = "OutsideCannot|ConnectedTo|OutOfReach|Survives|ChainOfForks|Promise|LimitsHold|NoKindOfMemory|SharedCountsOnce|NoFirstThread|ToolsOf|JobControl|LeadsNowhere|IsHidden|IsOfOneCommand|RunsAsSomebody"
	cmd := exec.Command(self, "-test.v", "-test.timeout=20m", "-test.run="+differ)
	cmd.Env = append(os.Environ(), levelTwo+"=2")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "SKIP") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// TestTheEndOfAnUnrestrictedCommandLeavesOthersAlone has one whose first process has ended
// and one that has a will: both are children of this process that no other command is to
// take for its own.
func TestTheEndOfAnUnrestrictedCommandLeavesOthersAlone(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	mark := token()
	other, err := s.Start(t.Context(), w.shell("setsid sleep $1 & exit 0", mark), Files{})
	must(t, err)
	defer other.Close()
	shell := willOf(t)
	for range 5 {
		if got := run(t, s, free(w.shell("sleep 0.05"))); !got.ok() {
			t.Fatalf("%+v", got)
		}
	}
	if p, ok := readProcess(shell); !ok || !p.alive() {
		t.Error("its will was ended")
	}
	if left := sleepers(carriers(t, mark)); len(left) != 1 {
		t.Errorf("left of it are %q", left)
	}
}
