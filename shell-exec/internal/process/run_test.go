//go:build linux

package process_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

func TestACommandAnswersWithWhatItWroteAndHowItEnded(t *testing.T) {
	w := newFixture(t)
	for _, c := range []struct {
		script         string
		stdout, stderr string
		state          process.State
		code           int
		signal         string
	}{
		{"echo out; echo err >&2", "out\n", "err\n", process.Completed, 0, ""},
		{"exit 3", "", "", process.Completed, 3, ""},
		{"kill -9 $$", "", "", process.Failed, 137, "SIGKILL"},
		{"kill -SEGV $$", "", "", process.Failed, 139, "SIGSEGV"},
		{"cat; echo end", "end\n", "", process.Completed, 0, ""},
		{"pwd", w.dir + "\n", "", process.Completed, 0, ""},
	} {
		for _, m := range []process.Mode{process.Foreground, process.Adaptive} {
			r := w.run(c.script, m)
			if r.Stdout.Text() != c.stdout || r.Stderr.Text() != c.stderr || r.State != c.state || r.Code != c.code || r.Signal != c.signal {
				t.Errorf("%s: %s: %+v", c.script, m, r)
			}
			if r.Completed.Before(r.Started) || r.PID == 0 || r.Text != c.script || r.Dir != w.dir || r.OutputID == "" || r.Partial() {
				t.Errorf("%s: the record is %+v", c.script, r.Record)
			}
		}
	}
}

func TestWhatCannotBeStartedIsSaidSo(t *testing.T) {
	w := newFixture(t)
	must(t, os.WriteFile(w.dir+"/plain", []byte("text"), 0o644))
	for code, change := range map[fault.Code]func(*process.Request){
		fault.StartFailed: func(q *process.Request) { q.Command.Path = "/nowhere/program" },
		fault.NotFound:    func(q *process.Request) { q.Command.Dir = w.dir + "/gone" },
	} {
		_, err := w.Run(t.Context(), w.sh("true", process.Foreground, change))
		refuses(t, err, code)
	}
	_, err := w.Run(t.Context(), w.sh("true", process.Foreground, func(q *process.Request) { q.Command.Path = w.dir + "/plain" }))
	if err == nil {
		t.Error("a file that cannot be run was started")
	}
	if l, err := w.List(process.Filter{}); err != nil || l.Total != 0 {
		t.Errorf("what did not start is listed: %+v, %v", l, err)
	}
}

