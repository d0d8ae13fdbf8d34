package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// refuse refuses all it is asked, and remembers it.
type refuse struct{ asked []Pending }

func (r *refuse) judge(p Pending) (Verdict, error) {
	r.asked = append(r.asked, p)
	return Verdict{}, fault.New(fault.DangerousCommand, "no", "")
}

func (w *fixture) missing(name string) {
	w.t.Helper()
	if _, err := os.Stat(filepath.Join(w.dir, name)); err == nil {
		w.t.Errorf("%s was made", name)
	}
}

func (w *fixture) made(name string) {
	w.t.Helper()
	if !eventually(func() bool { _, err := os.Stat(filepath.Join(w.dir, name)); return err == nil }) {
		w.t.Fatalf("%s was not made", name)
	}
}

func TestWhatTheJudgeRefusesIsNotTyped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	var no refuse
	_, err := w.Send(t.Context(), Input{ID: id, Text: "touch refused", Execute: true, Judge: no.judge})
	is(t, err, fault.DangerousCommand)
	if len(no.asked) != 1 || no.asked[0].Text != "touch refused" || no.asked[0].Unknown || !no.asked[0].Shell || no.asked[0].Dir != w.dir {
		t.Errorf("%+v", no.asked)
	}
	w.enter(id, "touch allowed")
	w.made("allowed")
	w.missing("refused")
	_, err = w.Send(t.Context(), Input{ID: id, Text: "ls", Execute: true})
	is(t, err, fault.Forbidden) // without a judge
}

func TestWhatIsTypedInPartsIsJudgedTogether(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	var no refuse
	w.send(Input{ID: id, Text: "touch ", Judge: no.judge})
	w.send(Input{ID: id, Text: "refuse", Judge: no.judge})
	_, err := w.Send(t.Context(), Input{ID: id, Text: "d", Execute: true, Judge: no.judge})
	is(t, err, fault.DangerousCommand)
	if len(no.asked) != 1 || no.asked[0].Text != "touch refused" {
		t.Errorf("%+v", no.asked)
	}
	w.send(Input{ID: id, Keys: []string{"Ctrl+U"}, Judge: no.judge}) // bash may drop what follows Ctrl+C at once
	w.enter(id, "touch allowed")
	w.made("allowed")
	w.missing("refuse")
	w.missing("refused")
}

// A shell reads what was typed while something else ran: nothing that does not read may hide it from the judge.
func TestWhatIsTypedAheadIsJudged(t *testing.T) {
	for name, command := range map[string]string{
		"a program that does not read":                            "sleep 1",
		"one in a terminal that gives out every key":              "stty raw; sleep 1; stty sane",
		"one that a script started, without a group of its own":   `sh -c "stty raw; sleep 1; stty sane"`,
		"a shell that reads an answer":                            "read x; read y",
		"a shell of another kind, started from a program":         `env sh -c "read x"`,
		"one that reads every key, and ends with the first of it": `stty raw; dd bs=1 count=1; stty sane`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			id := w.shell("bash").ID
			w.enter(id, command)
			s, err := w.find(id)
			must(t, err)
			if !strings.HasPrefix(command, "read") && !eventually(func() bool { return !s.foreground().session }) {
				t.Fatal("it never came to the foreground")
			}
			w.until(id, WaitFor{Quiet: 100 * time.Millisecond})
			var no refuse
			for range 3 { // whatever is refused, is refused again
				_, err = w.Send(t.Context(), Input{ID: id, Text: "xx\rtouch refused", Execute: true, Judge: no.judge})
				is(t, err, fault.DangerousCommand)
			}
			if !strings.Contains(no.asked[len(no.asked)-1].Text, "touch refused") {
				t.Errorf("%+v", no.asked)
			}
			w.missing("refused")
		})
	}
}

