package monitor

import "time"

// eyes are how the system is seen.
type eyes struct {
	look    func(pid int, m Metrics) (reading, bool) // false: there is no such process
	clock   func() int64                             // the clock of reading.start
	sockets func(pids []int) (Sockets, bool)         // false: nothing can be said
}

// reading is what the system says of a process at a moment.
type reading struct {
	start    int64 // when it began: with its number, no other process has that
	parent   int
	ended    bool          // and its parent has not asked for that
	own      time.Duration // of the processor
	children time.Duration // what ended children have used whose end it has asked for
	memory   int64
	moved    moved // its own, and that of such children
	shown    Metrics
}

type moved struct{ read, written, storageRead, storageWritten int64 }

func (m moved) plus(o moved) moved {
	return moved{m.read + o.read, m.written + o.written, m.storageRead + o.storageRead, m.storageWritten + o.storageWritten}
}

func (m moved) minus(o moved) moved {
	return m.plus(moved{-o.read, -o.written, -o.storageRead, -o.storageWritten})
}

// positive is m with nothing below 0.
func (m moved) positive() moved {
	return moved{max(0, m.read), max(0, m.written), max(0, m.storageRead), max(0, m.storageWritten)}
}

// tally adds up what the processes of a tree do, look by look.
type tally struct {
	eyes    eyes
	source  Source
	metrics Metrics

	known map[int]reading // at the last look
	next  map[int]reading // at this one; else empty
	at    time.Time       // of the last look; zero: there was none
	clock int64           // then, just before the numbers were asked for

	used  time.Duration // of the processor, by all
	moved moved         // by all
}

func newTally(e eyes, src Source, m Metrics) *tally {
	return &tally{eyes: e, source: src, metrics: m, known: map[int]reading{}, next: map[int]reading{}}
}

// sample looks once.
func (t *tally) sample(now time.Time) Sample {
	clock := t.eyes.clock()
	t.look(clock)
	used := t.add()
	s := Sample{Time: now, Looks: 1}
	if !t.at.IsZero() {
		s.Span = now.Sub(t.at)
	}
	t.known, t.next = t.next, t.known
	clear(t.next)
	t.at, t.clock = now, clock

	// What is known after the look.
	var living []int
	for pid, r := range t.known {
		if r.ended {
			continue
		}
		living = append(living, pid)
		s.Memory.Bytes += r.memory
		s.Reported |= r.shown
		if !r.shown.Has(IO) {
			s.IO.Hidden++
		}
	}
	s.Processes = len(living)
	s.Memory.Max = s.Memory.Bytes
	s.CPU.Time = t.used
	s.IO.Read, s.IO.Written, s.IO.StorageRead, s.IO.StorageWritten = t.moved.read, t.moved.written, t.moved.storageRead, t.moved.storageWritten
	if s.Span > 0 {
		s.CPU.Percent = 100 * used.Seconds() / s.Span.Seconds()
		s.CPU.Max = s.CPU.Percent
	} else {
		s.Reported &^= CPU
	}
	if t.metrics.Has(Network) && len(living) > 0 {
		if seen, ok := t.eyes.sockets(living); ok {
			s.Network = seen
			s.Reported |= Network
		}
	}
	s.Reported &= t.metrics
	return s
}

// look takes the next reading of the processes that are known, and of those that came. Of a number in the list it is
// known whose it was only if its process began before the list was made, at clock: then it had the number all the time.
// Others wait for the next look.
func (t *tally) look(clock int64) {
	listed := t.source.PIDs()
	for pid, old := range t.known {
		if r, ok := t.eyes.look(pid, t.metrics); ok && r.start == old.start {
			t.next[pid] = r
		}
	}
	for _, pid := range listed {
		if _, met := t.next[pid]; met {
			continue
		}
		if r, ok := t.eyes.look(pid, t.metrics); ok && !r.ended && r.start < clock {
			t.next[pid] = r
		}
	}
}

// bill is what was counted of processes that are no more there: their parent has it too once it has asked for their end.
type bill struct {
	used  time.Duration
	moved moved
}

// add counts what has been done since the last look, and returns the processor time of it.
func (t *tally) add() (used time.Duration) {
	bills := t.bills()
	for pid, r := range t.next {
		old, known := t.known[pid]
		if known && old.start == r.start {
			cpu, io := since(old, &r, bills[pid])
			t.next[pid] = r
			used += cpu
			t.used += cpu
			t.moved = t.moved.plus(io)
			continue
		}
		t.used += r.own + r.children
		t.moved = t.moved.plus(r.moved)
		if r.start >= t.clock { // else it did some of that before the last look
			used += r.own + r.children
		}
	}
	return used
}

// bills are what parents may get for children that were counted already.
func (t *tally) bills() map[int]bill {
	var out map[int]bill
	for pid, old := range t.known {
		if r, ok := t.next[pid]; ok && r.start == old.start {
			continue
		}
		heir, ok := t.heir(old)
		if !ok {
			continue
		}
		if out == nil {
			out = map[int]bill{}
		}
		b := out[heir]
		out[heir] = bill{b.used + old.own + old.children, b.moved.plus(old.moved)}
	}
	return out
}

// heir is the nearest ancestor that is still there.
func (t *tally) heir(r reading) (int, bool) {
	for range t.known { // a chain is not longer
		p, known := t.known[r.parent]
		if !known {
			return 0, false
		}
		if now, ok := t.next[r.parent]; ok && now.start == p.start {
			return r.parent, true
		}
		r = p
	}
	return 0, false
}

// since is what a process has done after old, children that were counted themselves apart. If it got less than they had,
// it did not get it: it never asks for the end of its children.
func since(old reading, r *reading, b bill) (time.Duration, moved) {
	if !r.shown.Has(IO) {
		r.moved = old.moved // it hides now what it showed
	}
	children := r.children - old.children
	if children >= b.used {
		children -= b.used
	}
	io := r.moved.minus(old.moved).positive()
	if less := io.minus(b.moved); less == less.positive() {
		io = less
	}
	return max(0, r.own-old.own) + max(0, children), io
}
