package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/rpc"
)

// maxIdle is how many goroutines wait for their turn to read. Each has a stack
// that has grown to what a call needs; to grow it anew is a tenth of a quick call.
const maxIdle = 8

// read takes requests and handles them as long as it has the turn to read. What
// has already come in behind a request does not wait for it.
func (c *conn) read() {
	for {
		work := c.request()
		switch {
		case work == nil:
			return
		case c.in.r.Buffered() > 0 || work.IsListen() || len(work.line) > largeLine:
			c.handOn()
			size := len(work.line)
			c.run(work)
			if size > largeLine {
				runtime.GC() // before the next one comes
			}
		default:
			kept := c.turn.keep()
			c.run(work)
			if c.turn.back(kept) {
				continue
			}
		}
		if c.idle.Add(1) > maxIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case <-c.free:
			c.idle.Add(-1)
		case <-c.base.Done():
			c.idle.Add(-1)
			return
		}
	}
}

// largeLine is the size in bytes from which several messages at once would take much memory.
const largeLine = 8 << 20

// handOn lets another goroutine read, one that is idle if there is one.
func (c *conn) handOn() {
	select {
	case c.free <- struct{}{}:
	default:
		go c.read()
	}
}

// request reads lines until one is a request that is left to run, and returns nil when
// the input has ended. Everything else is dealt with at once.
func (c *conn) request() *call {
	for {
		line, err := c.in.next()
		if tooLong, ok := err.(*oversize); ok {
			c.refuse(&rpc.Refusal{Code: mcp.INVALID_REQUEST, Text: err.Error() + "; it was skipped", ID: tooLong.id})
			continue
		}
		if err != nil {
			c.ended <- err
			return nil
		}
		m, no := rpc.Parse(line)
		switch {
		case no != nil:
			c.refuse(no)
		case m.IsAnswer():
			c.asks.answer(m)
		case m.IsCancel():
			c.calls.drop(m.Cancels)
		case m.IsNotification():
			// Before the next line, so that what the client tells counts for what it asks later.
			s := c.session.forRequest(m, nil)
			c.handle(c.h.WithContext(context.WithValue(c.base, inlineKey{}, true), s), m, line)
			s.notes.End()
		default:
			if work := c.admit(m, line); work != nil {
				return work
			}
		}
	}
}

// isInline is for what must be done before the next line is looked at: the
// handshake, on which what follows depends, and ping, which waits for nobody.
func isInline(m rpc.Message) bool {
	return m.Method == string(mcp.MethodInitialize) || m.Method == string(mcp.MethodPing)
}

func (c *conn) admit(m rpc.Message, line []byte) *call {
	if isHandshake(m) && c.greeted.Load() {
		c.refuse(&rpc.Refusal{Code: mcp.INVALID_REQUEST, Text: "the session is initialized already; start the server again for another one", ID: m.ID})
		return nil
	}
	work := &call{Message: m, line: line}
	work.ctx, work.cancel = context.WithCancelCause(c.base)
	if no := c.calls.begin(work); no != nil {
		work.cancel(errCancelled)
		c.refuse(no)
		return nil
	}
	if isInline(m) {
		c.run(work)
		return nil
	}
	return work
}

// isHandshake is for the request whose capabilities count for all that follow it. If a
// second one replaced them, whoever gets a line into the stream could have questions asked
// that the client cannot show, and answer them.
func isHandshake(m rpc.Message) bool {
	return m.Method == string(mcp.MethodInitialize) && !m.Modern
}

// run brings a request to its response.
func (c *conn) run(work *call) {
	defer c.calls.end(work)
	defer work.cancel(errCancelled)
	room := 0
	if !isInline(work.Message) && !work.IsListen() {
		room = c.out.reserve(work.ctx)
	}
	s := c.session.forRequest(work.Message, work)
	response := c.respond(work, s)
	s.notes.End() // its notifications are written; now the response may be
	if _, ok := response.(mcp.JSONRPCResponse); ok && isHandshake(work.Message) {
		c.greeted.Store(true)
	}
	line := c.out.lines.Encode(response, work.ID)
	size := len(line)
	c.out.count(size - room)
	c.out.write(line, func() bool { return c.calls.answer(work) })
	c.out.lines.Back(line)
	c.out.count(-size)
}

// respond waits for a free slot and handles the request.
func (c *conn) respond(work *call, s *session) mcp.JSONRPCMessage {
	if !isInline(work.Message) && !work.IsListen() {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		case <-work.ctx.Done():
			return (&rpc.Refusal{Code: rpc.CodeBusy, Text: context.Cause(work.ctx).Error()}).Message()
		}
	}
	if work.IsListen() {
		if err := c.h.RegisterSession(work.ctx, s); err != nil {
			return rpc.InternalError()
		}
		defer c.h.UnregisterSession(context.WithoutCancel(work.ctx), s.SessionID())
	}
	ctx := c.h.WithContext(c.o.Context(work.ctx, rpc.IDText(work.ID)), s)
	return c.handle(ctx, work.Message, work.line)
}

// handle calls the handler; a panic in it ends the request and nothing else.
func (c *conn) handle(ctx context.Context, m rpc.Message, line []byte) (response mcp.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("a handler panicked", "method", m.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			response = rpc.InternalError()
		}
	}()
	response = c.h.HandleMessage(ctx, json.RawMessage(line))
	if response == nil && !m.IsNotification() {
		return rpc.InternalError()
	}
	return response
}

func (c *conn) refuse(no *rpc.Refusal) {
	c.o.Log.Warn("a line was refused", "code", no.Code, "reason", no.Text)
	c.out.write(c.out.lines.Encode(no.Message(), no.ID), nil)
}
