package transport

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const eventStream = "text/event-stream"

// reply is the answer to one message: JSON, or from the first thing that comes before the
// response a stream of events, where the client takes one.
type reply struct {
	s       *served
	w       http.ResponseWriter
	limits  *http.ResponseController
	streams bool // the client takes a stream
	plain   bool // and JSON

	mu    sync.Mutex
	begun bool        // the stream
	over  bool        // the response is written, or about to be
	timer *time.Timer // of beat
	err   error
}

// event writes a message before the response. A client that takes no stream hears of
// the response alone.
func (r *reply) event(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streams && !r.over {
		r.begin()
		r.message(line)
	}
}

// begin makes a stream of the answer.
func (r *reply) begin() {
	if r.begun {
		return
	}
	r.begun = true
	r.w.Header().Set("Content-Type", eventStream)
	r.w.Header().Set("X-Accel-Buffering", "no") // or nginx keeps events back
	r.w.WriteHeader(http.StatusOK)
}

func (r *reply) message(line []byte) {
	r.write([]byte("event: message\ndata: "))
	r.write(line)
	r.write([]byte("\n"))
	r.flush()
}

// beat lets a client that waits hear from time to time that it is waited with, so that
// nothing in between takes the connection for dead.
func (r *reply) beat(every time.Duration) {
	if !r.streams {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(every, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.over {
			return
		}
		r.begin()
		r.write([]byte(": waiting\n\n"))
		r.flush()
		r.timer.Reset(every)
	})
}

// close ends what writes by itself: after the handler nothing may.
func (r *reply) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

// end says that the response comes, and nothing else.
func (r *reply) end() {
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// finish writes the response, nil for none; nothing can come after it.
func (r *reply) finish(status int, response mcp.JSONRPCMessage, id json.RawMessage) {
	var line []byte
	if response != nil {
		line = r.s.lines.encode(response, id)
	}
	size := int64(len(line))
	r.s.unsent.Add(size)
	defer r.s.unsent.Add(-size)
	r.mu.Lock()
	r.end()
	switch {
	case response == nil && r.begun:
	case response == nil:
		r.w.WriteHeader(status)
	case !r.begun && !r.plain:
		r.begin()
		fallthrough
	case r.begun:
		r.message(line)
	default:
		r.json(status, line)
	}
	r.mu.Unlock()
	r.s.lines.reuse(line)
	r.flush()
	_ = r.limits.SetWriteDeadline(time.Time{}) // the connection may have another request
}

func (r *reply) json(status int, line []byte) {
	r.w.Header().Set("Content-Type", "application/json")
	r.w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	r.w.WriteHeader(status)
	r.write(line)
}

// write sends at the pace at least that is asked of clients, or not at all any more.
func (r *reply) write(p []byte) {
	for len(p) > 0 && r.err == nil {
		n := min(len(p), chunk)
		_ = r.limits.SetWriteDeadline(time.Now().Add(r.s.o.Pace)) // where it cannot be set there is none
		_, r.err = r.w.Write(p[:n])
		p = p[n:]
	}
}

func (r *reply) flush() {
	if r.err == nil {
		r.err = r.limits.Flush()
	}
}

// refuse answers a message that is not handled.
func (r *reply) refuse(status int, no *refusal) {
	r.s.o.Log.Info("a message was refused", "code", no.Code, "reason", no.Text)
	r.json(status, r.s.lines.encode(no.message(), no.ID))
}
