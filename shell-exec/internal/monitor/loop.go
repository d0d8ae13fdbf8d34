package monitor

import "time"

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
		if !running { // nobody is told of what comes after the end
			return
		}
		if publish != nil {
			publish(s)
		}
		if empty = count(empty, s); gone == nil && empty == 2 {
			m.over(w)
			return
		}
		timer.Reset(max(w.Interval-took, rest*took))
	}
}

// count is how many looks in a row have met nobody.
func count(empty int, s Sample) int {
	if s.Processes > 0 {
		return 0
	}
	return empty + 1
}

func (m *Monitors) over(w *watch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(w, Ended)
}
