package terminal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

func TestAPromptFromBeforeTheInputIsNotTheNextOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, "read x")
	o, err := w.Output(t.Context(), Query{ID: id, Wait: &WaitFor{Pattern: "ready> $", Deadline: 200 * time.Millisecond}})
	must(t, err)
	if o.Happened != Deadline {
		t.Errorf("%s by %q", o.Happened, o.Match)
	}
	w.enter(id, "answer")
	w.until(id, WaitFor{Pattern: "ready> $"})
	w.enter(id, "clear")
	w.until(id, WaitFor{Pattern: "ready> $"}) // it looks as before
	if o, err = w.Output(t.Context(), Query{ID: id, Wait: &WaitFor{Pattern: "ready> $", Since: Now, Deadline: 50 * time.Millisecond}}); err != nil || o.Happened != Deadline {
		t.Errorf("%s, %v", o.Happened, err)
	}
	if o = w.until(id, WaitFor{Pattern: "ready> $", Since: Start}); o.Match != "ready> " {
		t.Errorf("%q", o.Match)
	}
}

func TestAWaitSeesLinesThatHaveScrolledAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, "seq 5000")
	o := w.until(id, WaitFor{Pattern: "^77$"})
	if o.Match != "77" {
		t.Errorf("%q", o.Match)
	}
	w.until(id, WaitFor{Pattern: "ready> $"})
	o, err := w.Output(t.Context(), Query{ID: id, Start: 10, Count: 3})
	must(t, err)
	if strings.Join(o.Lines, " ") != "10 11 12" || o.Start != 10 || !o.More || o.Total < 5000 {
		t.Errorf("%+v", o)
	}
	if o, err = w.Output(t.Context(), Query{ID: id, Start: -2}); err != nil || o.Lines[0] != "5000" || o.More {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAWaitEndsWithQuietTheEndOrItsCaller(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, "for i in 1 2 3; do echo $i; sleep 0.05; done; echo x")
	if o := w.until(id, WaitFor{Quiet: 400 * time.Millisecond}); !strings.Contains(strings.Join(o.Lines, "\n"), "3\nx\nready>") {
		t.Errorf("%q", o.Lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := w.Output(ctx, Query{ID: id, Wait: &WaitFor{Pattern: "never", Deadline: time.Minute}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.enter(id, "kill -9 $$")
	o, err := w.Output(t.Context(), Query{ID: id, Wait: &WaitFor{Pattern: "never", Deadline: time.Minute}})
	must(t, err)
	if o.Happened != HasExited || o.Status != Exited || o.ExitCode != 137 || o.Signal != "SIGKILL" {
		t.Errorf("%+v", o)
	}
}

func TestAWaitEndsWhenItsTerminalIsClosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	done := make(chan Output)
	go func() {
		o, _ := w.Output(context.Background(), Query{ID: id, Wait: &WaitFor{Pattern: "never", Deadline: time.Minute}})
		done <- o
	}()
	time.Sleep(20 * time.Millisecond)
	_, err := w.Close(t.Context(), id, nil)
	must(t, err)
	if o := <-done; o.Happened != HasExited {
		t.Errorf("%+v", o)
	}
}

func TestQueriesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	for _, q := range []Query{
		{Count: -1}, {Count: maxCount + 1}, {Wait: &WaitFor{Pattern: "("}}, {Wait: &WaitFor{Deadline: time.Hour}}, {Wait: &WaitFor{Quiet: -1}}, {Wait: &WaitFor{Since: 7}},
	} {
		q.ID = id
		_, err := w.Output(t.Context(), q)
		is(t, err, fault.ParamInvalid)
	}
	_, err := w.Output(t.Context(), Query{ID: "term_none"})
	is(t, err, fault.NoTerminal)
	_, err = w.Resize(id, screen.Size{Width: 0, Height: 10})
	is(t, err, fault.ParamInvalid)
}

func TestAProgramLearnsTheSizeOfItsTerminal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	q := w.request("bash", "--noprofile", "--norc", "-i")
	q.Size = screen.Size{Width: 77, Height: 11}
	i, err := w.Create(t.Context(), q)
	must(t, err)
	w.enter(i.ID, "stty size")
	w.until(i.ID, WaitFor{Pattern: "^11 77$"})
	i, err = w.Resize(i.ID, screen.Size{Width: 100, Height: 40})
	must(t, err)
	if i.Size != (screen.Size{Width: 100, Height: 40}) {
		t.Errorf("%+v", i.Size)
	}
	w.enter(i.ID, "stty size")
	w.until(i.ID, WaitFor{Pattern: "^40 100$"})
}

// Programs that fill the screen, each driven as a person would.
func TestProgramsThatFillTheScreenCanBeDriven(t *testing.T) {
	for _, c := range []struct {
		program, command string
		first            string
		keys             []string
		then             string
		quit             Input
	}{
		{"less", "seq 1000 > lines; less lines", "^1$", []string{"G"}, "^1000$", Input{Text: "q"}},
		{"top", "top", "load average", nil, "PID USER", Input{Text: "q"}},
		{"python3", "python3 -q", ">>> $", nil, ">>> $", Input{Keys: []string{"Ctrl+D"}}},
		{"sh", `sh -c 'for i in 1 2 3; do printf "\r\033[2K%3d%% [%s]" $((i*33)) "####"; sleep 0.01; done; printf "\r100%% 完了\n"; read x'`, "^100% 完了", nil, "^100% 完了", Input{Keys: []string{"Enter"}}},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			need(t, c.program)
			w := newFixture(t)
			id := w.shell("bash").ID
			w.enter(id, c.command)
			w.until(id, WaitFor{Pattern: c.first})
			for _, k := range c.keys {
				w.send(Input{ID: id, Text: k})
			}
			if c.keys != nil || c.then != c.first {
				w.until(id, WaitFor{Pattern: c.then, Since: LastInput})
			}
			c.quit.ID = id
			w.send(c.quit)
			w.until(id, WaitFor{Pattern: "ready> $"})
		})
	}
}

func TestPythonIsAskedAndAnswers(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	w := newFixture(t)
	id := w.open("/usr/bin/python3", "-q").ID
	w.until(id, WaitFor{Pattern: ">>> $", Since: Start})
	w.enter(id, "print('日本' * 3, 6 * 7)")
	w.until(id, WaitFor{Pattern: "^日本日本日本 42$"})
	w.send(Input{ID: id, Text: "if True:\n    print('block', 1 + 1)\n\n"})
	w.until(id, WaitFor{Pattern: "^block 2$"})
}
