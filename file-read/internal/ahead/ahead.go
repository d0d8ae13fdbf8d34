// Package ahead does pieces of work at the same time and gives their results in
// order.
//
// It refuses to run further ahead than a few pieces, and to leave anything
// running behind.
package ahead

import (
	"context"
	"sync"
)

// Each does the jobs that next gives, until it gives no more, by so many
// workers at the same time, and gives their results to take in the order of the
// jobs. When take answers false, or ctx ends, the context of the jobs that are
// still running ends too, and no further result is given. A job that panics has
// Each panic.
func Each[J, R any](ctx context.Context, workers int, next func() (J, bool), do func(context.Context, J) R, take func(R) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	begun := make(chan task[J, R], 2*workers)
	defer close(begun)
	for range workers {
		running.Go(func() {
			for t := range begun {
				t.done <- attempt(ctx, do, t.job)
			}
		})
	}
	var waiting []task[J, R]
	for more := true; ; {
		if more && len(waiting) < 2*workers {
			t := task[J, R]{done: make(chan outcome[R], 1)}
			if t.job, more = next(); more {
				waiting = append(waiting, t)
				begun <- t
			}
			continue
		}
		if len(waiting) == 0 {
			return
		}
		o := <-waiting[0].done
		waiting = waiting[1:]
		if o.panicked != nil {
			panic(o.panicked)
		}
		if !take(o.result) || ctx.Err() != nil {
			return
		}
	}
}

type task[J, R any] struct {
	job  J
	done chan outcome[R]
}

type outcome[R any] struct {
	result   R
	panicked any
}

// attempt does a job and catches its panic.
func attempt[J, R any](ctx context.Context, do func(context.Context, J) R, job J) (o outcome[R]) {
	defer func() { o.panicked = recover() }()
	o.result = do(ctx, job)
	return o
}
