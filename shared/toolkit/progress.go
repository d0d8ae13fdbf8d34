package toolkit

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// progressPause is the least time between two notifications of one call.
const progressPause = 100 * time.Millisecond

// progress is what the client of a call was sent so far.
type progress struct {
	mu     sync.Mutex
	token  mcp.ProgressToken
	last   time.Time
	done   float64
	any    bool
	closed bool
}

// Progress tells the client how far a call has come. It does nothing where the
// client did not ask for it, at most ten times a second, never after the call
// has ended, and only for a done that is more than the last one: the protocol
// wants the value to grow with each notification. A total of 0 is unknown.
func Progress(ctx context.Context, done, total float64, message string) {
	c := callFrom(ctx)
	if c == nil || c.sent.token == nil {
		return
	}
	p := &c.sent
	p.mu.Lock()
	defer p.mu.Unlock()
	now := c.server.config.Clock()
	if p.closed || math.IsNaN(done) || math.IsInf(done, 0) || p.any && (done <= p.done || now.Sub(p.last) < progressPause) {
		return
	}
	p.any, p.done, p.last = true, done, now
	params := map[string]any{"progressToken": c.sent.token, "progress": done}
	if total > 0 {
		params["total"] = total
	}
	if message != "" {
		params["message"] = message
	}
	_ = c.server.mcp.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), params) // losing one is harmless
}

// close ends the notifications: one after the answer confuses clients.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
