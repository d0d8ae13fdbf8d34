package monitor

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// fixture is a system that a test writes down.
type fixture struct {
	now    int64
	all    map[int]reading
	listed []int // nil: all that have not ended
	gone   chan struct{}
}

func (w *fixture) eyes() eyes {
	return eyes{
		look:    func(pid int, _ Metrics) (reading, bool) { r, ok := w.all[pid]; return r, ok },
		clock:   func() int64 { return w.now },
		sockets: func(pids []int) (Sockets, bool) { return Sockets{TCP: len(pids)}, true },
	}
}

func (w *fixture) Gone() <-chan struct{} { return w.gone }

func (w *fixture) PIDs() []int {
	if w.listed != nil {
		return w.listed
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.all)), func(pid int) bool { return w.all[pid].ended })
}

const told = CPU | Memory | IO

// p is a process: began at start, child of parent, used own ms itself and children ms through children; it moved as many bytes.
func p(start int64, parent int, own, children int64) reading {
	return reading{start: start, parent: parent, own: time.Duration(own) * time.Millisecond, children: time.Duration(children) * time.Millisecond,
		memory: 1 << 20, moved: moved{read: own + children}, shown: told}
}

func dead(r reading) reading { r.ended = true; return r }

func TestWhatATreeDoesIsCountedOnce(t *testing.T) {
	type look struct {
		all     map[int]reading
		percent float64 // over the second since the look before
		used    int64   // ms altogether
	}
	for _, c := range []struct {
		what  string
		looks []look // at 100 ticks, 200 ticks, …
	}{
		{"a process that computes half the time", []look{
			{map[int]reading{10: p(1, 1, 700, 0)}, 0, 700},
			{map[int]reading{10: p(1, 1, 1200, 0)}, 50, 1200},
		}},
		{"a child that was seen and whose end was asked for", []look{
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 10, 400, 0)}, 0, 400},
			{map[int]reading{10: p(1, 1, 0, 500)}, 10, 500},
		}},
		{"a child that was never seen", []look{
			{map[int]reading{10: p(1, 1, 0, 0)}, 0, 0},
			{map[int]reading{10: p(1, 1, 0, 300)}, 30, 300},
		}},
		{"a child that waits for its parent between two looks", []look{
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 10, 400, 0)}, 0, 400},
			{map[int]reading{10: p(1, 1, 0, 0), 11: dead(p(2, 10, 500, 0))}, 10, 500},
			{map[int]reading{10: p(1, 1, 0, 500)}, 0, 500},
		}},
		{"a grandchild and its parent at once", []look{
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 10, 100, 0), 12: p(3, 11, 400, 0)}, 0, 500},
			{map[int]reading{10: p(1, 1, 0, 600)}, 10, 600},
		}},
		{"a child whose end nobody asks for", []look{
			{map[int]reading{10: p(1, 1, 100, 0), 11: p(2, 10, 400, 0)}, 0, 500},
			{map[int]reading{10: p(1, 1, 300, 0)}, 20, 700},
		}},
		{"an orphan that ends", []look{
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 1, 400, 0)}, 0, 400},
			{map[int]reading{10: p(1, 1, 0, 0)}, 0, 400},
		}},
		{"a child born after the first look", []look{
			{map[int]reading{10: p(1, 1, 0, 0)}, 0, 0},
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(150, 10, 200, 0)}, 20, 200},
		}},
		{"one that is so young that the number could be another's waits a look", []look{
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(100, 10, 0, 0)}, 0, 0},
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(100, 10, 600, 0)}, 60, 600},
		}},
		{"an old one that was overlooked makes no peak", []look{
			{map[int]reading{10: p(1, 1, 0, 0)}, 0, 0},
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 1, 9000, 0)}, 0, 9000},
		}},
		{"a number that a younger one of the tree has now", []look{
			{map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 10, 400, 0)}, 0, 400},
			{map[int]reading{10: p(1, 1, 0, 400), 11: p(150, 10, 100, 0)}, 10, 500},
		}},
		{"figures that run backwards", []look{
			{map[int]reading{10: p(1, 1, 500, 100)}, 0, 600},
			{map[int]reading{10: p(1, 1, 400, 50)}, 0, 600},
		}},
	} {
		w := &fixture{}
		y := newTally(w.eyes(), w, All)
		for i, l := range c.looks {
			w.now, w.all = int64(100*(i+1)), l.all
			s := y.sample(time.Unix(int64(i+1), 0))
			if s.CPU.Percent < l.percent-0.001 || s.CPU.Percent > l.percent+0.001 || s.CPU.Time.Milliseconds() != l.used || s.IO.Read != l.used {
				t.Errorf("%s, look %d: %.1f %%, %s, %d bytes; want %.1f %% and %d", c.what, i, s.CPU.Percent, s.CPU.Time, s.IO.Read, l.percent, l.used)
			}
			if s.Reported.Has(CPU) != (i > 0) || !s.Reported.Has(Memory|IO|Network) {
				t.Errorf("%s, look %d: told are %v", c.what, i, s.Reported.Names())
			}
		}
	}
}

func TestAStrangerWithANumberOfTheTreeIsNotCounted(t *testing.T) {
	stranger := reading{start: 100, parent: 1, own: time.Hour, memory: 1 << 40, shown: told}
	w := &fixture{now: 100, all: map[int]reading{10: p(1, 1, 0, 0), 11: p(2, 10, 0, 0)}}
	y := newTally(w.eyes(), w, All)
	first := y.sample(time.Unix(1, 0))
	// 11 ended, the list was made, and then the number was given to another process; it is also in no later list.
	w.now, w.listed, w.all[11] = 100, []int{10, 11}, stranger
	second := y.sample(time.Unix(2, 0))
	w.now, w.listed = 300, []int{10}
	third := y.sample(time.Unix(3, 0))
	if first.Processes != 2 || first.Memory.Bytes != 2<<20 {
		t.Errorf("first: %+v", first)
	}
	for _, s := range []Sample{second, third} {
		if s.Processes != 1 || s.Memory.Bytes != 1<<20 || s.CPU.Percent != 0 || s.CPU.Time != 0 {
			t.Errorf("the stranger is counted: %+v", s)
		}
	}
}

func TestWhatIsNotShownIsToldAsNotTold(t *testing.T) {
	hides := p(1, 1, 0, 0)
	hides.shown = CPU | Memory
	w := &fixture{now: 100, all: map[int]reading{10: hides}}
	y := newTally(w.eyes(), w, All)
	if s := y.sample(time.Unix(1, 0)); s.Reported.Has(IO) || s.IO.Hidden != 1 {
		t.Errorf("told %v, %d hidden", s.Reported.Names(), s.IO.Hidden)
	}
	w.all[11] = p(2, 10, 5, 0)
	if s := y.sample(time.Unix(2, 0)); !s.Reported.Has(IO) || s.IO.Hidden != 1 || s.IO.Read != 5 {
		t.Errorf("told %v, %+v", s.Reported.Names(), s.IO)
	}
	hides = w.all[11]
	hides.shown, hides.moved = CPU|Memory, moved{}
	w.all[11] = hides
	if s := y.sample(time.Unix(3, 0)); s.Reported.Has(IO) || s.IO.Hidden != 2 || s.IO.Read != 5 {
		t.Errorf("told %v, %+v", s.Reported.Names(), s.IO)
	}
	if s := newTally(w.eyes(), w, Memory).sample(time.Unix(1, 0)); s.Reported != Memory {
		t.Errorf("asked for memory, told %v", s.Reported.Names())
	}
}
