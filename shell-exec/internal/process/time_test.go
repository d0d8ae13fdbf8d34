//go:build unix

package process_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// actor is a tree that is played: it lives for so long, unless it is ended.
type actor struct {
	ignoresTerm bool
	unkillable  bool
	lingers     bool // something stays when the first process ends
	status      sandbox.Status

	mu           sync.Mutex
	exited, gone chan struct{}
	left         chan struct{}
	over         bool
}

func play(life time.Duration, a *actor) *actor {
	a.exited, a.gone, a.left = make(chan struct{}), make(chan struct{}), make(chan struct{})
	status := a.status
	time.AfterFunc(life, func() { a.exit(status) })
	return a
}

func (a *actor) Start(context.Context, sandbox.Command, sandbox.Files) (process.Tree, error) {
	return a, nil
}

func (a *actor) exit(s sandbox.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.over, a.status = true, s
	close(a.exited)
	if a.lingers {
		close(a.left)
	} else {
		close(a.gone)
	}
}

func (a *actor) PID() int                  { return 1000000 }
func (a *actor) Exited() <-chan struct{}   { return a.exited }
func (a *actor) Gone() <-chan struct{}     { return a.gone }
func (a *actor) Outlived() <-chan struct{} { return a.left }
func (a *actor) Close() error              { return nil }

func (a *actor) Wait() sandbox.Status {
	<-a.exited
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *actor) Signal(s syscall.Signal) error {
	if s == syscall.SIGTERM && !a.ignoresTerm {
		a.exit(sandbox.Status{Code: -1, Signal: "SIGTERM"})
	}
	return nil
}

func (a *actor) Kill() error {
	if a.unkillable {
		<-a.gone
		return nil
	}
	a.exit(sandbox.Status{Code: -1, Signal: "SIGKILL"})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lingers {
		a.lingers = false
		close(a.gone)
	}
	return nil
}

func (a *actor) PIDs() []int { return nil }

func (a *actor) Usage() sandbox.Usage {
	select {
	case <-a.gone:
		return sandbox.Usage{}
	default:
		return sandbox.Usage{Processes: 1}
	}
}

func playing(t *testing.T, a *actor, l process.Limits) *process.Runner {
	t.Helper()
	r, err := process.New(process.Config{Starter: a, Limits: l})
	must(t, err)
	return r
}

func TestEveryWaitEndsWhenItShould(t *testing.T) {
	second := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for _, c := range []struct {
		name   string
		life   time.Duration
		actor  *actor
		limits process.Limits
		ask    process.Request
		after  time.Duration
		state  process.State
		signal string
	}{
		{"a command that ends", second(7), &actor{}, process.Limits{}, process.Request{Mode: process.Foreground}, second(7), process.Completed, ""},
		{"the default deadline", second(99), &actor{}, process.Limits{}, process.Request{Mode: process.Foreground}, second(30), process.TimedOut, "SIGTERM"},
		{"a deadline", second(99), &actor{}, process.Limits{}, process.Request{Mode: process.Foreground, Timeout: second(45)}, second(45), process.TimedOut, "SIGTERM"},
		{"the longest deadline", second(9999), &actor{}, process.Limits{}, process.Request{Mode: process.Foreground, Timeout: time.Hour}, time.Hour, process.TimedOut, "SIGTERM"},
		{"a command that ignores TERM", second(99), &actor{ignoresTerm: true}, process.Limits{}, process.Request{Mode: process.Foreground}, second(30.25), process.TimedOut, "SIGKILL"},
		{"a command that cannot be killed", second(99), &actor{ignoresTerm: true, unkillable: true}, process.Limits{}, process.Request{Mode: process.Foreground}, second(32.25), process.TimedOut, "SIGKILL"},
		{"the operator's limit", second(99), &actor{}, process.Limits{Time: second(5)}, process.Request{Mode: process.Foreground}, second(5), process.TimedOut, "SIGTERM"},
		{"an adaptive call", second(99), &actor{}, process.Limits{}, process.Request{}, second(10), process.Running, ""},
		{"an adaptive call with a wish", second(99), &actor{}, process.Limits{}, process.Request{ForegroundTimeout: second(300)}, second(99), process.Completed, ""},
		{"an adaptive call with a deadline before", second(99), &actor{}, process.Limits{}, process.Request{Timeout: second(4)}, second(4), process.TimedOut, "SIGTERM"},
		{"a background call", second(99), &actor{}, process.Limits{}, process.Request{Mode: process.Background}, 0, process.Running, ""},
		{"what left something behind", second(3), &actor{lingers: true}, process.Limits{}, process.Request{Mode: process.Foreground}, second(3), process.Completed, ""},
		{"a death by memory", second(3), &actor{status: sandbox.Status{Code: -1, Signal: "SIGKILL", MemoryExceeded: true, Peak: 1 << 30}}, process.Limits{}, process.Request{Mode: process.Foreground}, second(3), process.Failed, "SIGKILL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := playing(t, play(c.life, c.actor), c.limits)
				begin := time.Now()
				got, err := r.Run(t.Context(), c.ask)
				if took := time.Since(begin); err != nil || took != c.after || got.State != c.state || got.Signal != c.signal {
					t.Errorf("after %v: %+v, %v", took, got.Record, err)
				}
				if c.name == "a death by memory" && (got.Why != process.ByMemory || got.Peak != 1<<30 || got.Code != 137) {
					t.Errorf("%+v", got.Record)
				}
				time.Sleep(100 * time.Second)
				must(t, r.Close())
			})
		})
	}
}

