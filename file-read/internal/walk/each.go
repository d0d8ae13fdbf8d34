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

// window is how many files are under way at a time: those being worked on, and
// those that are done but come after one that is not.
const window = 128

// Each runs work on every regular file beneath root, several at a time, and
// hands what comes out to deliver in the order of the walk, from the goroutine
// that called Each. When deliver says false, or ctx ends, the context of work
// ends and Each returns as soon as the calls under way do.
func Each[R any](outer context.Context, root confine.Path, o Options, work func(context.Context, File) R, deliver func(File, R) bool) (Skipped, error) {
	ctx, cancel := context.WithCancel(outer)
	p := newPipe[R]()
	defer p.release()
	defer p.running.Wait()
	defer cancel()
	p.start(func() { p.produce(ctx, root, o) })
	for range runtime.GOMAXPROCS(0) {
		p.start(func() { p.work(ctx, work) })
	}
	stopped := p.deliver(ctx, deliver)
	cancel()
	p.running.Wait()
	if p.caught != nil {
		panic(p.caught)
	}
	switch {
	case stopped:
		return p.skipped, nil
	case outer.Err() != nil: // perhaps after the walk, before the last result
		return p.skipped, fault.From(outer.Err())
	}
	return p.skipped, p.err
}

// pipe connects the goroutines of one Each. There are window jobs and no more;
// each goes from free through order and todo back to free.
type pipe[R any] struct {
	jobs    [window]job[R]
	free    chan *job[R]
	todo    chan *job[R]
	order   chan *job[R] // has room for all: sending never waits
	running sync.WaitGroup

	// Set by the goroutine that produces, read when running is done.
	skipped Skipped
	err     error

	mu     sync.Mutex
	caught error // the first panic
}

// job is one file.
type job[R any] struct {
	file   File
	result R
	done   chan bool // false: work has panicked
}

func newPipe[R any]() *pipe[R] {
	p := &pipe[R]{free: make(chan *job[R], window), todo: make(chan *job[R], window), order: make(chan *job[R], window)}
	for i := range p.jobs {
		p.jobs[i].done = make(chan bool, 1)
		p.free <- &p.jobs[i]
	}
	return p
}

// start runs f in a goroutine of its own.
func (p *pipe[R]) start(f func()) {
	p.running.Go(func() { p.guard(f) })
}

// guard runs f and keeps a panic for the goroutine that called Each, where it
// can be handled like any other.
func (p *pipe[R]) guard(f func()) (fine bool) {
	defer func() {
		if v := recover(); v != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.caught == nil {
				p.caught = fmt.Errorf("%v\n%s", v, debug.Stack())
			}
		}
	}()
	f()
	return true
}

// produce walks the tree and sends its regular files on their way.
func (p *pipe[R]) produce(ctx context.Context, root confine.Path, o Options) {
	defer close(p.order)
	defer close(p.todo)
	var links, special int
	p.skipped, p.err = Tree(ctx, root, o, func(f File) (Step, error) {
		switch f.Type {
		case confine.File:
			return p.send(ctx, f)
		case confine.Symlink:
			links++
		case confine.Other:
			special++
		}
		return Continue, nil
	})
	p.skipped.Links, p.skipped.Special = links, special
}

func (p *pipe[R]) send(ctx context.Context, f File) (Step, error) {
	select {
	case j := <-p.free:
		f.held.retain()
		j.file = f
		p.order <- j
		p.todo <- j
		return Continue, nil
	case <-ctx.Done():
		return Continue, nil // the walk itself tells why
	}
}

func (p *pipe[R]) work(ctx context.Context, work func(context.Context, File) R) {
	for j := range p.todo {
		if ctx.Err() != nil {
			return
		}
		j.done <- p.guard(func() { j.result = work(ctx, j.file) })
	}
}

// deliver hands over the results in order, and says whether deliver wanted no
// more of them.
func (p *pipe[R]) deliver(ctx context.Context, deliver func(File, R) bool) (stopped bool) {
	for j := range p.order {
		select {
		case fine := <-j.done:
			if !fine {
				return false
			}
		case <-ctx.Done():
			return false
		}
		if !deliver(j.file, j.result) {
			return true
		}
		j.finish()
		p.free <- j
	}
	return false
}

// finish lets go of the file and what came out of it.
func (j *job[R]) finish() {
	if j.file.held != nil {
		j.file.held.release()
	}
	var none R
	j.file, j.result = File{}, none
}

// release lets go of the jobs that did not come to an end.
func (p *pipe[R]) release() {
	for i := range p.jobs {
		p.jobs[i].finish()
	}
}
