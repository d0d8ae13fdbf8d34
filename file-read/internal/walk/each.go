package walk

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	maxOpen = 32 // directories that are held open only to come back to them

	// How much is taken at a time: few entries in the beginning, so that a walk that
	// ends early has hardly gone ahead, and more as it continues.
	minRun       = 2
	maxRun       = 64
	firstAhead   = 48 // entries ahead, and two more for each delivered, up to Options.Ahead
	defaultAhead = 128
)

// Each runs work on every regular file under root, several at a time, and passes the
// results to deliver, one at a time, in the order of the walk. When deliver returns
// false, or ctx ends, the context of work ends and Each returns as soon as the
// calls under way do. File.Dir is open during work only.
func Each[R any](
	ctx context.Context, root confine.Path, o Options, work func(context.Context, File) R, deliver func(File, R) bool,
) (Skipped, error) {
	return (&crew[R]{o: o, work: work, deliver: deliver}).run(ctx, root)
}

// All is Each for every entry: directories, each before what is in it, links and
// special files too.
func All[R any](
	ctx context.Context, root confine.Path, o Options, work func(context.Context, File) R, deliver func(File, R) bool,
) (Skipped, error) {
	return (&crew[R]{o: o, work: work, deliver: deliver, all: true}).run(ctx, root)
}

// crew is one Each: goroutines that all do the same, and what they share. A unit is a
// run of entries of one directory, or a directory to be listed. All units that were
// taken and whose results are not yet delivered form a list in the order of the walk.
// The directories that have entries left to be taken form a stack, the earliest in
// the walk on top; what is taken is always the earliest there is. The goroutine that has
// done the first unit of the list delivers its results and those of all after it that
// are done.
type crew[R any] struct {
	o       Options
	work    func(context.Context, File) R
	deliver func(File, R) bool
	all     bool // not only regular files
	cancel  context.CancelFunc

	mu         sync.Mutex
	wake       sync.Cond
	stack      []*cursor[R]
	head       *unit[R] // first of the list
	ahead      int      // sum of the weights in the list
	delivered  int
	delivering bool // one goroutine delivers results
	free       []*unit[R]

	ended   bool // no more is to be done
	stopped bool // because deliver returned false
	skipped Skipped
	caught  error // the first panic
}

// unit is something to be done, or, with done set from the start and no weight, a mark
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

// cursor is a directory some of whose entries are left to be taken. It keeps the place
// on the stack of a directory that is being listed, too.
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
	enter  bool // the first of rest, a directory, is in a run already, but not entered
}

func (c *crew[R]) run(outer context.Context, root confine.Path) (Skipped, error) {
	top, err := openRoot(root, c.o)
	if err != nil {
		return Skipped{}, err
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	c.cancel = cancel
	c.wake.L = &c.mu
	if c.o.Ahead <= 0 {
		c.o.Ahead = defaultAhead
	}
	if c.o.Workers <= 0 {
		c.o.Workers = runtime.GOMAXPROCS(0)
	}
	defer context.AfterFunc(ctx, c.end)()
	start := &cursor[R]{in: top}
	c.push(start, 0, nil)
	c.list(ctx, start, nil)
	start.listed, start.start.done = true, true
	var others sync.WaitGroup
	for range c.o.Workers - 1 {
		others.Go(func() { c.toil(ctx) })
	}
	c.toil(ctx)
	others.Wait()

	// Close what is still open.
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
	switch {
	case c.caught != nil:
		panic(c.caught)
	case !c.stopped && outer.Err() != nil: // perhaps after the walk, before the last result
		return c.skipped, fault.From(outer.Err())
	}
	return c.skipped, nil
}

// end makes all goroutines return. It may be called several times.
func (c *crew[R]) end() {
	c.cancel()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.wake.Broadcast()
}

// toil does one unit after the other until there are none left. The lock is not held
// while anything of the caller's runs. It keeps a panic for the goroutine that called
// Each, where it can be handled like any other.
func (c *crew[R]) toil(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("%v\n%s", v, debug.Stack())
			c.mu.Lock()
			if c.caught == nil {
				c.caught = err
			}
			c.mu.Unlock()
			c.end()
		}
	}()
	var scratch []confine.Entry
	c.mu.Lock()
	for {
		u, d := c.take(ctx)
		c.mu.Unlock()
		switch {
		case u != nil:
			c.workOn(ctx, u)
		case d != nil:
			scratch = c.list(ctx, d, scratch[:0])
		default:
			return
		}
		c.mu.Lock()
		if u != nil {
			u.done = true
		} else {
			d.listed, d.start.done = true, true
		}
		c.handOver(ctx)
	}
}

