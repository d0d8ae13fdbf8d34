package transport

import (
	"sync/atomic"
	"time"
)

const (
	// patience is how long a request may keep the turn to read that its goroutine
	// had: longer than a quick call takes, shorter than a client notices.
	patience = time.Millisecond

	// rests is after how many looks at nothing the watch ends. To begin one wakes
	// another thread, which a client that calls again and again is spared.
	rests = 50
)

// turn is whose it is to read. The goroutine that has read a request handles it
// too and keeps the turn, so that a quick call wakes no other thread; one that
// takes longer loses it to a goroutine that reads on meanwhile.
type turn struct {
	kept    atomic.Int64 // the request whose goroutine keeps the turn, by number; 0: it reads, or waits
	last    int64        // that has been numbered; of whoever has the turn
	watched atomic.Bool  // the timer is running
	passed  atomic.Bool  // the turn was handed on: nothing is left to watch
	timer   *time.Timer
	seen    int64 // what the timer saw kept the last time
	rested  int   // how often it saw nothing since
	next    func()
}

// newTurn makes a turn that next hands on.
func newTurn(next func()) *turn {
	t := &turn{next: next}
	t.timer = time.AfterFunc(time.Hour, t.look)
	t.timer.Stop()
	return t
}

// keep keeps the turn for a request.
func (t *turn) keep() (request int64) {
	t.last++
	request = t.last
	t.kept.Store(request)
	if !t.watched.Load() && t.watched.CompareAndSwap(false, true) {
		t.timer.Reset(patience)
	}
	return request
}

// back reports whether a request that has come to its end still has the turn.
func (t *turn) back(request int64) bool { return t.kept.CompareAndSwap(request, 0) }

// yield hands on the turn of whatever request keeps it.
func (t *turn) yield() {
	if request := t.kept.Load(); request != 0 {
		t.pass(request)
	}
}

// pass hands on the turn that a request keeps, if it still does.
func (t *turn) pass(request int64) {
	if t.back(request) {
		t.passed.Store(true)
		t.next()
	}
}

// look takes the turn from a request that was there the last time.
func (t *turn) look() {
	request := t.kept.Load()
	switch {
	case request == 0:
		t.rested++
	case request != t.seen:
		t.rested = 0
	default:
		t.pass(request)
	}
	t.seen = request
	if t.passed.Swap(false) { // what waits for something may do so for long, and is not to be disturbed
		t.rested = rests
	}
	if t.rested < rests || t.wanted() {
		t.timer.Reset(patience)
	}
}

// wanted ends the watch, unless a request came in that very moment.
func (t *turn) wanted() bool {
	t.rested = 0
	t.watched.Store(false)
	return t.kept.Load() != 0 && t.watched.CompareAndSwap(false, true)
}
