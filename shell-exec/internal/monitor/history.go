package monitor

import (
	"slices"
	"time"
)

// levels is how often samples are thinned by half before they are forgotten: with 256 samples on each level, looks
// every 100 ms are remembered for 25 hours at least.
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
	// Drop what is older than is remembered: where the oldest is kept, there is nothing else to drop.
	then := s.Time.Add(-h.age)
	for i := len(h.level) - 1; i >= 0; i-- {
		n := 0
		for n < len(h.level[i]) && h.level[i][n].Time.Before(then) {
			n++
		}
		h.level[i] = slices.Delete(h.level[i], 0, n)
		if len(h.level[i]) > 0 {
			break
		}
	}
	h.put(0, s)
}

// put adds a sample to a level. What is too much there goes up in pairs, some at a time, so that little has to be moved.
func (h *history) put(level int, s Sample) {
	if level == levels {
		return
	}
	all := append(h.level[level], s)
	if len(all) > h.width {
		pairs := max(1, h.width/32)
		for i := range pairs {
			h.put(level+1, merge(all[2*i], all[2*i+1]))
		}
		all = slices.Delete(all, 0, 2*pairs)
	}
	h.level[level] = all
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