// workOn does the work on a run of entries.
func (c *crew[R]) workOn(ctx context.Context, u *unit[R]) {
	dir := u.dir
	if dir == nil { // it was closed because others are open
		d, err := u.in.path.OpenDir()
		if err != nil {
			u.skipped.Unreadable++
			u.entries = nil
			return
		}
		dir = newShared(d)
	}
	defer dir.release()
	u.dir = nil
	for _, e := range u.entries {
		if ctx.Err() != nil {
			return
		}
		u.results = append(u.results, c.work(ctx, File{Dir: dir.Dir, Name: e.Name, Type: e.Type, Depth: u.in.depth, in: u.in}))
	}
}

// list opens a directory, unless it is the root, and lists it. That it cannot be
// opened is counted.
func (c *crew[R]) list(ctx context.Context, d *cursor[R], scratch []confine.Entry) []confine.Entry {
	if d.in == nil {
		var dir *confine.Dir
		var err error
		above := d.above
		if d.aboveDir != nil {
			dir, err = d.aboveDir.OpenDir(d.name)
			d.aboveDir.release()
			d.aboveDir = nil
		} else {
			dir, err = above.path.Child(d.name).OpenDir()
		}
		if err != nil {
			if errors.Is(err, fault.OutsideAllowed) {
				d.start.skipped.Denied = 1
			} else {
				d.start.skipped.Unreadable = 1
			}
			return scratch
		}
		d.in = &folder{
			path: dir.Path(), full: above.full + d.name + "/", top: above.top, depth: above.depth + 1,
			scope: above.scope, dir: newShared(dir),
		}
	}
	entries, left, err := d.in.list(ctx, &c.o, scratch)
	if err != nil {
		return scratch // the context has ended
	}
	d.deeper = c.o.Recursive && (c.o.MaxDepth == 0 || d.in.depth < c.o.MaxDepth)
	if !c.all { // the regular files, and the directories that are entered
		entries = slices.DeleteFunc(entries, func(e confine.Entry) bool {
			switch e.Type {
			case confine.Symlink:
				left.Links++
			case confine.Other:
				left.Special++
			}
			return e.Type != confine.File && (e.Type != confine.Directory || !d.deeper)
		})
	}
	d.start.skipped = left
	if len(entries) == 0 {
		d.in.shut()
		return scratch
	}
	d.rest = append(make([]confine.Entry, 0, len(entries)), entries...)
	return entries
}

