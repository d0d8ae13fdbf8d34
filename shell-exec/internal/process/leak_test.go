//go:build linux

package process_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// holding is what this process holds at this moment.
type holding struct{ goroutines, descriptors, children int }

func holdings(t *testing.T) holding {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	children := 0
	threads, err := os.ReadDir("/proc/self/task")
	must(t, err)
	for _, thread := range threads {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%s/children", thread.Name()))
		children += len(strings.Fields(string(list)))
	}
	return holding{runtime.NumGoroutine(), len(files), children}
}

func TestNothingIsLeftOfAnExecution(t *testing.T) {
	w := newFixture(t)
	everything := func() {
		second := func(q *process.Request) { q.Timeout = time.Second }
		w.run("echo x", process.Foreground)
		w.run("cat >/dev/null", process.Adaptive, func(q *process.Request) { q.Input = strings.Repeat("x", 1<<20) })
		w.run("exec <&-", process.Foreground, func(q *process.Request) { q.Input = strings.Repeat("x", 1<<20) })
		w.run("sleep 1000 & setsid sleep 1000", process.Foreground, second)
		r := w.run("sleep 1000", process.Background)
		_, err := w.Terminate(t.Context(), process.Termination{PID: r.PID})
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := w.Run(ctx, w.sh("sleep 1000", process.Foreground)); err == nil {
			t.Error("it was not cancelled")
		}
		missing := w.sh("true", process.Foreground)
		missing.Command.Path = "/nowhere"
		if _, err := w.Run(t.Context(), missing); err == nil {
			t.Error("it started")
		}
		d := w.run("true", process.Detached)
		eventually(func() bool {
			end, err := w.Get(d.ID)
			return err == nil && end.State == process.Completed && !end.Lingering
		})
	}
	everything() // what is made once is made now
	before := holdings(t)
	for range 3 {
		everything()
	}
	before.goroutines++ // the thread of the next command may have been made since
	var after holding
	if !eventually(func() bool {
		_, _ = w.List(process.Filter{}) // this reaps supervisors
		after = holdings(t)
		return after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.children <= before.children
	}) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestTheOutputOfWhatIsOverIsNotHeldInMemory(t *testing.T) {
	w := newFixture(t)
	flood := func() {
		if r := w.run("head -c 1000000 /dev/zero", process.Foreground); r.Written != 1_000_000 {
			t.Errorf("it wrote %d bytes", r.Written)
		}
	}
	flood()
	before := live()
	for range 20 {
		flood()
	}
	if more := live() - before; more > 10<<20 {
		t.Errorf("%d bytes are held of 20 outputs of a megabyte", more)
	}
}

// live is how many bytes of the heap are in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
