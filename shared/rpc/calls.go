package rpc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// Call is one request between its message and its response.
type Call struct {
	Message
	Name    string                  // by which it can be cancelled; no other in flight has it; empty: by none
	Size    int                     // bytes of its message, 0 once it is answered
	Cancel  context.CancelCauseFunc // with the reason why the request ends
	dropped atomic.Bool
}

// Dropped reports whether the client cancelled the request: nothing of it may be written.
func (c *Call) Dropped() bool { return c.dropped.Load() }

// Calls are the requests in flight: running, waiting for their turn, or waiting for the
// client to read their response.
type Calls struct {
	MaxCalls int
	MaxBytes int // of the messages of those that are not answered; one alone may be longer

	mu     sync.Mutex
	active map[*Call]bool
	named  map[string]*Call // those that can still be cancelled
	bytes  int
	closed bool
	idle   chan struct{} // closed when closed and none is active
}

// Why a call is not admitted.
var (
	ErrEnding = errors.New("the server is ending")
	ErrSameID = errors.New("a request with this id is still in flight")
	ErrFull   = errors.New("too many requests are in flight; send this one again when others are answered")
)

// Begin admits a call.
func (s *Calls) Begin(c *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrEnding
	case c.Name != "" && s.named[c.Name] != nil:
		return ErrSameID
	case len(s.active) >= s.MaxCalls || s.bytes > 0 && s.bytes+c.Size > s.MaxBytes:
		return ErrFull
	}
	if s.active == nil {
		s.active, s.named = map[*Call]bool{}, map[string]*Call{}
	}
	s.active[c] = true
	s.bytes += c.Size
	if c.Name != "" {
		s.named[c.Name] = c
	}
	return nil
}

// Register tells of a call that was admitted by its size alone what it is. It gets the name
// if no other has it.
func (s *Calls) Register(c *Call, m Message, name string, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Message, c.Cancel = m, cancel
	if name != "" && s.named[name] == nil {
		c.Name, s.named[name] = name, c
	}
	if s.closed && c.IsListen() {
		cancel(ErrEnding)
	}
}

// Drop cancels the call of that name, which is answered no more. An unknown name is the
// normal race with a response on its way.
func (s *Calls) Drop(name string, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.named[name]; c != nil {
		c.dropped.Store(true)
		c.Cancel(cause)
		delete(s.named, name)
	}
}

// Answer reports whether the response may be written, and if so lets go of the name and of
// the bytes: a client that has the response may use the id again, and send as much again.
func (s *Calls) Answer(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Dropped() {
		return false
	}
	s.release(c)
	return true
}

// End forgets a call that has been answered, or dropped.
func (s *Calls) End(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(c)
	delete(s.active, c)
	s.settle()
}

func (s *Calls) release(c *Call) {
	if s.named[c.Name] == c {
		delete(s.named, c.Name)
	}
	s.bytes -= c.Size
	c.Size = 0
}

// Close admits nothing more, and ends the subscriptions, which would last as long as their
// clients. The channel is closed when the last call has ended.
func (s *Calls) Close() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed, s.idle = true, make(chan struct{})
	}
	for c := range s.active {
		if c.IsListen() {
			c.Cancel(ErrEnding)
		}
	}
	s.settle()
	return s.idle
}

func (s *Calls) settle() {
	if !s.closed || len(s.active) > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

// State is how many calls there are, and whether more are admitted no longer.
func (s *Calls) State() (active int, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active), s.closed
}