func TestAProgramThatReadsEveryKeyIsNotJudged(t *testing.T) {
	t.Parallel()
	need(t, "vi")
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, "vi -u NONE file")
	o := w.until(id, WaitFor{Pattern: "^~"})
	if !o.Alternate || o.Foreground == nil || o.Foreground.Leader || !strings.HasPrefix(o.Foreground.Name, "vi") {
		t.Errorf("%+v", o.Foreground)
	}
	var no refuse
	w.send(Input{ID: id, Text: "irm -rf /\nこんにちは", Judge: no.judge, SendTo: Guard(o.Foreground.Name)})
	w.until(id, WaitFor{Pattern: "こんにちは"})
	s := w.send(Input{ID: id, Text: `\e:wq\r`, ControlCodes: true, Judge: no.judge, SendTo: Guard(need(t, "vi"))})
	if s.Judged || len(no.asked) > 0 {
		t.Errorf("judged %+v", no.asked)
	}
	o = w.until(id, WaitFor{Pattern: "ready> $"})
	if o.Alternate || o.Foreground == nil || !o.Foreground.Leader {
		t.Errorf("after it: %+v", o.Foreground)
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "file"))
	must(t, err)
	if string(text) != "rm -rf /\nこんにちは\n" {
		t.Errorf("%q", text)
	}
	_, err = w.Send(t.Context(), Input{ID: id, Text: "ls", Execute: true, Judge: no.judge})
	is(t, err, fault.DangerousCommand)
}

func TestAGuardLetsOnlyItsProgramHaveTheKeys(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	bash := need(t, "bash")
	w.enter(id, "sleep 300 &")
	w.until(id, WaitFor{Pattern: "ready> $"})
	guards := func(who string, right, wrong []string) {
		t.Helper()
		for _, g := range right {
			if _, err := w.Send(t.Context(), Input{ID: id, Text: " ", SendTo: Guard(g), Judge: allow}); err != nil {
				t.Errorf("%s before %q: %v", g, who, err)
			}
		}
		for _, g := range wrong {
			_, err := w.Send(t.Context(), Input{ID: id, Text: "touch refused", Execute: true, SendTo: Guard(g), Judge: allow})
			is(t, err, fault.Forbidden)
			if !strings.Contains(err.Error(), who) {
				t.Errorf("%s: %v does not name %s", g, err, who)
			}
		}
	}
	i, err := w.Get(id)
	must(t, err)
	guards("bash", []string{"", "*", "bash", bash, "sessionleader:", fmt.Sprintf("pid:%d", i.PID)}, []string{"sleep", "/bin/sleep", "pid:1", "vi", "bas"})
	w.send(Input{ID: id, Keys: []string{"Ctrl+C"}})
	w.enter(id, "sleep 200")
	s, err := w.find(id)
	must(t, err)
	// what bash forks is bash until it has become sleep
	if !eventually(func() bool { return s.foreground().process().Name == "sleep" }) {
		t.Fatal("it never came to the foreground")
	}
	p := s.foreground().process()
	guards("sleep", []string{"*", "sleep", need(t, "sleep"), fmt.Sprintf("pid:%d", p.PID)}, []string{"bash", bash, "sessionleader:", fmt.Sprintf("pid:%d", i.PID)})
	for _, g := range []string{"pid:", "pid:x", "pid:-1", "leader:", "a\nb"} {
		_, err := w.Send(t.Context(), Input{ID: id, Text: "x", SendTo: Guard(g), Judge: allow})
		is(t, err, fault.ParamMalformed)
	}
	w.send(Input{ID: id, Keys: []string{"Ctrl+C"}})
	w.until(id, WaitFor{Pattern: "ready> $"})
	w.missing("refused")
}

func TestAWriteThatNobodyReadsEndsInTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, "stty raw -echo; kill -STOP $$")
	w.until(id, WaitFor{Quiet: 100 * time.Millisecond})
	big := Input{ID: id, Text: strings.Repeat("x", maxSent), Judge: allow}
	_, err := w.Send(t.Context(), big)
	is(t, err, fault.TimedOut)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err = w.Send(ctx, big); err != context.Canceled {
		t.Errorf("%v", err)
	}
	_, err = w.Send(t.Context(), Input{ID: id, Text: strings.Repeat("x", maxSent+1)})
	is(t, err, fault.LimitReached)
}

