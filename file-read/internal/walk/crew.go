package walk

import (
	"context"
	"slices"
	"sync"

	"github.com/multiollama/mcp-server/shared/confine"
)

// How much is taken at a time: few entries in the beginning, so that a walk that ends
// early has hardly gone ahead, and more as it goes on.
const (
	fewest     = 2
	most       = 64
	early      = 48 // entries ahead, and two more for each delivered, up to Options.Ahead
	usualAhead = 128
)

// crew is one Each: goroutines that all do the same, and what they share. A unit is a
// run of entries of one directory, or a directory to be listed. All units that were
// taken and whose results are not yet delivered form a list in the order of the walk.
// The directories that have entries left to be taken form a stack, the earliest in
// the walk on top; what is taken is always the earliest there is. Whoever has done the
// first unit of the list hands over its results and those of all after it that are
// done.
type crew[R any] struct {
	o       Options
	work    func(context.Context, File) R
	deliver func(File, R) bool
	all     bool // not only regular files
	ctx     context.Context
	cancel  context.CancelFunc

	mu        sync.Mutex
	wake      sync.Cond
	stack     []*cursor[R]
	head      *unit[R] // first of the list
	ahead     int      // what the units of the list weigh
	delivered int
	handing   bool // one goroutine hands over results
	free      []*unit[R]

	ended   bool // no more is to be done
	stopped bool // because deliver said so
	skipped Skipped
	caught  error // the first panic
}

// unit is something to be done, or with done set from the start and no weight, a mark
// in the list.
type unit[R any] struct {
	next    *unit[R]
	in      *folder
	dir     *shared // of in, held open; nil if it has to be opened
	entries []confine.Entry
	results []R
	skipped Skipped
	weight  int
	done    bool
}

// cursor is a directory some of whose entries are left to be taken. A directory that
// is being listed keeps its place on the stack by one, too.
type cursor[R any] struct {
	in       *folder // nil until it is open
	above    *folder
	aboveDir *shared // of above, held open until in is; nil if it is closed
	name     string

	start  *unit[R] // the listing
	last   *unit[R] // after which its next unit is put
	end    *unit[R] // where its units end; done when none will come
	rest   []confine.Entry
	listed bool
	deeper bool // its directories are entered
	handed bool // the first of rest, a directory, is in a run already, but not entered
}

// enlist gives a directory its place on the stack and in the list, within outer if
// that is not nil.
func (c *crew[R]) enlist(d *cursor[R], place int, outer *cursor[R]) {
	d.start, d.end = c.newUnit(), c.newUnit()
	d.start.weight, d.start.next = 1, d.end
	d.last = d.start
	if outer == nil {
		c.head, c.ahead = d.start, 1
	} else {
		c.insert(outer, d.start, d.end)
	}
	c.stack = slices.Insert(c.stack, place, d)
	for _, low := range c.stack[:max(len(c.stack)-maxOpen, 0)] {
		if low.listed && low.in != nil {
			low.in.shut()
		}
	}
}

// insert puts units, linked from first to last, where those of d end so far. What was
// d.last is no longer in the list if all of it is delivered.
func (c *crew[R]) insert(d *cursor[R], first, last *unit[R]) {
	last.next = d.end
	if c.head == d.end {
		c.head = first
	} else {
		d.last.next = first
	}
	d.last = last
	c.ahead += first.weight
}

func (c *crew[R]) newUnit() *unit[R] {
	n := len(c.free)
	if n == 0 {
		return &unit[R]{}
	}
	u := c.free[n-1]
	c.free = c.free[:n-1]
	return u
}

// take is the next thing to do, a run or a directory to list, or neither if all is
// done. It waits where there is nothing to take yet, or too much is under way.
func (c *crew[R]) take() (*unit[R], *cursor[R]) {
	for !c.ended && len(c.stack) > 0 {
		switch i := c.earliest(); {
		case i >= 0:
			return c.takeFrom(i)
		case c.head != nil && c.head.done && !c.handing:
			c.handOver()
		case len(c.stack) > 0:
			c.wake.Wait()
		}
	}
	c.handOver()
	return nil, nil
}

