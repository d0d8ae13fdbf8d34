package httpd

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/rpc"
)

// work is what is being worked on: a bounded number of requests, of a bounded number of
// bytes.
type work struct {
	mu       sync.Mutex
	requests int
	bytes    int
	most     int                 // requests
	room     int                 // bytes; one message that is longer comes in alone
	unsent   int                 // bytes of answers on their way to clients, which may read slowly
	named    map[string]*running // by session and id, where there is a session
	listens  map[*running]bool
	closed   bool
	idle     chan struct{} // closed when closed and nothing is left
}

// running is a request that can be cancelled.
type running struct {
	cancel  context.CancelCauseFunc
	dropped atomic.Bool // the client cancelled it
}

func newWork(most, room int) *work {
	return &work{most: most, room: room, named: map[string]*running{}, listens: map[*running]bool{}, idle: make(chan struct{})}
}

const (
	maxUnsent  = 64 << 20 // bytes of answers that may wait; above it nothing more is begun
	answerRoom = 64 << 10 // what an answer is taken for before it is made
)

// sending counts the bytes of an answer until they are sent.
func (w *work) sending(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsent += bytes
}

// begin admits a request, or says why not.
func (w *work) begin(size int) *rejection {
	w.mu.Lock()
	defer w.mu.Unlock()
	var no *rejection
	switch {
	case w.closed:
		no = reject(http.StatusServiceUnavailable, fault.Unavailable, "the server is ending", "Send the request again: another server, or the next one, takes it")
	case w.requests >= w.most || w.requests > 0 && w.bytes+size > w.room || w.unsent+w.requests*answerRoom > maxUnsent:
		no = reject(http.StatusServiceUnavailable, fault.LimitReached, "too many requests are being worked on", "Send this one again when others are answered")
	default:
		w.requests++
		w.bytes += size
		return nil
	}
	no.later = true
	return no
}

func (w *work) end(size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests--
	w.bytes -= size
	w.settle()
}

// register makes a request known until it is forgotten, by its id where that is of a
// session; otherwise nothing names it but its connection.
func (w *work) register(session string, m rpc.Message, cancel context.CancelCauseFunc) (dropped func() bool, forget func()) {
	r, name := &running{cancel: cancel}, session+" "+m.Key
	w.mu.Lock()
	defer w.mu.Unlock()
	if session != "" && w.named[name] == nil {
		w.named[name] = r
	}
	if m.IsListen() {
		w.listens[r] = true
	}
	if w.closed && m.IsListen() {
		cancel(errEnding)
	}
	return r.dropped.Load, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.listens, r)
		if w.named[name] == r {
			delete(w.named, name)
		}
	}
}

// cancel ends the request of a session with that id. An unknown one is the normal race
// with a response on its way, or another server's.
func (w *work) cancel(session, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.named[session+" "+key]; r != nil {
		r.dropped.Store(true)
		r.cancel(errCancelled)
	}
}

// close admits nothing more, and ends the subscriptions, which would last as long as their
// clients. The channel is closed when the last request has ended.
func (w *work) close() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for r := range w.listens {
		r.cancel(errEnding)
	}
	w.settle()
	return w.idle
}

func (w *work) settle() {
	if !w.closed || w.requests > 0 {
		return
	}
	select {
	case <-w.idle:
	default:
		close(w.idle)
	}
}

func (w *work) state() (requests int, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests, w.closed
}
