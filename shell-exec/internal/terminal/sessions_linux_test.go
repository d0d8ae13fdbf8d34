package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

func TestNothingIsLeftWhenATerminalIsClosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.write("left", `#!/bin/sh
trap "" HUP TERM INT
echo $$ >> "`+w.dir+`/pids"
exec sleep 1000`)
	w.enter(id, "./left & setsid ./left & nohup ./left & (setsid ./left &) ; ./left")
	file := filepath.Join(w.dir, "pids")
	var pids []string
	if !eventually(func() bool {
		text, _ := os.ReadFile(file)
		pids = strings.Fields(string(text))
		return len(pids) == 5
	}) {
		t.Fatalf("only %q were started", pids)
	}
	_, err := w.Close(t.Context(), id, nil)
	must(t, err)
	for _, p := range pids {
		var pid int
		_, err := fmt.Sscan(p, &pid)
		must(t, err)
		if err := syscall.Kill(pid, 0); err == nil && !strings.Contains(stat(pid), ") Z") {
			t.Errorf("process %d is still there", pid)
		}
	}
	_, err = w.Close(t.Context(), id, nil)
	is(t, err, fault.NoTerminal)
}

func stat(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return string(text)
}

func TestWhatAShellLeavesEndsWithIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.shell("bash").ID
	w.enter(id, "setsid sleep 1000 & echo pid=$!; exit 3")
	o := w.until(id, WaitFor{Exit: true})
	if o.ExitCode != 3 || !strings.Contains(strings.Join(o.Lines, "\n"), "pid=") {
		t.Errorf("%+v", o)
	}
}

func TestTheLimitIsToldAndAClosedTerminalMakesRoom(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.Limit, c.Ended = 2, 1 })
	a, b := w.open("cat"), w.open("cat")
	_, err := w.Create(t.Context(), w.request("cat"))
	is(t, err, fault.LimitReached)
	if !strings.Contains(err.Error(), "2 terminals") {
		t.Error(err)
	}
	_, err = w.Close(t.Context(), a.ID, nil)
	must(t, err)
	// One that has ended by itself can be read, until another one ends.
	for range 3 {
		i := w.open("true")
		w.until(i.ID, WaitFor{Exit: true})
	}
	w.open("cat")
	l, err := w.List(Filter{Status: "exited"})
	must(t, err)
	if l.Total != 1 {
		t.Errorf("%d ended ones are kept", l.Total)
	}
	if l, err = w.List(Filter{Name: "c?t", Limit: 1}); err != nil || l.Total != 2 || len(l.Terminals) != 1 || l.Terminals[0].ID != b.ID {
		t.Errorf("%+v, %v", l, err)
	}
	for _, f := range []Filter{{Name: "["}, {Status: "busy"}, {Limit: -1}} {
		_, err = w.List(f)
		is(t, err, fault.ParamInvalid)
	}
}

func TestAProgramThatCannotStartLeavesNothing(t *testing.T) {
	w := newFixture(t)
	before := descriptors(t)
	q := w.request("cat")
	q.Command.Path = "/nonexistent/program"
	for range 5 {
		_, err := w.Create(t.Context(), q)
		is(t, err, fault.StartFailed)
	}
	if after := descriptors(t); after > before+2 {
		t.Errorf("%d descriptors, then %d", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(all)
}

func TestAThousandTerminalsLeaveNoDescriptor(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newFixture(t)
	one := func() {
		i := w.open("true")
		w.until(i.ID, WaitFor{Exit: true})
		_, err := w.Close(t.Context(), i.ID, nil)
		must(t, err)
	}
	for range 10 {
		one()
	}
	before := descriptors(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 250 {
				one()
			}
		})
	}
	all.Wait()
	if !eventually(func() bool { return descriptors(t) <= before+4 }) {
		t.Errorf("%d descriptors, then %d", before, descriptors(t))
	}
}

func TestAHistoryIsKeptAsItWasWished(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		name  string
		start bool
		save  *bool
		want  bool
	}{{"from the start", true, nil, true}, {"at the end only", false, &yes, true}, {"never", false, nil, false}, {"not any more", true, &no, false}} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			q := w.request("sh", "-c", `printf "\033[1mfirst\033[0m\n"; seq 300; read x`)
			q.SaveHistory = c.start
			i, err := w.Create(t.Context(), q)
			must(t, err)
			w.until(i.ID, WaitFor{Pattern: "^300$", Since: Start})
			if c.start {
				if p, err := w.store.Read(i.OutputID, output.Window{}); err != nil || !strings.Contains(string(p.Raw), "\x1b[1mfirst") {
					t.Errorf("while it runs: %q, %v", p.Raw, err)
				}
			}
			closed, err := w.Close(t.Context(), i.ID, c.save)
			must(t, err)
			if closed.HistorySaved != c.want || (closed.OutputID != "") != c.want {
				t.Fatalf("%+v", closed)
			}
			if c.want {
				p, err := w.store.Read(closed.OutputID, output.Window{})
				must(t, err)
				if text := screen.Render(p.Raw); !strings.HasPrefix(text, "first\n1\n2\n") || !strings.Contains(text, "\n300") {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

func TestATerminalTellsWhereItsShellIsAndWhatItDoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.shell("bash")
	must(t, os.Mkdir(filepath.Join(w.dir, "deep"), 0o700))
	w.enter(i.ID, "cd deep")
	if !eventually(func() bool { g, _ := w.Get(i.ID); return g.Dir == filepath.Join(w.dir, "deep") }) {
		t.Error("it does not tell where it is")
	}
	if !eventually(func() bool { g, _ := w.Get(i.ID); return g.Status == Idle }) {
		t.Error("it is never idle")
	}
	w.enter(i.ID, "sleep 100")
	if g, err := w.Get(i.ID); err != nil || g.Status != Active || g.PID != i.PID || g.Shell != "bash" || g.LastActivity.Before(g.Created) {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestATerminalOpensItselfAndNoOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b := w.shell("bash").ID, w.shell("bash").ID
	w.enter(a, "tty; echo x > /dev/stdout && echo yes | tee /dev/stderr")
	o := w.until(a, WaitFor{Pattern: "^yes$"})
	var name string
	for _, l := range o.Lines {
		if strings.HasPrefix(l, "/dev/pts/") {
			name = l
		}
	}
	if name == "" {
		t.Fatalf("%q", o.Lines)
	}
	w.enter(b, "echo stranger > "+name)
	w.until(b, WaitFor{Pattern: "Permission denied"})
	if strings.Contains(w.screen(a), "stranger") {
		t.Error("it wrote to another terminal")
	}
}

func TestManyCallersAtOnceAreServed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var all sync.WaitGroup
	for range 3 {
		id := w.shell("bash").ID
		for n := range 4 {
			all.Go(func() {
				for i := range 10 {
					_, _ = w.Send(t.Context(), Input{ID: id, Text: fmt.Sprintf("echo %d", i), Execute: true, Judge: allow})
					_, _ = w.Output(t.Context(), Query{ID: id, Foreground: true, Wait: &WaitFor{Quiet: 1, Deadline: 1e7}})
					_, _ = w.Resize(id, screen.Size{Width: 20 + i, Height: 5 + i})
					_, _ = w.List(Filter{})
					if n == 0 && i == 7 {
						_, err := w.Close(t.Context(), id, nil)
						if err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
	}
	all.Wait()
	l, err := w.List(Filter{})
	must(t, err)
	if l.Total != 0 {
		t.Errorf("%d are left", l.Total)
	}
	must(t, w.CloseAll())
	_, err = w.Create(t.Context(), w.request("cat"))
	is(t, err, fault.Unavailable)
}
