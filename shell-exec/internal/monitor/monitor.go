// Package monitor looks at process trees over time, and at the system they run on.
//
// It never changes what it looks at: it sends no signal and writes nothing. It never counts
// a process of others: a number that has come to mean another process is left out. A figure
// that the system does not report is missing, never 0. What it remembers is bounded, and so
// is what it costs: the more a look costs, the rarer looks become.
package monitor

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Source is a tree of processes. Who is in it stays in it until it ends.
type Source interface {
	PIDs() []int           // those that live now
	Gone() <-chan struct{} // closed when none is left; nil: nobody knows, and twice no PIDs means that
}

// Limits are what all monitors together may take. Zero fields have the default.
type Limits struct {
	Monitors int           // at a time, those that are over included: 20
	Samples  int           // that each remembers: 3,072, some 700 KB
	Age      time.Duration // of the oldest of them: 24 h
}

// What an interval may be.
const (
	MinInterval     = 100 * time.Millisecond
	MaxInterval     = time.Minute
	DefaultInterval = time.Second
)

// Options are how somebody wants to look. Zero fields have the default.
type Options struct {
	Interval time.Duration // DefaultInterval
	Metrics  Metrics       // All
}

// State is what became of a monitor.
type State string

// The states.
const (
	Running State = "running"
	Ended   State = "ended"   // with its tree
	Stopped State = "stopped" // by Close, or because another took its place
)

// Monitor is what is known of a monitor, its samples apart.
type Monitor struct {
	ID        string // "mon_" and what nobody guesses
	PID       int
	Execution string // the id that Start was given
	Options
	State    State
	Started  time.Time
	Over     time.Time // when it ended or was stopped
	Replaced string    // the monitor of the same processes whose place and samples it took
}

// Monitors are all monitors of a server.
type Monitors struct {
	limits Limits
	eyes   eyes
	now    func() time.Time

	mu     sync.Mutex
	all    []*watch // the oldest first
	closed bool
	loops  sync.WaitGroup
}

// watch is a monitor at work. Monitors.mu guards it.
type watch struct {
	Monitor
	past   *history
	latest Sample // zero: there is none yet
	quit   chan struct{}
}

// New is Monitors without a monitor.
func New(l Limits) *Monitors { return newMonitors(l, systemEyes(), time.Now) }

func newMonitors(l Limits, e eyes, now func() time.Time) *Monitors {
	if l.Monitors <= 0 {
		l.Monitors = 20
	}
	if l.Samples <= 0 {
		l.Samples = 3072
	}
	if l.Age <= 0 {
		l.Age = 24 * time.Hour
	}
	return &Monitors{limits: l, eyes: e, now: now}
}

