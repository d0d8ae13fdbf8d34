//go:build linux

package process_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// survivors are what has outlived the end of other people's commands: so many processes of each are alive, the shell
// included, when it is there to be ended.
var survivors = []struct {
	name, script string
	count        int
}{
	{"a pipeline", `sleep 1000 | cat; true`, 3},
	{"a session of its own", `setsid sleep 1000 & sleep 1000; true`, 3},
	{"a double fork", `(setsid sh -c 'sleep 1000 & exec sleep 1000' &) ; sleep 1000; true`, 4},
	{"what ignores TERM", `trap '' TERM HUP INT; (while :; do sleep 1000; done) & while :; do sleep 1000; done`, 4},
	{"a daemon", `/usr/bin/python3 -ISc '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(1000)'; true`, 3},
	{"a chain of forks", `/usr/bin/python3 -ISc '
import os, time
for hop in range(200):
    if os.fork() > 0: os._exit(0)
    os.setsid()
    time.sleep(0.1)
time.sleep(1000)'; sleep 1000; true`, 3},
}

// mostProcesses is what a command of these tests may have at once: one that runs away takes nobody else's.
const mostProcesses = 20

// ends are the ways in which an execution is ended; they return when it should be over. up returns when the processes of
// the command are there; a time-out does not wait for that.
var ends = []struct {
	name string
	end  func(r *process.Runner, q process.Request, up func()) error
}{
	{"a time-out", func(r *process.Runner, q process.Request, _ func()) error {
		q.Mode = process.Foreground
		got, err := r.Run(context.Background(), q)
		if err == nil && got.State != process.TimedOut {
			err = fmt.Errorf("%+v", got.Record)
		}
		return err
	}},
	{"a cancel", func(r *process.Runner, q process.Request, up func()) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			up()
			cancel()
		}()
		q.Mode, q.Timeout = process.Foreground, time.Hour
		if _, err := r.Run(ctx, q); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("it ended by itself: %w", err)
		}
		return nil
	}},
	{"a termination", terminated(process.Background, false)},
	{"force", terminated(process.Background, true)},
	{"the end of the server", func(r *process.Runner, q process.Request, up func()) error {
		q.Mode, q.Timeout = process.Background, 0
		if _, err := r.Run(context.Background(), q); err != nil {
			return err
		}
		up()
		_ = r.Close() // says so where it takes longer than a second; what is left is counted
		return nil
	}},
	{"the termination of a detached job", terminated(process.Detached, false)},
}

// terminated ends an execution by its process ID.
func terminated(m process.Mode, force bool) func(*process.Runner, process.Request, func()) error {
	return func(r *process.Runner, q process.Request, up func()) error {
		q.Mode, q.Timeout = m, 0
		begun, err := r.Run(context.Background(), q)
		if err != nil {
			return err
		}
		up()
		end, err := r.Terminate(context.Background(), process.Termination{PID: begun.PID, Force: force})
		if err == nil && force && end.Signal != "SIGKILL" { // whether it has ended is not taken from its own word
			err = fmt.Errorf("%+v", end)
		}
		return err
	}
}

