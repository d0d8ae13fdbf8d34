//go:build linux

package process_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// survivors are what has outlived the end of other people's commands. Each says "up" when it is there to be ended, and so
// many processes of it are alive then, the shell included.
var survivors = []struct {
	name, script string
	count        int
}{
	{"a pipeline", `sleep 1000 | cat & echo up; wait`, 3},
	{"a session of its own", `setsid sleep 1000 & echo up; sleep 1000`, 3},
	{"a double fork", `(setsid sh -c 'sleep 1000 & exec sleep 1000' &) ; echo up; sleep 1000`, 4},
	{"what ignores TERM", `trap '' TERM HUP INT; (while :; do sleep 1000; done) & echo up; while :; do sleep 1000; done`, 4},
	{"a daemon", `/usr/bin/python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        time.sleep(1000)
    os._exit(0)
os.wait()
print("up", flush=True)
time.sleep(1000)'; true`, 3},
}

// ends are the ways in which an execution is ended; each returns when it should be.
var ends = map[string]func(w *world, script string, up func()){
	"a time-out": func(w *world, script string, up func()) {
		w.run(script, process.Foreground, func(q *process.Request) { q.Timeout = 2 * time.Second })
	},
	"a cancel": func(w *world, script string, up func()) {
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		go func() {
			up()
			cancel()
		}()
		if _, err := w.Run(ctx, w.sh(script, process.Foreground)); !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
	},
	"a termination": func(w *world, script string, up func()) {
		r := w.run(script, process.Background)
		up()
		if end, err := w.Terminate(w.t.Context(), process.Termination{PID: r.PID}); err != nil || !end.Ended {
			w.t.Errorf("%+v, %v", end, err)
		}
	},
	"force": func(w *world, script string, up func()) {
		r := w.run(script, process.Background)
		up()
		end, err := w.Terminate(w.t.Context(), process.Termination{PID: r.PID, Force: true})
		if err != nil || !end.Ended || end.Sent != "SIGKILL" || end.Signal != "SIGKILL" {
			w.t.Errorf("%+v, %v", end, err)
		}
	},
	"the end of the server": func(w *world, script string, up func()) {
		w.run(script, process.Background)
		up()
		must(w.t, w.Close())
	},
	"the termination of a detached job": func(w *world, script string, up func()) {
		r := w.run(script, process.Detached)
		up()
		if end, err := w.Terminate(w.t.Context(), process.Termination{PID: r.PID}); err != nil || !end.Ended {
			w.t.Errorf("%+v, %v", end, err)
		}
	},
}

func TestNothingSurvivesTheEndOfACommand(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is not here")
	}
	for how, end := range ends {
		for _, s := range survivors {
			t.Run(strings.ReplaceAll(how+" for "+s.name, " ", "-"), func(t *testing.T) {
				w := newWorld(t)
				most := 0
				up := func() {
					eventually(func() bool { most = max(most, w.alive()); return most >= s.count })
				}
				seen := make(chan struct{})
				if how == "a time-out" {
					go func() { defer close(seen); up() }()
				} else {
					close(seen)
				}
				end(w, s.script, up)
				<-seen
				if n := w.alive(); n != 0 {
					t.Errorf("%d processes survived", n)
				}
				if most < s.count {
					t.Errorf("there were %d processes to end, not %d", most, s.count)
				}
			})
		}
	}
}

func TestTheEndOfTheServerEndsWhatACommandLeftBehind(t *testing.T) {
	w := newWorld(t)
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
	for _, s := range survivors {
		w := newWorld(t, func(c *process.Config) { c.Starter = bare{} })
		ends["a termination"](w, s.script, func() {
			if !eventually(func() bool { return w.alive() >= s.count }) {
				t.Errorf("%s: there were %d processes to end", s.name, w.alive())
			}
		})
		if n := w.alive(); n != 0 {
			t.Errorf("%s: %d processes survived", s.name, n)
		}
	}
}