func TestValuesOutOfRangeAreRefused(t *testing.T) {
	w := newFixture(t)
	for what, change := range map[string]func(*process.Request){
		"timeout too short":    func(q *process.Request) { q.Timeout = time.Millisecond },
		"timeout too long":     func(q *process.Request) { q.Timeout = time.Hour + 1 },
		"timeout below zero":   func(q *process.Request) { q.Timeout = -time.Second },
		"foreground too long":  func(q *process.Request) { q.ForegroundTimeout = 301 * time.Second },
		"foreground too short": func(q *process.Request) { q.ForegroundTimeout = 1 },
		"output too small":     func(q *process.Request) { q.MaxOutput = 1000 },
		"output too large":     func(q *process.Request) { q.MaxOutput = 100<<20 + 1 },
		"no such mode":         func(q *process.Request) { q.Mode = "sideways" },
	} {
		_, err := w.Run(t.Context(), w.sh("touch "+w.dir+"/ran", process.Foreground, change))
		if !errors.Is(err, fault.ParamInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(w.dir + "/ran"); err == nil {
		t.Error("one of them ran")
	}
}

func TestTheWordsForModes(t *testing.T) {
	for word, want := range map[string]process.Mode{"": process.Adaptive, "sync": process.Foreground, "async": process.Background, "detached": process.Detached} {
		if m, err := process.ParseMode(word); m != want || err != nil {
			t.Errorf("%q is %q, %v", word, m, err)
		}
	}
	_, err := process.ParseMode("later")
	refuses(t, err, fault.ParamInvalid)
}

func TestInputIsReadToItsEndOrNotAtAll(t *testing.T) {
	w := newFixture(t)
	long := strings.Repeat("0123456789abcdef", 128<<10) // 2 MiB: more than a pipe holds
	input := func(q *process.Request) { q.Input = long }
	if r := w.run("wc -c", process.Foreground, input); strings.TrimSpace(r.Stdout.Text()) != "2097152" {
		t.Errorf("the command read %s bytes", r.Stdout.Text())
	}
	if r := w.run("echo ignores it", process.Foreground, input); r.Code != 0 || r.Stdout.Text() != "ignores it\n" {
		t.Errorf("a command that does not read: %+v", r)
	}
	if r := w.run("exec <&-; sleep 0.05; echo closed it", process.Foreground, input); r.Stdout.Text() != "closed it\n" {
		t.Errorf("a command that closes its stdin: %+v", r)
	}
}

func TestACallAnswersWhenItsShellEndsThoughAChildHoldsThePipe(t *testing.T) {
	w := newFixture(t)
	r := w.run("(trap '' TERM; echo early; read wait <"+fifo(w, "go")+"; echo late; exec sleep 1000) & echo $!; echo x", process.Foreground)
	if r.State != process.Completed || !r.Lingering || !strings.Contains(r.Stdout.Text(), "x\n") {
		t.Fatalf("%+v", r)
	}
	must(t, os.WriteFile(w.dir+"/go", []byte("\n"), 0))
	if !eventually(func() bool { return strings.Contains(w.stored(r.Record), "late") }) {
		t.Errorf("what the child wrote afterwards is not stored: %q", w.stored(r.Record))
	}
	if w.alive() == 0 {
		t.Error("the child did not live on")
	}
	if again, err := w.Get(r.ID); err != nil || !again.Lingering || again.Usage.Processes == 0 || again.State != process.Completed {
		t.Errorf("%+v, %v", again.Record, err)
	}
	_, err := w.Terminate(t.Context(), process.Termination{PID: r.PID})
	must(t, err)
	w.until(0)
}

// It is looked, not guessed, whether something lives on: also of what holds no pipe.
func TestAnAnswerTellsWhetherSomethingLivesOn(t *testing.T) {
	w := newFixture(t)
	for range 20 {
		if r := w.run("echo x", process.Foreground); r.State != process.Completed || r.Lingering {
			t.Fatalf("nothing lives on: %+v", r.Record)
		}
	}
	r := w.run("sleep 1000 </dev/null >/dev/null 2>&1 &", process.Foreground)
	if r.State != process.Completed || !r.Lingering {
		t.Errorf("something lives on: %+v", r.Record)
	}
	_, err := w.Terminate(t.Context(), process.Termination{PID: r.PID})
	must(t, err)
	w.until(0)
}

func TestWhatAShellWroteBeforeItEndedIsAllThere(t *testing.T) {
	w := newFixture(t)
	for range 20 {
		r := w.run("sleep 1000 & head -c 60000 /dev/zero | tr '\\0' x", process.Foreground)
		if r.Stdout.Total != 60000 {
			t.Fatalf("%d bytes of 60000", r.Stdout.Total)
		}
	}
}

func TestAChildThatWritesWithoutEndDoesNotHoldTheAnswer(t *testing.T) {
	w := newFixture(t)
	if r := w.run("yes & echo x >&2", process.Foreground); r.State != process.Completed || r.Stderr.Text() != "x\n" {
		t.Errorf("%+v", r.Record)
	}
}

func TestADeadlineEndsTheCommandAndAnswersWithWhatCame(t *testing.T) {
	w := newFixture(t)
	short := func(q *process.Request) { q.Timeout = time.Second }
	r := w.run("echo so far; sleep 1000 | cat", process.Foreground, short)
	if r.State != process.TimedOut || r.Why != process.ByDeadline || r.Stdout.Text() != "so far\n" || r.Signal == "" || r.Code == 0 || !r.Partial() {
		t.Errorf("%+v", r)
	}
	w.until(0)
	_, err := w.Run(t.Context(), w.sh("sleep 1000", process.Foreground, short, func(q *process.Request) { q.NoPartial = true }))
	refuses(t, err, fault.TimedOut)
	if id := fault.From(err).Details["execution_id"]; id == "" || id == nil {
		t.Error("the error names no execution")
	}
}

func TestWhatFollowsTermAtADeadlineSaysSoItself(t *testing.T) {
	w := newFixture(t)
	r := w.run("trap 'echo cleaned; exit 5' TERM; while :; do sleep 0.01; done", process.Foreground, func(q *process.Request) { q.Timeout = time.Second })
	if r.State != process.TimedOut || r.Code != 5 || r.Stdout.Text() != "cleaned\n" {
		t.Errorf("%+v", r)
	}
}

func TestAnAdaptiveCallGoesOnInTheBackground(t *testing.T) {
	w := newFixture(t)
	r := w.run("echo first; read x <"+fifo(w, "go")+"; echo second", process.Adaptive, func(q *process.Request) { q.ForegroundTimeout = time.Second })
	if r.State != process.Running || r.Transition != process.ByForegroundTimeout || r.Stdout.Text() != "first\n" || !r.Partial() {
		t.Fatalf("%+v", r)
	}
	must(t, os.WriteFile(w.dir+"/go", []byte("\n"), 0))
	end, err := w.Await(t.Context(), r.ID, time.Minute)
	if err != nil || end.State != process.Completed || end.Stdout.Text() != "first\nsecond\n" {
		t.Errorf("%+v, %v", end, err)
	}
}

func TestAnAdaptiveCallThatOutgrowsItsAnswerDoesNotWaitForMore(t *testing.T) {
	w := newFixture(t)
	small := func(q *process.Request) { q.MaxOutput, q.ForegroundTimeout = 1<<10, 300*time.Second }
	r := w.run("head -c 5000 /dev/zero | tr '\\0' x; exec sleep 1000", process.Adaptive, small)
	if r.State != process.Running || r.Transition != process.ByOutputSize || r.Stdout.Total != 5000 || r.Stdout.Omitted == 0 {
		t.Errorf("%+v", r.Record)
	}
	if r := w.run("head -c 5000 /dev/zero", process.Adaptive, small); r.State != process.Completed || r.Transition != "" {
		t.Errorf("a command that ends: %+v", r.Record)
	}
}

func TestABackgroundCallAnswersAtOnceAndItsDeadlineHolds(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Background, func(q *process.Request) { q.Timeout = time.Second })
	if r.State != process.Running || r.PID == 0 || r.Transition != "" {
		t.Fatalf("%+v", r.Record)
	}
	if early, err := w.Await(t.Context(), r.ID, time.Millisecond); err != nil || early.State != process.Running {
		t.Errorf("a short wait: %+v, %v", early.Record, err)
	}
	if end, err := w.Await(t.Context(), r.ID, time.Minute); err != nil || end.State != process.TimedOut {
		t.Errorf("%+v, %v", end.Record, err)
	}
}

func TestACancelKills(t *testing.T) {
	w := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() {
		<-started
		cancel()
	}()
	q := w.sh("echo begun; trap '' TERM; sleep 1000", process.Foreground)
	q.Progress = func(process.Progress) { close(started) }
	_, err := w.Run(ctx, q)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.until(0)
	l, err := w.List(process.Filter{State: process.Failed})
	if err != nil || len(l.Records) != 1 || l.Records[0].Why != process.ByCancel {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestTheEndOfAWaitEndsNoCommand(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Background)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Await(ctx, r.ID, time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if again, err := w.Get(r.ID); err != nil || again.State != process.Running {
		t.Errorf("%+v, %v", again.Record, err)
	}
}

func TestProgressCarriesTheNewestLinesBeforeTheAnswer(t *testing.T) {
	w := newFixture(t)
	var told []process.Progress
	q := w.sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; sleep 1.2; echo more; sleep 1", process.Foreground)
	q.Progress = func(p process.Progress) { told = append(told, p) }
	_, err := w.Run(t.Context(), q)
	must(t, err)
	if len(told) != 2 {
		t.Fatalf("told %d times: %+v", len(told), told)
	}
	if p := told[0]; len(p.Lines) != 10 || p.Lines[9] != "line 12" || p.Bytes == 0 {
		t.Errorf("%+v", p)
	}
	if p := told[1]; p.Lines[9] != "more" {
		t.Errorf("%+v", p)
	}
}

func TestStderrThatNobodyWantsBlocksNobody(t *testing.T) {
	w := newFixture(t)
	r := w.run("head -c 300000 /dev/zero >&2; echo done", process.Foreground, func(q *process.Request) { q.DropStderr = true })
	if r.Stdout.Text() != "done\n" || r.Stderr.Total != 0 {
		t.Errorf("%+v", r)
	}
}

func fifo(w *fixture, name string) string {
	w.t.Helper()
	must(w.t, mkfifo(w.dir+"/"+name))
	return w.dir + "/" + name
}
