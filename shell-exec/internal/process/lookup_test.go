//go:build linux

package process_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

func texts(l process.Listing) string {
	var all []string
	for _, r := range l.Records {
		all = append(all, r.Text)
	}
	return strings.Join(all, ", ")
}

func TestListsAreFilteredCountedAndCutInPages(t *testing.T) {
	w := newFixture(t)
	w.run("echo one", process.Foreground)
	w.run("exit 2", process.Foreground, func(q *process.Request) { q.Session = "s" })
	w.run("kill -9 $$", process.Adaptive)
	w.run("sleep 1000", process.Background, func(q *process.Request) { q.Session = "s" })
	w.run("sleep 2000", process.Detached)
	for _, c := range []struct {
		filter process.Filter
		want   string
		of     int
	}{
		{process.Filter{}, "sleep 2000, sleep 1000, kill -9 $$, exit 2, echo one", 5},
		{process.Filter{State: process.Running}, "sleep 2000, sleep 1000", 2},
		{process.Filter{State: process.Completed}, "exit 2, echo one", 2},
		{process.Filter{State: process.Failed}, "kill -9 $$", 1},
		{process.Filter{State: process.TimedOut}, "", 0},
		{process.Filter{Session: "s"}, "sleep 1000, exit 2", 2},
		{process.Filter{Pattern: "sleep"}, "sleep 2000, sleep 1000", 2},
		{process.Filter{Pattern: "^e.*[12e]$"}, "exit 2, echo one", 2},
		{process.Filter{Pattern: "9 $$"}, "kill -9 $$", 1},
		{process.Filter{Pattern: "("}, "", 0},
		{process.Filter{Limit: 2}, "sleep 2000, sleep 1000", 5},
		{process.Filter{Limit: 2, Offset: 3}, "exit 2, echo one", 5},
		{process.Filter{Offset: 9}, "", 5},
	} {
		l, err := w.List(c.filter)
		if err != nil || texts(l) != c.want || l.Filtered != c.of || l.Total != 5 {
			t.Errorf("%+v: %s, %d of %d, %v", c.filter, texts(l), l.Filtered, l.Total, err)
		}
	}
	for _, f := range []process.Filter{{Limit: -1}, {Limit: 1001}, {Offset: -1}, {State: "asleep"}} {
		_, err := w.List(f)
		refuses(t, err, fault.ParamInvalid)
	}
}

func TestSignalsGoToTheWholeTree(t *testing.T) {
	w := newFixture(t)
	for _, c := range []struct{ signal, sent string }{{"USR1", "SIGUSR1"}, {"SIGUSR2", "SIGUSR2"}, {"hup", "SIGHUP"}} {
		r := w.run("trap 'echo shell; wait' "+c.sent[3:]+"; sh -c 'trap \"echo child; exit\" "+c.sent[3:]+"; echo up; while :; do sleep 0.01; done' & wait", process.Background)
		if !eventually(func() bool { return strings.Contains(w.stored(r.Record), "up") }) {
			t.Fatal("the child is not there")
		}
		sent, err := w.Terminate(t.Context(), process.Termination{PID: r.PID, Signal: c.signal})
		if err != nil || sent.Sent != c.sent {
			t.Errorf("%+v, %v", sent, err)
		}
		end, err := w.Await(t.Context(), r.ID, time.Minute)
		if text := end.Stdout.Text(); err != nil || !strings.Contains(text, "shell") || !strings.Contains(text, "child") {
			t.Errorf("%s: %q, %v", c.signal, text, err)
		}
	}
}

func TestOnlyOurLivingProcessesCanBeTerminated(t *testing.T) {
	w := newFixture(t)
	over := w.run("true", process.Foreground)
	if !eventually(func() bool {
		_, err := w.Terminate(t.Context(), process.Termination{PID: over.PID})
		return errors.Is(err, fault.NoProcess)
	}) {
		t.Error("what has ended can be terminated")
	}
	for _, pid := range []int{0, -1, 1, os.Getpid(), os.Getppid()} {
		_, err := w.Terminate(t.Context(), process.Termination{PID: pid, Force: true})
		refuses(t, err, fault.NoProcess)
	}
	r := w.run("sleep 1000", process.Background)
	for _, signal := range []string{"STOP", "9", "TERM ", "SEGV"} {
		_, err := w.Terminate(t.Context(), process.Termination{PID: r.PID, Signal: signal})
		refuses(t, err, fault.ParamInvalid)
	}
	if again, err := w.Get(r.ID); err != nil || again.State != process.Running {
		t.Errorf("%+v, %v", again.Record, err)
	}
}

func TestATerminationTellsTheEnd(t *testing.T) {
	w := newFixture(t)
	r := w.run("trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done", process.Background)
	if !eventually(func() bool { return strings.Contains(w.stored(r.Record), "up") }) {
		t.Fatal("the trap is not set")
	}
	end, err := w.Terminate(t.Context(), process.Termination{PID: r.PID})
	if err != nil || !end.Ended || end.Sent != "SIGTERM" || end.Code != 9 || end.Why != process.ByTermination || end.State != process.Failed {
		t.Errorf("%+v, %v", end, err)
	}
}

