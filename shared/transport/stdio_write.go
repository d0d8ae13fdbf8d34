package transport

import (
	"context"
	"io"
	"sync"
)

// output is the only way to the client. One Write per message: a line is never
// cut by another one.
type output struct {
	turn   chan struct{} // holds one token: whose turn it is to write
	w      io.Writer
	err    error         // the first failure; nothing is written after it
	broken chan struct{} // closed at that moment
	sealed chan struct{} // closed when nothing may be written any more
	lines  encoder       // makes them

	mu     sync.Mutex
	unsent int           // bytes of answers that are made, or about to be
	freed  chan struct{} // closed when there is room again; nil where nobody waits
}

const (
	// stdioMaxUnsent is how many bytes of answers may wait for a client that does not read.
	// Above it no further request is begun.
	stdioMaxUnsent = 16 << 20
)

// reserve waits for room for another answer, as long as ctx lasts, and takes it.
func (o *output) reserve(ctx context.Context) int {
	for {
		o.mu.Lock()
		if o.unsent < stdioMaxUnsent || ctx.Err() != nil {
			o.unsent += answerRoom
			o.mu.Unlock()
			return answerRoom
		}
		if o.freed == nil {
			o.freed = make(chan struct{})
		}
		freed := o.freed
		o.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

// count corrects what is unsent.
func (o *output) count(bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent += bytes
	if o.unsent < stdioMaxUnsent && o.freed != nil {
		close(o.freed)
		o.freed = nil
	}
}

// write sends a line, if it still may when its turn has come. May is asked then
// and not before, so that whoever sees a later message of ours has seen all
// there will be of a request it cancelled before. A nil may is yes.
func (o *output) write(line []byte, may func() bool) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	select {
	case <-o.sealed:
		return errEnding
	default:
	}
	if o.err != nil || may != nil && !may() {
		return o.err
	}
	if _, err := o.w.Write(line); err != nil {
		o.err = err
		close(o.broken)
	}
	return o.err
}

// seal ends writing: the writer is not ours any longer. Only a Write that is
// under way because nobody reads can outlast it.
func (o *output) seal() {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	default:
	}
	close(o.sealed)
}