// push gives a directory its place on the stack and in the list, within outer if
// that is not nil.
func (c *crew[R]) push(d *cursor[R], place int, outer *cursor[R]) {
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

// newUnit is an empty unit, one that was delivered if there is one.
func (c *crew[R]) newUnit() *unit[R] {
	n := len(c.free)
	if n == 0 {
		return &unit[R]{}
	}
	u := c.free[n-1]
	c.free = c.free[:n-1]
	return u
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

// take is the next thing to do, a run or a directory to list, or neither if all is
// done. It waits where there is nothing to take yet, or too much is under way.
func (c *crew[R]) take(ctx context.Context) (*unit[R], *cursor[R]) {
	for !c.ended && len(c.stack) > 0 {
		switch i := c.earliest(); {
		case i >= 0:
			return c.takeFrom(i)
		case c.head != nil && c.head.done && !c.delivering:
			c.handOver(ctx)
		case len(c.stack) > 0:
			c.wake.Wait()
		}
	}
	c.handOver(ctx)
	return nil, nil
}

// earliest is the place on the stack of what may be taken, -1 if that is nothing. The
// first unit of all is taken however much is under way: everything waits for it.
func (c *crew[R]) earliest() int {
	for i := len(c.stack) - 1; i >= 0; i-- {
		d := c.stack[i]
		switch {
		case !d.listed:
		case len(d.rest) == 0:
			c.stack = slices.Delete(c.stack, i, i+1)
			d.end.done = true
		case c.room() <= 0 && c.head != d.end:
			return -1
		default:
			return i
		}
	}
	return -1
}

// room is how much more may be under way.
func (c *crew[R]) room() int { return min(c.o.Ahead, firstAhead+2*c.delivered) - c.ahead }

// takeFrom is what comes next in a directory of the stack: a directory to list, or a run
// of entries. A run ends before a directory that is entered or, where directories are
// worked on too, with it.
func (c *crew[R]) takeFrom(i int) (*unit[R], *cursor[R]) {
	d := c.stack[i]
	if d.deeper && d.rest[0].Type == confine.Directory && (d.enter || !c.all) {
		child := &cursor[R]{above: d.in, name: d.rest[0].Name}
		d.rest, d.enter = d.rest[1:], false
		child.aboveDir = d.lend()
		c.push(child, i+1, d)
		return nil, child
	}
	n := min(len(d.rest), maxRun, minRun+c.delivered/8, max(1, c.room()))
	taken := n // all but a directory that is yet to be entered
	if d.deeper {
		if dir := slices.IndexFunc(d.rest[:n], func(e confine.Entry) bool { return e.Type == confine.Directory }); dir >= 0 {
			n, taken = dir, dir
			if c.all {
				n++
				d.enter = true
			}
		}
	}
	u := c.newUnit()
	u.in, u.entries, u.weight = d.in, d.rest[:n], n
	d.rest = d.rest[taken:]
	u.dir = d.lend()
	c.insert(d, u, u)
	return u, nil
}

// lend is the open directory, or nil; who takes it has to release it. The last one has
// it alone, so that it is not closed under the lock.
func (d *cursor[R]) lend() *shared {
	s := d.in.dir
	if s != nil {
		s.users.Add(1)
	}
	if len(d.rest) == 0 {
		d.in.shut()
	}
	return s
}

// handOver delivers what is done at the front of the list, unless another goroutine
// does so, which then delivers this too, and wakes those that wait.
func (c *crew[R]) handOver(ctx context.Context) {
	defer c.wake.Broadcast()
	if c.delivering {
		return
	}
	c.delivering = true
	for c.head != nil && c.head.done && !c.ended {
		u := c.head
		c.head = u.next
		c.ahead -= u.weight
		c.skipped.add(u.skipped)
		if len(u.results) > 0 && !c.deliverUnit(ctx, u) {
			c.ended, c.stopped = true, ctx.Err() == nil
			c.cancel()
		}
		clear(u.results)
		*u = unit[R]{results: u.results[:0]}
		c.free = append(c.free, u)
	}
	c.delivering = false
}

// deliverUnit delivers the results of a unit and reports whether more are wanted. The
// lock is not held during a delivery, nor if deliver panics.
func (c *crew[R]) deliverUnit(ctx context.Context, u *unit[R]) (more bool) {
	c.delivered += len(u.results)
	c.mu.Unlock()
	more = true
	for i := 0; more && i < len(u.results); i++ {
		e := &u.entries[i]
		more = ctx.Err() == nil && c.deliver(File{Name: e.Name, Type: e.Type, Depth: u.in.depth, in: u.in}, u.results[i])
	}
	c.mu.Lock()
	return more
}