func TestWhatACommandLeftKeepsItsDeadline(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits process.Limits
		ask    process.Request
		after  time.Duration // 0: it stays until the server ends
	}{
		{"the default of the foreground", process.Limits{}, process.Request{Mode: process.Foreground}, 30 * time.Second},
		{"its own", process.Limits{}, process.Request{Mode: process.Foreground, Timeout: 7 * time.Second}, 7 * time.Second},
		{"in the background", process.Limits{}, process.Request{Mode: process.Background, Timeout: 8 * time.Second}, 8 * time.Second},
		{"the operator's", process.Limits{Time: 9 * time.Second}, process.Request{Mode: process.Background}, 9 * time.Second},
		{"that of its caller", process.Limits{Time: 20 * time.Second}, process.Request{Mode: process.Background, MaxTime: 10 * time.Second}, 10 * time.Second},
		{"none", process.Limits{}, process.Request{Mode: process.Background}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := play(3*time.Second, &actor{lingers: true})
				r := playing(t, a, c.limits)
				begin := time.Now()
				ran, err := r.Run(t.Context(), c.ask)
				must(t, err)
				ran, err = r.Await(t.Context(), ran.ID, 4*time.Second)
				if err != nil || !ran.Lingering || ran.State != process.Completed || c.after > 0 != ran.Until.Equal(begin.Add(c.after)) {
					t.Errorf("when it has ended: %+v, %v", ran.Record, err)
				}
				if c.after == 0 {
					time.Sleep(time.Hour)
					if got, err := r.Get(ran.ID); err != nil || !got.Lingering || !got.Until.IsZero() {
						t.Errorf("without a deadline: %+v, %v", got.Record, err)
					}
					must(t, r.Close())
					return
				}
				<-a.gone
				if took := time.Since(begin); took < c.after || took > c.after+time.Second {
					t.Errorf("it was ended after %v", took)
				}
				synctest.Wait()
				if got, err := r.Get(ran.ID); err != nil || got.Lingering || got.State != process.Completed {
					t.Errorf("at last: %+v, %v", got.Record, err)
				}
				must(t, r.Close())
			})
		})
	}
}

func TestAWaitForARunningExecutionEndsWithItOrBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := playing(t, play(25*time.Second, &actor{}), process.Limits{})
		defer r.Close()
		begin := time.Now()
		started, err := r.Run(t.Context(), process.Request{})
		must(t, err)
		early, err := r.Await(t.Context(), started.ID, 5*time.Second)
		if took := time.Since(begin); err != nil || took != 15*time.Second || early.State != process.Running {
			t.Errorf("after %v: %+v, %v", took, early.Record, err)
		}
		end, err := r.Await(t.Context(), started.ID, time.Minute)
		if took := time.Since(begin); err != nil || took != 25*time.Second || end.State != process.Completed {
			t.Errorf("after %v: %+v, %v", took, end.Record, err)
		}
		_, err = r.Await(t.Context(), "exec_unknown", time.Minute)
		refuses(t, err, fault.NotFound)
	})
}

func TestTheEndOfTheServerTakesASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := play(time.Hour, &actor{ignoresTerm: true, unkillable: true})
		r := playing(t, stuck, process.Limits{})
		_, err := r.Run(t.Context(), process.Request{Mode: process.Background})
		must(t, err)
		begin := time.Now()
		if err := r.Close(); err == nil || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		time.Sleep(2 * time.Hour) // it does end
	})
}

func TestMercyIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := play(time.Hour, &actor{ignoresTerm: true})
		r := playing(t, a, process.Limits{})
		defer r.Close()
		_, err := r.Run(t.Context(), process.Request{Mode: process.Background})
		must(t, err)
		begin := time.Now()
		end, err := r.Terminate(t.Context(), process.Termination{PID: a.PID()})
		if took := time.Since(begin); err != nil || took != time.Second || !end.Ended || end.Signal != "SIGKILL" || end.Sent != "SIGTERM" {
			t.Errorf("after %v: %+v, %v", took, end, err)
		}
	})
}

func TestForceDoesNotWaitForAnEarlierMercy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := play(time.Hour, &actor{ignoresTerm: true})
		r := playing(t, a, process.Limits{})
		defer r.Close()
		_, err := r.Run(t.Context(), process.Request{Mode: process.Background})
		must(t, err)
		go func() { _, _ = r.Terminate(t.Context(), process.Termination{PID: a.PID()}) }()
		synctest.Wait()
		begin := time.Now()
		end, err := r.Terminate(t.Context(), process.Termination{PID: a.PID(), Force: true})
		if took := time.Since(begin); err != nil || took != 0 || !end.Ended {
			t.Errorf("after %v: %+v, %v", took, end, err)
		}
	})
}

func TestACancelEndsEvenWhatIgnoresTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := playing(t, play(time.Hour, &actor{ignoresTerm: true}), process.Limits{})
		defer r.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		_, err := r.Run(ctx, process.Request{Mode: process.Foreground})
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 3250*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
