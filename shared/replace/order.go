package replace

import (
	"cmp"
	"context"
	"strings"
	"sync"
)

// key is an entry of a directory, whatever path led there.
type key struct {
	dev, ino uint64 // of the directory
	name     string // in lower case, for file systems to which case means nothing
}

// order lets changes of one entry happen one after the other. It holds only keys
// that are in use.
type order struct {
	mu    sync.Mutex
	turns map[key]*turn
}

type turn struct {
	busy chan struct{} // holds one while somebody is inside
	want int           // callers inside or waiting; guarded by order.mu
}

// enter waits for k to be free, or for ctx to end. leave must be called once.
func (o *order) enter(ctx context.Context, k key) (leave func(), err error) {
	t := o.turn(k)
	select {
	case t.busy <- struct{}{}:
	case <-ctx.Done():
		o.drop(k, t)
		return nil, ctx.Err()
	}
	return func() {
		<-t.busy
		o.drop(k, t)
	}, nil
}

// enterBoth is enter for two entries, one of them first for everybody, so that two
// callers never wait for each other.
func (o *order) enterBoth(ctx context.Context, a, b key) (leave func(), err error) {
	if a == b {
		return o.enter(ctx, a)
	}
	if a.compare(b) > 0 {
		a, b = b, a
	}
	leaveA, err := o.enter(ctx, a)
	if err != nil {
		return nil, err
	}
	leaveB, err := o.enter(ctx, b)
	if err != nil {
		leaveA()
		return nil, err
	}
	return func() { leaveB(); leaveA() }, nil
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.dev, other.dev), cmp.Compare(k.ino, other.ino), strings.Compare(k.name, other.name))
}

func (o *order) turn(k key) *turn {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns == nil {
		o.turns = map[key]*turn{}
	}
	t := o.turns[k]
	if t == nil {
		t = &turn{busy: make(chan struct{}, 1)}
		o.turns[k] = t
	}
	t.want++
	return t
}

func (o *order) drop(k key, t *turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.want--; t.want == 0 {
		delete(o.turns, k)
	}
}
