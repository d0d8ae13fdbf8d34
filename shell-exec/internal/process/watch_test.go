//go:build linux

package process_test

import (
	"slices"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// matches waits for what is watched to be all that is alive of this fixture, and so many.
func (w *fixture) matches(watched process.Watched, n int) {
	w.t.Helper()
	if !eventually(func() bool {
		seen, there := watched.PIDs(), marked("\x00"+w.mark)
		slices.Sort(seen)
		slices.Sort(there)
		return len(there) == n && slices.Equal(seen, there)
	}) {
		w.t.Errorf("seen are %v, there are %v", watched.PIDs(), marked("\x00"+w.mark))
	}
}

func TestALivingExecutionCanBeWatched(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000 & setsid sleep 1000 & wait", process.Background)
	byPID, err := w.Watch(r.PID)
	must(t, err)
	if byPID.ID != r.ID || byPID.PID != r.PID || byPID.Partial {
		t.Errorf("%+v", byPID)
	}
	w.matches(byPID, 3)
	_, err = w.Terminate(t.Context(), process.Termination{PID: r.PID})
	must(t, err)
	if left := byPID.PIDs(); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	_, err = w.Watch(r.PID)
	refuses(t, err, fault.NoProcess)
}

func TestADetachedJobCanBeWatchedByTheNextServer(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000 & setsid sleep 1000 & wait", process.Detached)
	next := w.next()
	watched, err := next.Watch(r.PID)
	if err != nil || watched.ID != r.ID || !watched.Partial {
		t.Fatalf("%+v, %v", watched, err)
	}
	w.matches(watched, 3)
	_, err = next.Terminate(t.Context(), process.Termination{PID: r.PID})
	must(t, err)
	_, err = next.Watch(r.PID)
	refuses(t, err, fault.NoProcess)
}

func TestNobodyElsesProcessCanBeWatched(t *testing.T) {
	w := newFixture(t)
	_, err := w.Watch(1)
	refuses(t, err, fault.NoProcess)
}