func TestSoManyCommandsRunAtOnceAndNoMore(t *testing.T) {
	w := newFixture(t, func(c *process.Config) { c.Limits.Running = 5 })
	for range 5 {
		w.run("sleep 1000", process.Background)
	}
	_, err := w.Run(t.Context(), w.sh("true", process.Foreground))
	refuses(t, err, fault.LimitReached)
	l, err := w.List(process.Filter{})
	must(t, err)
	_, err = w.Terminate(t.Context(), process.Termination{PID: l.Records[0].PID, Force: true})
	must(t, err)
	w.run("true", process.Foreground)
}

func TestCommandsOneAfterTheOtherNeverFillTheServer(t *testing.T) {
	w := newFixture(t, func(c *process.Config) { c.Limits.Running = 1 })
	for range 30 {
		w.run("true", process.Foreground)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	w := newFixture(t, func(c *process.Config) { c.Limits.Records = 3 })
	kept := w.run("sleep 1000", process.Background)
	for i := range 10 {
		w.run(fmt.Sprintf("echo %d; : %s", i, strings.Repeat("x", 20000)), process.Foreground)
	}
	var l process.Listing
	if !eventually(func() (few bool) { // of those that have just ended something may be left
		w.run(strings.Repeat("true;", 5000), process.Foreground)
		l, _ = w.List(process.Filter{})
		return l.Total >= 4 && l.Total <= 5
	}) {
		t.Errorf("%d records", l.Total)
	}
	if len(l.Records[0].Text) > 9000 {
		t.Errorf("a command of %d bytes is kept", len(l.Records[0].Text))
	}
	if _, err := w.Get(kept.ID); err != nil {
		t.Error("what runs was forgotten")
	}
}

func TestFiftyCommandsAtOnceEachHaveTheirOwnOutput(t *testing.T) {
	w := newFixture(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			m := []process.Mode{process.Foreground, process.Adaptive}[i%2]
			r, err := w.Run(t.Context(), w.sh(fmt.Sprintf("echo %d; sleep 0.2; echo %d >&2", i, i), m))
			want := fmt.Sprintf("%d\n", i)
			if err != nil || r.Stdout.Text() != want || r.Stderr.Text() != want {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
		})
	}
	all.Wait()
}

func TestManyAskManyThingsAtOnce(t *testing.T) {
	w := newFixture(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				r, err := w.Run(t.Context(), w.sh("echo x; sleep 1000 & sleep 1000", process.Background))
				if err != nil {
					t.Error(err)
					return
				}
				all.Go(func() { _, _ = w.Get(r.ID) })
				all.Go(func() { _, _ = w.List(process.Filter{}) })
				all.Go(func() { _, _ = w.Await(t.Context(), r.ID, 10*time.Millisecond) })
				all.Go(func() { _, _ = w.Terminate(t.Context(), process.Termination{PID: r.PID, Signal: "HUP"}) })
				if end, err := w.Terminate(t.Context(), process.Termination{PID: r.PID, Force: true}); err == nil && !end.Ended {
					t.Errorf("%+v", end)
				}
			}
		})
	}
	all.Wait()
	w.until(0)
}

func TestWhatWasAnsweredCanBeReadInTheStoreAtOnce(t *testing.T) {
	w := newFixture(t)
	for range 20 {
		r := w.run("echo short", process.Foreground)
		if text := w.stored(r.Record); text != "short\n" {
			t.Fatalf("the store has %q", text)
		}
	}
	r := w.run("echo begun; sleep 1000", process.Adaptive, func(q *process.Request) { q.ForegroundTimeout = time.Second })
	if text := w.stored(r.Record); text != "begun\n" {
		t.Errorf("of what goes on the store has %q", text)
	}
}

func TestTheNextServerKnowsTheExecutionsOfTheOneBefore(t *testing.T) {
	w := newFixture(t)
	over := w.run("exit 6", process.Foreground, func(q *process.Request) { q.Variables = map[string]string{"TOKEN": "swordfish"} })
	ended := w.run("sleep 1000", process.Background)
	next := w.next()
	if r, err := next.Get(over.ID); err != nil || r.Code != 6 || r.State != process.Completed || r.OutputID != over.OutputID || r.Variables != nil {
		t.Errorf("%+v, %v", r.Record, err)
	}
	if r, err := next.Get(ended.ID); err != nil || r.State != process.Failed || r.Why != process.ByServer || r.Signal != "SIGTERM" {
		t.Errorf("%+v, %v", r.Record, err)
	}
	_, err := next.Get("exec_aaaaaaaaaaaaaaaa")
	refuses(t, err, fault.NotFound)
}