// earliest is the place on the stack of what may be taken, -1 if that is nothing. The
// first unit of all is taken however much is under way: all that waits for it.
func (c *crew[R]) earliest() int {
	for i := len(c.stack) - 1; i >= 0; i-- {
		d := c.stack[i]
		switch {
		case !d.listed:
			continue
		case len(d.rest) == 0:
			c.finish(i)
			continue
		case c.room() <= 0 && c.head != d.end:
			return -1
		}
		return i
	}
	return -1
}

// room is how much more may be under way.
func (c *crew[R]) room() int { return min(c.o.Ahead, early+2*c.delivered) - c.ahead }

// finish takes a directory off the stack that has nothing left.
func (c *crew[R]) finish(i int) {
	d := c.stack[i]
	c.stack = slices.Delete(c.stack, i, i+1)
	d.end.done = true
}

// takeFrom is what comes next in a directory of the stack.
func (c *crew[R]) takeFrom(i int) (*unit[R], *cursor[R]) {
	d := c.stack[i]
	if d.deeper && d.rest[0].Type == confine.Directory && (d.handed || !c.all) {
		child := &cursor[R]{above: d.in, name: d.rest[0].Name}
		d.rest, d.handed = d.rest[1:], false
		child.aboveDir = d.lend()
		c.enlist(child, i+1, d)
		return nil, child
	}
	n := c.runLength(d)
	u := c.newUnit()
	u.in, u.entries, u.weight = d.in, d.rest[:n], n
	if d.handed = d.deeper && d.rest[n-1].Type == confine.Directory; d.handed {
		n--
	}
	d.rest = d.rest[n:]
	u.dir = d.lend()
	c.insert(d, u, u)
	return u, nil
}

// lend is the open directory, or nil, for whoever takes from it, which has to release
// it. The last has it for good, so that it is not closed under the lock.
func (d *cursor[R]) lend() *shared {
	s := d.in.hold()
	if len(d.rest) == 0 {
		d.in.shut()
	}
	return s
}

// runLength is how many of the next entries of d make a run. It ends before a
// directory that is entered or, where directories are worked on too, with it.
func (c *crew[R]) runLength(d *cursor[R]) int {
	n := min(len(d.rest), most, fewest+c.delivered/8, max(1, c.room()))
	if !d.deeper {
		return n
	}
	for i := range n {
		switch {
		case d.rest[i].Type != confine.Directory:
		case c.all:
			return i + 1
		default:
			return i
		}
	}
	return n
}

// handOver delivers what is done at the front of the list, unless another goroutine
// is at it, which then does this too, and wakes those that wait.
func (c *crew[R]) handOver() {
	defer c.wake.Broadcast()
	if c.handing {
		return
	}
	c.handing = true
	for c.head != nil && c.head.done && !c.ended {
		u := c.head
		c.head = u.next
		c.ahead -= u.weight
		c.skipped.add(u.skipped)
		if len(u.results) > 0 && !c.handUnit(u) {
			c.ended, c.stopped = true, c.ctx.Err() == nil
			c.cancel()
		}
		c.recycle(u)
	}
	c.handing = false
}

// handUnit delivers the results of a unit and says whether more are wanted. It has no
// lock while it does, nor if deliver panics.
func (c *crew[R]) handUnit(u *unit[R]) (more bool) {
	c.delivered += len(u.results)
	c.mu.Unlock()
	more = true
	for i := 0; more && i < len(u.results); i++ {
		e := &u.entries[i]
		more = c.ctx.Err() == nil && c.deliver(File{Name: e.Name, Type: e.Type, Depth: u.in.depth, in: u.in}, u.results[i])
	}
	c.mu.Lock()
	return more
}

// recycle keeps a unit for later, empty.
func (c *crew[R]) recycle(u *unit[R]) {
	clear(u.results)
	*u = unit[R]{results: u.results[:0]}
	c.free = append(c.free, u)
}

// closeAll gives back what is still open when all goroutines are done.
func (c *crew[R]) closeAll() {
	for _, d := range c.stack {
		if d.in != nil {
			d.in.shut()
		}
		if d.aboveDir != nil {
			d.aboveDir.release()
		}
	}
	for u := c.head; u != nil; u = u.next {
		if u.dir != nil {
			u.dir.release()
		}
	}
}
