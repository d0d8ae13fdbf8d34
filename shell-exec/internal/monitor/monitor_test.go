package monitor

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

func one() *fixture {
	return &fixture{now: 100, all: map[int]reading{10: p(1, 1, 0, 0)}, gone: make(chan struct{})}
}

func refuses(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("%v, want %s", err, code)
	}
}

func started(t *testing.T, m *Monitors, pid int, w *fixture, o Options, publish func(Sample)) Monitor {
	t.Helper()
	info, err := m.Start(pid, fmt.Sprintf("exec_%d", pid), w, o, publish)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestAMonitorLooksAtItsIntervalAndEndsWithItsTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := one()
		m := newMonitors(Limits{}, w.eyes(), time.Now)
		defer m.Close()
		told := 0
		info := started(t, m, 10, w, Options{}, func(Sample) { told++ })
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if told != 11 || len(m.History(info.ID, 0)) != 11 || len(m.History("exec_10", 5*time.Second)) != 5 {
			t.Errorf("%d were published, %d and %d are remembered", told, len(m.History(info.ID, 0)), len(m.History("exec_10", 5*time.Second)))
		}
		close(w.gone)
		synctest.Wait()
		last, ok := m.Latest("10")
		end, _ := m.Find(info.ID)
		if !ok || last.Span != time.Second || end.State != Ended || end.Over.IsZero() {
			t.Errorf("%+v, %+v", last, end)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if told != 11 {
			t.Error("it looks on")
		}
		_, err := m.Start(10, "exec_10", w, Options{}, nil)
		refuses(t, err, fault.NoProcess)
	})
}

func TestATreeOfWhichNobodyKnowsTheEndIsOverWhenTwiceNobodyIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := one()
		w.gone, w.all = nil, map[int]reading{}
		m := newMonitors(Limits{}, w.eyes(), time.Now)
		defer m.Close()
		info := started(t, m, 10, w, Options{}, nil)
		synctest.Wait()
		if now, _ := m.Find(info.ID); now.State != Running {
			t.Error("once was enough")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if now, _ := m.Find(info.ID); now.State != Ended {
			t.Errorf("it is %s", now.State)
		}
	})
}

func TestTheSameProcessesMonitoredAgainReplaceTheMonitorAndKeepThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := one()
		m := newMonitors(Limits{Monitors: 1}, w.eyes(), time.Now)
		defer m.Close()
		old := started(t, m, 10, w, Options{}, nil)
		time.Sleep(3500 * time.Millisecond)
		again := started(t, m, 10, w, Options{Interval: 100 * time.Millisecond, Metrics: Memory}, nil)
		if _, ok := m.Latest(again.ID); !ok || again.Replaced != old.ID || len(m.List()) != 1 {
			t.Errorf("%+v, %d monitors", again, len(m.List()))
		}
		time.Sleep(time.Second + 10*time.Millisecond)
		synctest.Wait()
		all := m.History(again.ID, 0)
		if len(all) != 4+11 || all[3].Reported != All || all[14].Reported != Memory {
			t.Errorf("%d samples", len(all))
		}
	})
}

func TestMonitorsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitors(Limits{Monitors: 2}, one().eyes(), time.Now)
		w := one()
		first := started(t, m, 1, w, Options{}, nil)
		started(t, m, 2, one(), Options{}, nil)
		_, err := m.Start(3, "exec_3", one(), Options{}, nil)
		refuses(t, err, fault.LimitReached)
		if fault.From(err).Details["limit"] != 2 {
			t.Errorf("the limit is not named: %v", err)
		}
		close(w.gone)
		synctest.Wait()
		if s, there := m.Find(first.ID); !there || s.State != Ended {
			t.Errorf("%+v, %v", s, there)
		}
		started(t, m, 3, one(), Options{}, nil)
		if _, there := m.Find(first.ID); there || len(m.List()) != 2 {
			t.Error("the place of the one that is over was not used")
		}
		for _, wrong := range []time.Duration{1, MinInterval - 1, MaxInterval + 1, -1} {
			_, err = m.Start(2, "exec_2", one(), Options{Interval: wrong}, nil)
			refuses(t, err, fault.ParamInvalid)
		}
		m.Close()
		_, err = m.Start(4, "exec_4", one(), Options{}, nil)
		refuses(t, err, fault.Unavailable)
	})
}

func TestALookThatIsDearMakesTheNextOneRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := one()
		slow := w.eyes()
		see := slow.look
		slow.look = func(pid int, m Metrics) (reading, bool) { time.Sleep(time.Second); return see(pid, m) }
		m := newMonitors(Limits{}, slow, time.Now)
		looks := 0
		started(t, m, 10, w, Options{Interval: MinInterval}, func(Sample) { looks++ })
		time.Sleep(100*time.Second + time.Millisecond)
		m.Close()
		if looks < 4 || looks > 6 {
			t.Errorf("%d looks of a second each in 100 seconds", looks)
		}
	})
}

func TestMonitorsStartedAndStoppedAtOnceLeaveNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	var looks, refused, stopped atomic.Int64
	m := newMonitors(Limits{Monitors: 3}, one().eyes(), time.Now)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 100 {
				w := one()
				info, err := m.Start(g%4, fmt.Sprint("exec_", g%4), w, Options{}, func(Sample) { looks.Add(1) })
				if err != nil {
					refused.Add(1)
					continue
				}
				if i%3 == 0 {
					close(w.gone)
				}
				if info.Replaced != "" {
					stopped.Add(1)
				}
				m.Latest(info.ID)
				m.History(info.Execution, time.Hour)
				m.List()
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	m.Close()
	if looks.Load() == 0 || refused.Load() == 0 || stopped.Load() == 0 {
		t.Errorf("there was no race: %d looks, %d refused, %d stopped", looks.Load(), refused.Load(), stopped.Load())
	}
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

func TestWordsOfMetricsAreReadBack(t *testing.T) {
	for m := Metrics(1); m <= All; m++ {
		if back, err := ParseMetrics(m.Names()); err != nil || back != m {
			t.Errorf("%v became %v, %v", m.Names(), back.Names(), err)
		}
	}
	if all, err := ParseMetrics(nil); err != nil || all != All {
		t.Errorf("%v, %v", all, err)
	}
	_, err := ParseMetrics([]string{"cpu", "smell"})
	refuses(t, err, fault.ParamInvalid)
}

// Names are the words for them.
func (m Metrics) Names() []string {
	out := []string{}
	for i, name := range metricNames {
		if m&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}
