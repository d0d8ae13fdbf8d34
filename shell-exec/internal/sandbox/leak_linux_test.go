package sandbox

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// TestNoRestrictionLeaksToOtherThreads starts commands on many restricted
// threads while others are made and used, garbage is collected, and each new
// thread checks that it is itself free.
func TestNoRestrictionLeaksToOtherThreads(t *testing.T) {
	const commands, starters, checkers = 200, 8, 6
	w := newFixture(t)
	s := newBox(t, w.Home)
	secret := w.Home + "/.ssh/id_ed25519"
	var checks, leaks atomic.Int64
	var work, check sync.WaitGroup
	done := make(chan struct{})
	for range checkers {
		check.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				onFreshThread(func() {
					checks.Add(1)
					if leak := restricted(secret); leak != "" {
						leaks.Add(1)
						t.Error(leak)
					}
				})
				runtime.GC()
			}
		})
	}
	var ran atomic.Int64
	for range starters {
		work.Go(func() {
			for range commands / starters {
				got := run(t, s, w.shell("cat ~/.ssh/id_ed25519; (setsid sleep 60 >/dev/null 2>&1 &); echo done"))
				if !strings.Contains(got.out, "ermission denied") && !strings.Contains(got.out, "No such file") || !strings.Contains(got.out, "done") {
					t.Errorf("%+v", got)
				}
				ran.Add(1)
			}
		})
	}
	work.Wait()
	close(done)
	check.Wait()
	t.Logf("%d commands, %d checks, %d leaks", ran.Load(), checks.Load(), leaks.Load())
	if checks.Load() < commands || ran.Load() != commands {
		t.Error("too little was tried")
	}
}

// onFreshThread runs f on a thread that ends with it.
func onFreshThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// restricted says what the calling thread may not do; "" if it is free.
func restricted(secret string) string {
	if _, err := os.ReadFile(secret); err != nil {
		return "files: " + err.Error()
	}
	if err := closes(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)); err != nil {
		return "sockets: " + err.Error()
	}
	if v, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); v != 0 {
		return "no_new_privs"
	}
	return ""
}

// boundThreads are the threads of this process that have given up rights.
func boundThreads(t *testing.T) (n int) {
	entries, err := os.ReadDir("/proc/self/task")
	must(t, err)
	for _, e := range entries {
		status, _ := os.ReadFile("/proc/self/task/" + e.Name() + "/status")
		if strings.Contains(string(status), "NoNewPrivs:\t1") {
			n++
		}
	}
	return n
}

func TestThreadsEndWithTheirCommands(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	const spare = 1
	tree, err := s.Start(t.Context(), w.shell("sleep 100"), Files{})
	must(t, err)
	eventually(t, "the thread of one command, and the next one", func() bool { return boundThreads(t) == 1+spare })
	must(t, tree.Close())
	for range 20 {
		run(t, s, w.shell("true"))
	}
	eventually(t, "the end of all threads but the next one", func() bool { return boundThreads(t) == spare })
	must(t, s.Close())
	eventually(t, "the end of that one, too", func() bool { return boundThreads(t) == 0 })
}

// TestAThreadMadeAheadHoldsTheRulesOfItsCommand runs commands under one set of rules
// until a thread waits for the next of them, and then one that may do less.
func TestAThreadMadeAheadHoldsTheRulesOfItsCommand(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	ahead := func() *thread {
		s.spare.mu.Lock()
		defer s.spare.mu.Unlock()
		return s.spare.thread
	}
	for round := range 3 {
		wide := w.shell("echo x >file && cat /etc/hostname >/dev/null && echo done")
		if got := run(t, s, wide); got.out != "done\n" {
			t.Fatalf("%+v", got)
		}
		eventually(t, "a thread for the next one", func() bool { return ahead() != nil })
		waiting := ahead()
		narrow := wide
		narrow.Rules = Rules{Read: []*confine.Grant{mcptest.Grant(w.Work)}, Temp: mcptest.Grant(w.Temp)}
		if got := run(t, s, narrow); got.ok() || !strings.Contains(got.out, "ermission denied") {
			t.Errorf("round %d: %+v", round, got)
		}
		eventually(t, "a thread for another like that", func() bool { next := ahead(); return next != nil && next != waiting })
		waiting = ahead()
		run(t, s, narrow)
		if ahead() == waiting {
			t.Error("the thread that was made ahead was not used, and so nothing was tried")
		}
	}
}

func TestFiftyCommandsAtOnce(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	const n = 50
	var trees [n]*Tree
	mark := token()
	for i := range trees {
		var err error
		trees[i], err = s.Start(t.Context(), w.shell("sleep $1 & wait", mark), Files{})
		must(t, err)
	}
	eventually(t, "fifty sleepers", func() bool { return len(sleepers(carriers(t, mark))) == n })
	for i, tree := range trees {
		if u := tree.Usage(); u.Processes != 2 || u.Memory == 0 {
			t.Errorf("command %d: %+v", i, u)
		}
		if all := tree.PIDs(); len(all) != 2 || !slices.Contains(all, tree.PID()) {
			t.Errorf("command %d: %d is of %v", i, tree.PID(), all)
		}
	}
	must(t, trees[0].Kill())
	if left := len(sleepers(carriers(t, mark))); left != n-1 {
		t.Errorf("%d of %d others live", left, n-1)
	}
	var all sync.WaitGroup
	for _, tree := range trees {
		all.Go(func() { tree.Close() })
	}
	all.Wait()
	if left := carriers(t, mark); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