func TestInputsOfSeveralCallersDoNotMix(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	// Without the terminal's echo, into which the kernel may write what cat writes.
	id := w.open("/bin/sh", "-c", "stty -echo; echo ready; exec cat").ID
	w.until(id, WaitFor{Pattern: "ready", Since: Start})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			word := strings.Repeat(string(rune('a'+n)), 70)
			for range 5 {
				if _, err := w.Send(t.Context(), Input{ID: id, Text: word, Execute: true, Judge: allow}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	w.send(Input{ID: id, Keys: []string{"Ctrl+D"}})
	w.until(id, WaitFor{Exit: true})
	o, err := w.Output(t.Context(), Query{ID: id})
	must(t, err)
	for _, l := range o.Lines[1:] {
		if l != strings.Repeat(l[:1], 70) {
			t.Errorf("%q", l)
		}
	}
	if len(o.Lines) != 41 {
		t.Errorf("%d lines", len(o.Lines))
	}
}

func TestAnAnswerOfTheTerminalThatNobodyTookMakesTheLineUnknown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, `printf "\e[6n"`)
	s, err := w.find(id)
	must(t, err)
	if !eventually(func() bool { s.typing.Lock(); defer s.typing.Unlock(); return s.stray }) {
		t.Fatal("nobody answered")
	}
	w.until(id, WaitFor{Quiet: 100 * time.Millisecond})
	var no refuse
	_, err = w.Send(t.Context(), Input{ID: id, Text: "touch refused", Execute: true, Judge: no.judge})
	is(t, err, fault.DangerousCommand)
	if !no.asked[0].Unknown {
		t.Errorf("%+v", no.asked)
	}
	w.send(Input{ID: id, Keys: []string{"Ctrl+C", "Ctrl+C"}})
	_, err = w.Send(t.Context(), Input{ID: id, Text: "ls", Execute: true, Judge: no.judge})
	is(t, err, fault.DangerousCommand)
	if last := no.asked[len(no.asked)-1]; last.Unknown || last.Text != "ls" {
		t.Errorf("%+v", last)
	}
}

func TestWhatAProgramHasReadByNowIsNoTypeAhead(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("SKIPPED: /usr/bin/python3 is not installed here")
	}
	w := newFixture(t)
	w.write("slow.py", `import os, time, tty
tty.setraw(0)
print("raw", end="", flush=True)
while not os.path.exists("go"): time.sleep(0.01)
while True: print("<%s>" % os.read(0, 100).decode(), end="", flush=True)
`)
	id := w.shell("bash").ID
	w.enter(id, "/usr/bin/python3 slow.py")
	w.until(id, WaitFor{Pattern: "raw$"})
	var no refuse
	_, err := w.Send(t.Context(), Input{ID: id, Text: "abc\r", Judge: no.judge})
	is(t, err, fault.DangerousCommand) // nobody reads: a shell may
	w.write("go", "")
	w.until(id, WaitFor{Pattern: "<abc>"})
	if s := w.send(Input{ID: id, Text: "def\r", Judge: no.judge}); s.Judged {
		t.Errorf("judged: %+v", no.asked)
	}
	w.until(id, WaitFor{Pattern: "<def>"})
}

// What is typed ahead is read where the shell will be then.
func TestTheDirectoryOfWhatIsTypedAheadIsNotKnown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	must(t, os.Mkdir(filepath.Join(w.dir, "sub"), 0o700))
	for moves, ahead := range map[bool]string{true: "", false: w.dir} {
		i, dir := w.shell("bash"), "?"
		looking := func(p Pending) (Verdict, error) { dir = p.Dir; return Verdict{Complete: true}, nil }
		w.send(Input{ID: i.ID, Text: "until test -e go; do sleep 0.05; done; rm go; cd sub", Execute: true, Judge: func(Pending) (Verdict, error) {
			return Verdict{Complete: true, Moves: moves}, nil
		}})
		w.send(Input{ID: i.ID, Text: "pwd", Execute: true, Judge: looking})
		if dir != ahead {
			t.Errorf("typed ahead of a line that moves (%v): in %q, not %q", moves, dir, ahead)
		}
		w.write("go", "")
		w.until(i.ID, WaitFor{Pattern: "^" + w.dir + "/sub$", Since: Start})
		w.send(Input{ID: i.ID, Text: "pwd", Execute: true, Judge: looking})
		if dir != filepath.Join(w.dir, "sub") {
			t.Errorf("after it: in %q", dir)
		}
	}
}
