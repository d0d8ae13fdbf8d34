package transport

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// call is one request between its message and its response.
type call struct {
	message
	Name    string                  // by which it can be cancelled; no other in flight has it; empty: by none
	Size    int                     // bytes of its message, 0 once it is answered
	line    []byte                  // its message, where it is needed later; nil once it is answered
	Cancel  context.CancelCauseFunc // with the reason why the request ends
	dropped atomic.Bool             // the client cancelled it: nothing of it may be written
}

// calls are the requests in flight: running, waiting for their turn, or waiting for the
// client to read their response.
type calls struct {
	MaxCalls int
	MaxBytes int // of the messages of those that are not answered; one alone may be longer

	mu     sync.Mutex
	active map[*call]bool
	named  map[string]*call // those that can still be cancelled
	bytes  int
	closed bool
	idle   chan struct{} // closed when closed and none is active
}

var errCancelled = errors.New("the client cancelled the request")

// Why a call is not admitted.
var (
	errEnding = errors.New("the server is ending")
	errSameID = errors.New("a request with this id is still in flight")
	errFull   = errors.New("too many requests are in flight; send this one again when others are answered")
)

// begin admits a call.
func (s *calls) begin(c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errEnding
	case c.Name != "" && s.named[c.Name] != nil:
		return errSameID
	case len(s.active) >= s.MaxCalls || s.bytes > 0 && s.bytes+c.Size > s.MaxBytes:
		return errFull
	}
	if s.active == nil {
		s.active, s.named = map[*call]bool{}, map[string]*call{}
	}
	s.active[c] = true
	s.bytes += c.Size
	if c.Name != "" {
		s.named[c.Name] = c
	}
	return nil
}

// register tells of a call that was admitted by its size alone what it is. It gets the name
// if no other has it.
func (s *calls) register(c *call, m message, name string, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.message, c.Cancel = m, cancel
	if name != "" && s.named[name] == nil {
		c.Name, s.named[name] = name, c
	}
	if s.closed && c.isListen() {
		cancel(errEnding)
	}
}

// drop cancels the call of that name, which is answered no more. An unknown name is the
// normal race with a response on its way.
func (s *calls) drop(name string, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.named[name]; c != nil {
		c.dropped.Store(true)
		c.Cancel(cause)
		delete(s.named, name)
	}
}

// answer reports whether the response may be written, and if so lets go of the name and of
// the bytes: a client that has the response may use the id again, and send as much again.
func (s *calls) answer(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dropped.Load() {
		return false
	}
	s.release(c)
	return true
}

// end forgets a call that has been answered, or dropped.
func (s *calls) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(c)
	delete(s.active, c)
	s.settle()
}

func (s *calls) release(c *call) {
	if s.named[c.Name] == c {
		delete(s.named, c.Name)
	}
	s.bytes -= c.Size
	c.Size = 0
}

// close admits nothing more, and ends the subscriptions, which would last as long as their
// clients. The channel is closed when the last call has ended.
func (s *calls) close() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed, s.idle = true, make(chan struct{})
	}
	for c := range s.active {
		if c.isListen() {
			c.Cancel(errEnding)
		}
	}
	s.settle()
	return s.idle
}

func (s *calls) settle() {
	if !s.closed || len(s.active) > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

// state is how many calls there are, and whether more are admitted no longer.
func (s *calls) state() (active int, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active), s.closed
}