// Start begins to look at src, whose first process is pid and which the caller knows as id. publish, which may be nil, is
// called with each sample, one at a time, and has to return soon: the next look waits for it. A monitor of the same
// processes that is still at work is stopped, and its samples are taken over.
func (m *Monitors) Start(pid int, id string, src Source, o Options, publish func(Sample)) (Monitor, error) {
	o.Interval, o.Metrics = cmp.Or(o.Interval, DefaultInterval), cmp.Or(o.Metrics, All)
	if o.Interval < MinInterval || o.Interval > MaxInterval {
		return Monitor{}, fault.New(fault.ParamInvalid, fmt.Sprintf("an interval of %s is out of range", o.Interval),
			fmt.Sprintf("Choose one from %d to %d milliseconds", MinInterval.Milliseconds(), MaxInterval.Milliseconds()))
	}
	select {
	case <-src.Gone():
		return Monitor{}, fault.New(fault.NoProcess, fmt.Sprintf("the process %d has ended already", pid), "Look at its result").
			With("process_id", pid)
	default:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &watch{
		Monitor: Monitor{ID: "mon_" + strings.ToLower(rand.Text()[:16]), PID: pid, Execution: id, Options: o, State: Running, Started: m.now()},
		past:    newHistory(m.limits.Samples, m.limits.Age), quit: make(chan struct{}),
	}

	// Make room for it: of one that looks at the same, else of one that is over.
	if m.closed {
		return Monitor{}, fault.New(fault.Unavailable, "the server is about to end", "")
	}
	same := func(o *watch) bool { return o.State == Running && o.PID == pid && o.Execution == id }
	if i := slices.IndexFunc(m.all, same); i >= 0 {
		old := m.all[i]
		m.end(old, Stopped)
		w.Replaced, w.past, w.latest = old.ID, old.past, old.latest
		m.all = slices.Delete(m.all, i, i+1)
	}
	if len(m.all) >= m.limits.Monitors {
		over := slices.IndexFunc(m.all, func(o *watch) bool { return o.State != Running })
		if over < 0 {
			return Monitor{}, fault.New(fault.LimitReached, fmt.Sprintf("%d monitors are at work already", m.limits.Monitors),
				"End one of the processes that are monitored, or wait for its end").With("limit", m.limits.Monitors)
		}
		m.all = slices.Delete(m.all, over, over+1)
	}
	m.all = append(m.all, w)
	m.loops.Add(1)
	go m.run(w, newTally(m.eyes, src, o.Metrics), src.Gone(), publish)
	return w.Monitor, nil
}

// rest is how many times as long as a look took the next one waits at least: looks
// take a twentieth of a core at most, however large the tree is.
const rest = 19

// run looks until the monitor is over.
func (m *Monitors) run(w *watch, t *tally, gone <-chan struct{}, publish func(Sample)) {
	defer m.loops.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for empty := 0; ; {
		select {
		case <-w.quit:
			return
		case <-gone:
			m.over(w)
			return
		case <-timer.C:
		}
		began := m.now()
		s := t.sample(began)
		took := m.now().Sub(began)
		m.mu.Lock()
		running := w.State == Running
		if running {
			w.latest = s
			w.past.add(s)
		}
		m.mu.Unlock()
		if !running { // samples after the end are reported to nobody
			return
		}
		if publish != nil {
			publish(s)
		}
		if empty++; s.Processes > 0 {
			empty = 0
		}
		if gone == nil && empty == 2 { // looks in a row that have met nobody
			m.over(w)
			return
		}
		timer.Reset(max(w.Interval-took, rest*took))
	}
}

func (m *Monitors) over(w *watch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(w, Ended)
}

// end notes that a monitor is over, once.
func (m *Monitors) end(w *watch, s State) {
	if w.State == Running {
		w.State, w.Over = s, m.now()
		close(w.quit)
	}
}

// find is the newest monitor of that name: its own ID, the id of the execution, or the number of the first process.
func (m *Monitors) find(name string) *watch {
	for _, w := range slices.Backward(m.all) {
		if w.ID == name || w.Execution == name || strconv.Itoa(w.PID) == name {
			return w
		}
	}
	return nil
}

// Latest is the newest sample of a monitor, which is named by its own ID, by that of the execution, or by the number of
// its first process; false where there is no such monitor, or no sample yet.
func (m *Monitors) Latest(name string) (Sample, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.find(name)
	if w == nil || w.latest.Time.IsZero() {
		return Sample{}, false
	}
	return w.latest, true
}

// History is what a monitor remembers of the time since then, the oldest first; of all time where since is 0. Old
// samples cover longer spans.
func (m *Monitors) History(name string, since time.Duration) []Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.find(name)
	switch {
	case w == nil:
		return nil
	case since <= 0:
		return w.past.after(time.Time{})
	}
	return w.past.after(m.now().Add(-since))
}

// Find is the newest monitor of that name.
func (m *Monitors) Find(name string) (Monitor, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.find(name); w != nil {
		return w.Monitor, true
	}
	return Monitor{}, false
}

// List is all monitors, those that are over included, the newest first.
func (m *Monitors) List() []Monitor {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Monitor, 0, len(m.all))
	for _, w := range slices.Backward(m.all) {
		out = append(out, w.Monitor)
	}
	return out
}

// Close ends all monitors. When it returns, nothing is published any more; so it is not to be called by what publishes.
func (m *Monitors) Close() {
	m.mu.Lock()
	m.closed = true
	for _, w := range m.all {
		m.end(w, Stopped)
	}
	m.mu.Unlock()
	m.loops.Wait()
}
