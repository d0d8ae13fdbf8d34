package stdio

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/rpc"
)

// call is one request between its line and its response.
type call struct {
	rpc.Message
	line    []byte          // nil once it is answered
	ctx     context.Context // ends when the client cancels, or the connection must end
	cancel  context.CancelCauseFunc
	dropped atomic.Bool // the client cancelled it: nothing of it may be written
}

// calls are the requests in flight: running, waiting for their turn, or waiting
// for the client to read their response.
type calls struct {
	mu       sync.Mutex
	byID     map[string]*call // those that can still be cancelled
	active   int              // all of them
	bytes    int              // of the lines of those that are not answered
	maxCalls int
	maxBytes int
	closed   bool
	idle     chan struct{} // closed when closed and none is active
}

// begin admits a request, or says why not. A single message always fits.
func (s *calls) begin(c *call) *rpc.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &rpc.Refusal{Code: rpc.CodeBusy, Text: "the server is ending", ID: c.ID}
	}
	if s.byID[c.Key] != nil {
		// With the id, the client would take this for the first one's answer.
		return &rpc.Refusal{Code: mcp.INVALID_REQUEST, Text: "a request with this id is still in flight", About: c.ID}
	}
	if s.active >= s.maxCalls || s.bytes > 0 && s.bytes+len(c.line) > s.maxBytes {
		return &rpc.Refusal{Code: rpc.CodeBusy, Text: "too many requests are in flight; send this one again when others are answered", ID: c.ID}
	}
	s.byID[c.Key] = c
	s.active++
	s.bytes += len(c.line)
	return nil
}

// drop cancels the request with that id, which is answered no more. An unknown
// id is the normal race with a response on its way.
func (s *calls) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.byID[key]; c != nil {
		c.dropped.Store(true)
		c.cancel(errCancelled)
		delete(s.byID, key)
	}
}

// answer reports whether the response may be written, and if so lets go of the id and of
// the line: a client that has the response may use the id again, and send as much again.
func (s *calls) answer(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dropped.Load() {
		return false
	}
	delete(s.byID, c.Key)
	s.bytes -= len(c.line)
	c.line = nil
	return true
}

// end forgets a call that has been answered, or dropped.
func (s *calls) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[c.Key] == c { // nobody heard of it: the output is broken
		delete(s.byID, c.Key)
	}
	s.active--
	s.bytes -= len(c.line) // nil if it was answered
	c.line = nil
	s.settle()
}

// close admits nothing more, and ends the subscriptions, which would last as
// long as the connection.
func (s *calls) close() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.byID {
		if c.IsListen() {
			c.cancel(errClosing)
		}
	}
	s.settle()
	return s.idle
}

func (s *calls) settle() {
	if !s.closed || s.active > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

func (s *calls) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}
