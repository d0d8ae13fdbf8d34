package monitor

import (
	"slices"
	"time"
)

// levels is how often samples are thinned by half before they are forgotten: with 256 samples on each level, looks
// every 100 ms are remembered for 29 hours.
const levels = 12

// history remembers samples: the newest as they were, and the older they are, the more of them in one. A sample of a
// level is 2^level looks long, so its span is a small part of its age.
type history struct {
	level [levels][]Sample // each the oldest first; the last level is the oldest
	width int              // samples on a level
	age   time.Duration
}

func newHistory(samples int, age time.Duration) *history {
	return &history{width: max(2, samples/levels), age: age}
}

// add takes a sample that is newer than all before.
func (h *history) add(s Sample) {
	h.forget(s.Time.Add(-h.age))
	for i := range h.level {
		h.level[i] = append(h.level[i], s)
		if len(h.level[i]) <= h.width {
			return
		}
		s = merge(h.level[i][0], h.level[i][1])
		h.level[i] = slices.Delete(h.level[i], 0, 2)
	}
}

// forget drops what is older.
func (h *history) forget(then time.Time) {
	for i := range h.level {
		n := 0
		for n < len(h.level[i]) && h.level[i][n].Time.Before(then) {
			n++
		}
		h.level[i] = slices.Delete(h.level[i], 0, n)
	}
}

// after is what is remembered of the time after then, the oldest first.
func (h *history) after(then time.Time) []Sample {
	out := []Sample{}
	for _, level := range slices.Backward(h.level[:]) {
		for _, s := range level {
			if s.Time.After(then) {
				out = append(out, s)
			}
		}
	}
	return out
}
