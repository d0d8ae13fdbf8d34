package main

import (
	"math"
	"slices"
)

// measurement is a row of a table: the same work, done by several sides in turn.
// The first side is ours; what it is to hold are the goals.
type measurement struct {
	name  string
	unit  string // of what its samples are: ms, or MB, which others do not disturb
	sides []side
	goals []goal

	samples int // of each side; 0: as many as the run takes
	warm    int // rounds before them
}

const memoryUnit = "MB"

// side is one of those that do it. It takes one sample at a time; the round says
// how many came before.
type side struct {
	name string
	take func(round int) (sample, error)
}

// sample is what was measured once, and what was answered: sides that answer
// something else did other work.
type sample struct {
	value  float64
	answer string
}

// goal compares the median of our side with the best of others, or with a number.
type goal struct {
	word  string   // how the others are called together
	of    []string // their names; none: the goal is in the unit of the measurement
	minus string   // the side whose median is taken off before
	most  float64  // 0: nothing is promised, it is only compared
}

// result is a measurement that was made.
type result struct {
	Name, Unit string
	Cells      []cell
	Verdicts   []verdict

	Again     int // samples that were taken again because others used the machine
	Disturbed int // that had to be kept although they did
}

// cell is what one side took.
type cell struct {
	Side    string
	Median  float64
	Samples int    // 0: it could not be measured
	Answer  string // of its last sample
	Failed  string // why there are no samples
}

// verdict is a goal and what came of it.
type verdict struct {
	Word     string
	Most     float64
	Measured float64
	Unit     string // none for a ratio
	Known    bool   // there is something measured
}

func (v verdict) promised() bool { return v.Most > 0 }
func (v verdict) held() bool     { return v.Known && v.Measured <= v.Most }

// alternate lets the sides take turns until each has n samples, so that a machine
// whose speed drifts slows all. Samples are judged by windows of time: one in which
// other processes used the machine is taken again, up to spare samples. A side that
// fails drops out.
func (m measurement) alternate(n, spare int, watch *watch) result {
	if m.samples > 0 {
		n = m.samples
	}
	t := newTurns(m.sides)
	for range m.warm {
		t.round()
	}
	r := result{Name: m.name, Unit: m.unit}
	for kept := 0; kept < n; {
		t.begin()
		window := watch.open()
		rounds := 0
		for rounds == 0 || kept+rounds < n && window.short() {
			t.round()
			rounds++
		}
		disturbed := m.unit != memoryUnit && window.disturbed()
		if disturbed && r.Again+rounds <= spare {
			r.Again += rounds
			continue
		}
		if disturbed {
			r.Disturbed += rounds
		}
		t.keep()
		kept += rounds
	}
	r.Cells = t.cells()
	for _, g := range m.goals {
		r.Verdicts = append(r.Verdicts, g.judge(m.unit, r.Cells))
	}
	return r
}

// turns are the samples of the sides as they come.
type turns struct {
	sides  []side
	rounds int
	kept   [][]float64
	now    [][]float64 // of the window that is open
	answer []string
	failed []string
}

func newTurns(sides []side) *turns {
	n := len(sides)
	return &turns{sides, 0, make([][]float64, n), make([][]float64, n), make([]string, n), make([]string, n)}
}

func (t *turns) round() {
	for i, s := range t.sides {
		if t.failed[i] != "" {
			continue
		}
		got, err := s.take(t.rounds)
		if err != nil {
			t.failed[i] = err.Error()
			continue
		}
		t.now[i], t.answer[i] = append(t.now[i], got.value), got.answer
	}
	t.rounds++
}

func (t *turns) begin() {
	for i := range t.now {
		t.now[i] = t.now[i][:0]
	}
}

func (t *turns) keep() {
	for i := range t.now {
		t.kept[i] = append(t.kept[i], t.now[i]...)
	}
}

func (t *turns) cells() []cell {
	var out []cell
	for i, s := range t.sides {
		c := cell{Side: s.name, Failed: t.failed[i]}
		if c.Failed == "" {
			c.Median, c.Samples, c.Answer = median(t.kept[i]), len(t.kept[i]), t.answer[i]
		}
		out = append(out, c)
	}
	return out
}

// judge compares the first cell.
func (g goal) judge(unit string, cells []cell) verdict {
	v := verdict{Word: g.word, Most: g.most, Measured: cells[0].Median, Known: cells[0].Samples > 0}
	if g.minus != "" {
		off := best(cells, []string{g.minus})
		v.Measured, v.Known = v.Measured-off, v.Known && !math.IsNaN(off)
	}
	if len(g.of) == 0 {
		v.Unit = unit
	} else {
		yardstick := best(cells, g.of)
		v.Measured, v.Known = v.Measured/yardstick, v.Known && yardstick > 0
	}
	if !v.Known {
		v.Measured = 0
	}
	return v
}

// best is the smallest median of the named sides, NaN if none was measured.
func best(cells []cell, names []string) float64 {
	least := math.NaN()
	for _, c := range cells {
		if c.Samples > 0 && slices.Contains(names, c.Side) && !(c.Median >= least) {
			least = c.Median
		}
	}
	return least
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}
