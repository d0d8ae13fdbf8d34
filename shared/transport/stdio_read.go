package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxIdle is how many goroutines wait for their turn to read. Each has a stack
// that has grown to what a call needs; to grow it again is a tenth of a quick call.
const maxIdle = 8

// read takes requests and handles them as long as it has the turn to read. What
// has already come in behind a request does not wait for it.
func (c *conn) read(base context.Context) {
	for {
		ctx, work := c.request(base)
		switch {
		case work == nil:
			return
		case c.in.r.Buffered() > 0 || work.isListen() || len(work.line) > largeLine:
			c.handOn(base)
			size := len(work.line)
			c.run(ctx, work)
			if size > largeLine {
				runtime.GC() // before the next one comes
			}
		default:
			request := c.turn.keep()
			c.run(ctx, work)
			if c.turn.back(request) {
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
		case <-base.Done():
			c.idle.Add(-1)
			return
		}
	}
}

// largeLine is the size in bytes from which several messages at once would take much memory.
const largeLine = 8 << 20

// handOn lets another goroutine read, one that is idle if there is one.
func (c *conn) handOn(base context.Context) {
	select {
	case c.free <- struct{}{}:
	default:
		go c.read(base)
	}
}

// request reads lines until one is a request that is left to run, and returns nil when
// the input has ended. Everything else is dealt with at once. The context of a request ends
// when the client cancels it, or the connection must end.
func (c *conn) request(base context.Context) (context.Context, *call) {
	for {
		line, err := c.in.next()
		if tooLong, ok := err.(*oversize); ok {
			c.refuse(&refusal{Code: mcp.INVALID_REQUEST, Text: err.Error() + "; it was skipped", ID: tooLong.id})
			continue
		}
		if err != nil {
			c.ended <- err
			return nil, nil
		}
		m, no := parse(line)
		switch {
		case no != nil:
			c.refuse(no)
		case m.isAnswer():
			c.asks.answer(m)
		case m.isCancel():
			c.calls.drop(m.Cancels, errCancelled)
		case m.isNotification():
			// Before the next line, so that what the client tells counts for what it asks later.
			s := c.session.forRequest(m, nil)
			c.handle(c.h.WithContext(context.WithValue(base, inlineKey{}, true), s), m, line)
			s.flush()
		default:
			ctx, cancel := context.WithCancelCause(base)
			work := &call{message: m, Name: m.Key, Size: len(line), line: line, Cancel: cancel}
			switch no := c.admit(work); {
			case no != nil:
				cancel(errCancelled)
				c.refuse(no)
			case isInline(m):
				c.run(ctx, work)
			default:
				return ctx, work
			}
		}
	}
}

// isInline is for what must be done before the next line is looked at: the
// handshake, on which what follows depends, and ping, which waits for nobody.
func isInline(m message) bool {
	return m.Method == string(mcp.MethodInitialize) || m.Method == string(mcp.MethodPing)
}

// admit says why a request is not worked on.
func (c *conn) admit(work *call) *refusal {
	if isHandshake(work.message) && c.greeted.Load() {
		text := "the session is initialized already; start the server again for another one"
		return &refusal{Code: mcp.INVALID_REQUEST, Text: text, ID: work.ID}
	}
	switch err := c.calls.begin(work); err {
	case nil:
		return nil
	case errSameID: // with the id, the client would take this for the first one's answer
		return &refusal{Code: mcp.INVALID_REQUEST, Text: err.Error(), About: work.ID}
	default:
		return &refusal{Code: codeBusy, Text: err.Error(), ID: work.ID}
	}
}

// isHandshake is for the request whose capabilities count for all that follow it. If a
// second one replaced them, whoever gets a line into the stream could have questions asked
// that the client cannot show, and answer them.
func isHandshake(m message) bool {
	return m.Method == string(mcp.MethodInitialize) && !m.Modern
}

// run brings a request to its response.
func (c *conn) run(ctx context.Context, work *call) {
	defer c.calls.end(work)
	defer work.Cancel(errCancelled)
	room := 0
	if !isInline(work.message) && !work.isListen() {
		room = c.out.reserve(ctx)
	}
	s := c.session.forRequest(work.message, work)
	response := c.respond(ctx, work, s)
	s.flush() // its notifications are written; now the response may be
	if _, ok := response.(mcp.JSONRPCResponse); ok && isHandshake(work.message) {
		c.greeted.Store(true)
	}
	line := c.out.lines.encode(response, work.ID)
	size := len(line)
	c.out.count(size - room)
	c.out.write(line, func() bool {
		work.line = nil // not needed while the client does not read
		return c.calls.answer(work)
	})
	c.out.lines.reuse(line)
	c.out.count(-size)
}

// respond waits for a free slot and handles the request.
func (c *conn) respond(ctx context.Context, work *call, s *stdioSession) mcp.JSONRPCMessage {
	if !isInline(work.message) && !work.isListen() {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		case <-ctx.Done():
			return (&refusal{Code: codeBusy, Text: context.Cause(ctx).Error()}).message()
		}
	}
	if work.isListen() {
		if err := c.h.RegisterSession(ctx, s); err != nil {
			return internalError()
		}
		defer c.h.UnregisterSession(context.WithoutCancel(ctx), s.SessionID())
	}
	ctx = c.h.WithContext(c.o.Context(ctx, idText(work.ID)), s)
	return c.handle(ctx, work.message, work.line)
}

// handle calls the handler; a panic in it ends the request and nothing else.
func (c *conn) handle(ctx context.Context, m message, line []byte) (response mcp.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("a handler panicked", "method", m.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			response = internalError()
		}
	}()
	response = c.h.HandleMessage(ctx, json.RawMessage(line))
	if response == nil && !m.isNotification() {
		return internalError()
	}
	return response
}

func (c *conn) refuse(no *refusal) {
	c.o.Log.Warn("a line was refused", "code", no.Code, "reason", no.Text)
	c.out.write(c.out.lines.encode(no.message(), no.ID), nil)
}
