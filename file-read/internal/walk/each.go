package walk

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Each runs work on every regular file beneath root, several at a time, and hands
// what comes out to deliver, one at a time, in the order of the walk. When deliver
// says false, or ctx ends, the context of work ends and Each returns as soon as the
// calls under way do. File.Dir is open during work only.
func Each[R any](ctx context.Context, root confine.Path, o Options, work func(context.Context, File) R, deliver func(File, R) bool) (Skipped, error) {
	return run(ctx, root, &crew[R]{o: o, work: work, deliver: deliver})
}

// All is Each for every entry: directories, each before what is in it, links and
// special files too.
func All[R any](ctx context.Context, root confine.Path, o Options, work func(context.Context, File) R, deliver func(File, R) bool) (Skipped, error) {
	return run(ctx, root, &crew[R]{o: o, work: work, deliver: deliver, all: true})
}

func run[R any](outer context.Context, root confine.Path, c *crew[R]) (Skipped, error) {
	top, err := openRoot(root, c.o)
	if err != nil {
		return Skipped{}, err
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	c.ctx, c.cancel = ctx, cancel
	c.wake.L = &c.mu
	if c.o.Ahead <= 0 {
		c.o.Ahead = usualAhead
	}
	defer context.AfterFunc(ctx, c.end)()
	start := &cursor[R]{in: top}
	c.enlist(start, 0, nil)
	c.list(start, nil)
	start.listed, start.start.done = true, true
	var others sync.WaitGroup
	for range runtime.GOMAXPROCS(0) - 1 {
		others.Go(func() { c.guard(c.toil) })
	}
	c.guard(c.toil)
	others.Wait()
	c.closeAll()
	switch {
	case c.caught != nil:
		panic(c.caught)
	case c.stopped:
		return c.skipped, nil
	case outer.Err() != nil: // perhaps after the walk, before the last result
		return c.skipped, fault.From(outer.Err())
	}
	return c.skipped, nil
}

// guard runs f and keeps a panic for the goroutine that called Each, where it can be
// handled like any other.
func (c *crew[R]) guard(f func()) {
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
	f()
}

// end makes all goroutines come back. It may be called several times.
func (c *crew[R]) end() {
	c.cancel()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.wake.Broadcast()
}

// toil does one unit after the other until there are none left. No lock is held while
// anything of the caller's runs.
func (c *crew[R]) toil() {
	var scratch []confine.Entry
	c.mu.Lock()
	for {
		u, d := c.take()
		c.mu.Unlock()
		switch {
		case u != nil:
			c.workOn(u)
		case d != nil:
			scratch = c.list(d, scratch[:0])
		default:
			return
		}
		c.mu.Lock()
		if u != nil {
			u.done = true
		} else {
			d.listed, d.start.done = true, true
		}
		c.handOver()
	}
}

// workOn does the work on a run of entries.
func (c *crew[R]) workOn(u *unit[R]) {
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
		if c.ctx.Err() != nil {
			return
		}
		u.results = append(u.results, c.work(c.ctx, File{Dir: dir.Dir, Name: e.Name, Type: e.Type, Depth: u.in.depth, in: u.in}))
	}
}

// list opens a directory, unless it is the root, and lists it. That it cannot be
// opened is no error.
func (c *crew[R]) list(d *cursor[R], scratch []confine.Entry) []confine.Entry {
	if d.in == nil {
		f, err := d.above.openChild(d.aboveDir, d.name)
		if d.aboveDir != nil {
			d.aboveDir.release()
			d.aboveDir = nil
		}
		if err != nil {
			d.start.skipped = notOpened(err)
			return scratch
		}
		d.in = f
	}
	entries, left, err := d.in.list(c.ctx, &c.o, scratch)
	if err != nil {
		return scratch // the context has ended
	}
	d.deeper = c.o.deeper(d.in.depth)
	if !c.all {
		entries = onlyFiles(entries, d.deeper, &left)
	}
	d.start.skipped = left
	if len(entries) == 0 {
		d.in.shut()
		return scratch
	}
	d.rest = append(make([]confine.Entry, 0, len(entries)), entries...)
	return entries
}

// onlyFiles leaves the regular files, and the directories if they are to be entered.
func onlyFiles(entries []confine.Entry, dirs bool, left *Skipped) []confine.Entry {
	kept := entries[:0]
	for _, e := range entries {
		switch {
		case e.Type == confine.File, e.Type == confine.Directory && dirs:
			kept = append(kept, e)
		case e.Type == confine.Symlink:
			left.Links++
		case e.Type == confine.Other:
			left.Special++
		}
	}
	return kept
}