// rounds is how often each kind meets each end: SURVIVOR_ROUNDS, and less where nobody asks. Force is what a time-out and
// the end of the server come to anyway, and a detached job costs a process of this program: there are fewer of those.
func rounds(t *testing.T, end string) int {
	switch end {
	case "the termination of a detached job":
		return 1
	case "force":
		return 5
	}
	text := os.Getenv("SURVIVOR_ROUNDS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// TestNothingSurvivesTheEndOfACommand ends every kind of survivor in every way, again and again: each has processes that
// were seen before, and none after.
func TestNothingSurvivesTheEndOfACommand(t *testing.T) {
	needPython(t)
	for _, end := range ends {
		t.Run(strings.ReplaceAll(end.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			wanted := rounds(t, end.name)
			proven := make([]int, len(survivors))
			for patience := 2 * time.Second; slices.Min(proven) < wanted && patience < time.Minute; {
				for kind, n := range w.batch(min(5, wanted-slices.Min(proven)), patience, end.end) {
					proven[kind] += n
				}
				if slices.Min(proven) == 0 {
					patience *= 2 // they were ended before they were there, which proves nothing
				}
			}
			t.Logf("so many of each kind were there, and then were not: %v", proven)
			if slices.Min(proven) < wanted {
				t.Error("that is too few")
			}
		})
	}
}

func needPython(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("SKIPPED: python3 is not here")
	}
}

// batch ends so many commands of every kind, all at once, and says of how many of each kind it is proven that they had
// been there.
func (w *fixture) batch(n int, patience time.Duration, end func(*process.Runner, process.Request, func()) error) []int {
	config := w.config
	config.Store, config.Limits.Running = nil, n*len(survivors)
	r, err := process.New(config)
	must(w.t, err)
	defer r.Close()
	c := newCount(n * len(survivors))
	over := make(chan struct{})
	up := sync.OnceFunc(func() { c.untilUp(over) })
	go up()
	var all sync.WaitGroup
	for i, mark := range c.marks {
		all.Go(func() {
			q := w.sh(survivors[i%len(survivors)].script, "", func(q *process.Request) {
				q.Timeout = patience
				q.Command.Env = append(q.Command.Env, markOfRound+"="+mark)
				q.Command.Limits.Processes = mostProcesses
			})
			if err := end(r, q, up); err != nil {
				w.t.Errorf("%s: %v", survivors[i%len(survivors)].name, err)
			}
		})
	}
	all.Wait()
	close(over)
	up()
	for mark, n := range c.left() {
		w.t.Errorf("%d processes of %s survived", n, survivors[slices.Index(c.marks, mark)%len(survivors)].name)
	}
	return c.proven()
}

func TestTheEndOfTheServerEndsWhatACommandLeftBehind(t *testing.T) {
	w := newFixture(t)
	w.run("setsid sleep 1000 & sleep 1000 & true", process.Foreground)
	w.until(2)
	must(t, w.Close())
	if w.alive() != 0 {
		t.Error("they are still there")
	}
	if _, err := w.Run(t.Context(), w.sh("true", process.Foreground)); err == nil {
		t.Error("a command started afterwards")
	}
}

// TestNothingSurvivesThoughTheStarterIsAnother: nothing of this package leans on how the sandbox finds its processes.
func TestNothingSurvivesThoughTheStarterIsAnother(t *testing.T) {
	needPython(t)
	w := newFixture(t, func(c *process.Config) { c.Starter = bare{} })
	if proven := w.batch(1, time.Minute, terminated(process.Background, false)); slices.Min(proven) != 1 {
		t.Errorf("seen were %v", proven)
	}
}

// markOfRound is the variable by which the processes of one command are known.
const markOfRound = "PROCESS_TEST_ROUND"

// count is the processes of commands, whose marks are in their environments: one walk through the table for all of them.
type count struct {
	marks []string // of a command of each kind, and again
	most  map[string]int
}

func newCount(n int) *count {
	c := &count{most: map[string]int{}}
	for range n {
		c.marks = append(c.marks, rand.Text())
	}
	return c
}

// now is how many there are of each.
func (c *count) now() map[string]int {
	of := map[string]int{}
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		if _, err := strconv.Atoi(name.Name()); err != nil {
			continue
		}
		environ, _ := os.ReadFile("/proc/" + name.Name() + "/environ")
		if _, after, ok := bytes.Cut(environ, []byte("\x00"+markOfRound+"=")); ok {
			mark, _, _ := bytes.Cut(after, []byte{0})
			if slices.Contains(c.marks, string(mark)) {
				of[string(mark)]++
			}
		}
	}
	return of
}

// untilUp returns when so many of each command as there should be were alive at one moment, or it is over.
func (c *count) untilUp(over <-chan struct{}) {
	for slices.ContainsFunc(c.marks, func(mark string) bool { return !c.wasUp(mark) }) {
		for mark, n := range c.now() {
			c.most[mark] = max(c.most[mark], n)
		}
		select {
		case <-over:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *count) wasUp(mark string) bool {
	return c.most[mark] >= survivors[slices.Index(c.marks, mark)%len(survivors)].count
}

// left is who is there after a minute, or nobody before that: what survives lives for longer.
func (c *count) left() map[string]int {
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if now := c.now(); len(now) == 0 || time.Now().After(limit) {
			return now
		}
	}
}

func (c *count) proven() []int {
	of := make([]int, len(survivors))
	for i, mark := range c.marks {
		if c.wasUp(mark) {
			of[i%len(survivors)]++
		}
	}
	return of
}

// Of every kind that lives on after its command, until the deadline of that and no longer.
func TestWhatLivesOnEndsAtTheDeadlineOfItsCommand(t *testing.T) {
	for _, script := range []string{
		"sleep 1000 &",
		"sleep 1000 </dev/null >/dev/null 2>&1 &",
		"nohup sleep 1000 >/dev/null 2>&1 &",
		"setsid sleep 1000 &",
		"(trap '' TERM HUP INT; while :; do sleep 1000; done) &",
		"(setsid sh -c 'sleep 1000 & exec sleep 1000' &) ; :",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			r := w.run(script+" sleep 0.1", process.Foreground, func(q *process.Request) { q.Timeout = 4 * time.Second })
			if r.State != process.Completed || !r.Lingering || !r.Until.Equal(r.Started.Add(4*time.Second)) {
				t.Errorf("%+v", r.Record)
			}
			if w.alive() == 0 {
				t.Error("nothing lives on")
			}
			w.until(0)
			end, err := w.Get(r.ID)
			if err != nil || end.State != process.Completed || !eventually(func() bool { end, _ = w.Get(r.ID); return !end.Lingering }) {
				t.Errorf("%+v, %v", end.Record, err)
			}
		})
	}
}
