// Package mcptest tests MCP servers from the outside: a client that speaks to a
// server's process over stdio in either era of the protocol, scripted sessions,
// golden files, and checks of who imports whom.
//
// It refuses to trust the libraries the servers are made of: its JSON-RPC is
// its own and small enough to be read, and nothing in it is meant for a program
// that ships. Only tests may import it.
package mcptest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long a server may be silent before a test gives up on it. It
// only keeps a broken server from hanging the run; no test measures with it.
const patience = 90 * time.Second

// Options say how a server is started and what its client is able to do. The
// zero value is a legacy client without any capability.
type Options struct {
	Era          Era
	Dir          string         // working directory; "" is the test's own
	Env          []string       // KEY=value, added to the test's environment
	Capabilities map[string]any // what the client declares: roots, elicitation, …

	// Answer answers the server's own requests. Without it, every one of them
	// is refused as unknown (-32601). In the modern era, [Client.Call] answers with it
	// what a result asks for, and calls again; without it, the result is as it came.
	Answer func(method string, params json.RawMessage) (any, *Error)
}

// Client is a test's connection to a running server. Its methods end the test
// when the server breaks the protocol, falls silent, or dies.
type Client struct {
	t testing.TB
	c *conn
}

// Start runs binary, found as the shell would, and connects to it as a legacy
// client. The server is stopped, and checked, when the test ends.
func Start(t testing.TB, binary string, args ...string) *Client {
	t.Helper()
	return Options{}.Start(t, binary, args...)
}

// Start runs binary as [Start] does, under these options.
func (o Options) Start(t testing.TB, binary string, args ...string) *Client {
	t.Helper()
	c, err := dial(o, nil, binary, args)
	if err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	client := &Client{t: t, c: c}
	t.Cleanup(func() { client.finish() })
	if err := c.handshake(); err != nil {
		client.fatal(err)
	}
	return client
}

// Server is what the server told of itself: its answer to initialize, or in
// the modern era to server/discover.
func (c *Client) Server() json.RawMessage {
	c.t.Helper()
	if c.c.era == Legacy {
		return c.c.welcome
	}
	return c.Result("server/discover", nil)
}

// Tools is the whole tool list, all pages of it.
func (c *Client) Tools() []Tool {
	c.t.Helper()
	tools, err := c.c.tools()
	if err != nil {
		c.fatal(err)
	}
	return tools
}

// Call calls a tool and waits for the result. The arguments are anything that
// encodes as a JSON object; a string is sent as the JSON text that it is.
func (c *Client) Call(tool string, args any) Result {
	c.t.Helper()
	result, err := c.c.call(tool, args)
	if err != nil {
		c.fatal(err)
	}
	return result
}

// Request sends a request and waits for its answer, which may be an error.
func (c *Client) Request(method string, params map[string]any) Message {
	c.t.Helper()
	return c.Begin(method, params).Wait()
}

// Result sends a request that has to succeed and is its result.
func (c *Client) Result(method string, params map[string]any) json.RawMessage {
	c.t.Helper()
	m := c.Request(method, params)
	if m.Error != nil {
		c.t.Fatalf("%s was refused: %v", method, m.Error)
	}
	return m.Result
}

// Begin sends a request and does not wait. In the modern era the required _meta
// fields are added to those in params.
func (c *Client) Begin(method string, params map[string]any) *Pending {
	c.t.Helper()
	id, answer, err := c.c.begin(method, params)
	if err != nil {
		c.fatal(err)
	}
	return &Pending{client: c, id: id, answer: answer}
}

// Notify sends a notification.
func (c *Client) Notify(method string, params map[string]any) {
	c.t.Helper()
	if err := c.c.notify(method, params); err != nil {
		c.fatal(err)
	}
}

// Send writes one line as it is; what is wrong with it stays wrong. Answers to
// it come from [Client.Receive].
func (c *Client) Send(line string) {
	c.t.Helper()
	if err := c.c.write([]byte(line)); err != nil {
		c.fatal(err)
	}
}

// Receive waits for the next message that answers nothing this client asked
// through its other methods.
func (c *Client) Receive() Message {
	c.t.Helper()
	m, err := c.c.receive()
	if err != nil {
		c.fatal(err)
	}
	return m
}

// Notifications are all that have come so far, in their order.
func (c *Client) Notifications() []Message {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	return slices.Clone(c.c.notes)
}

// Await waits for a notification that is wanted, among those that have come
// and those that will.
func (c *Client) Await(wanted func(Message) bool) Message {
	c.t.Helper()
	m, err := c.c.await(wanted)
	if err != nil {
		c.fatal(err)
	}
	return m
}

// PID is the server's process id.
func (c *Client) PID() int { return c.c.cmd.Process.Pid }

// Signal sends the server a signal; a server that is gone already is no error.
func (c *Client) Signal(s os.Signal) { _ = c.c.cmd.Process.Signal(s) }

// Stderr is what the server has written there so far.
func (c *Client) Stderr() string { return c.c.stderr.String() }

// Hangup ends the server's input and does not wait for anything.
func (c *Client) Hangup() { _ = c.c.stdin.Close() }

// Close ends the server's input, waits until its process is gone, and is its
// exit code: -1 when a signal ended it. A server that does not go is killed and
// fails the test.
func (c *Client) Close() int {
	c.t.Helper()
	if err := c.c.close(); err != nil {
		c.t.Errorf("close: %v%s", err, c.said())
	}
	return c.c.cmd.ProcessState.ExitCode()
}

// finish stops the server at the end of the test and reports what a well
// behaved one never does.
func (c *Client) finish() {
	c.t.Helper()
	c.Close()
	for _, line := range c.c.strays() {
		c.t.Errorf("stdout carries MCP only, but the server wrote %q", line)
	}
}

func (c *Client) fatal(err error) {
	c.t.Helper()
	c.t.Fatalf("%v%s", err, c.said())
}

// said is the server's stderr, set off for a failure message.
func (c *Client) said() string {
	text := strings.TrimSpace(c.Stderr())
	if text == "" {
		return ""
	}
	return fmt.Sprintf("\nits stderr:\n%s", text)
}

// Pending is a request under way.
type Pending struct {
	client *Client
	id     int
	answer <-chan Message
}

// ID is the request's id on the wire.
func (p *Pending) ID() int { return p.id }

// Wait waits for the answer. It may be called once.
func (p *Pending) Wait() Message {
	p.client.t.Helper()
	m, err := p.client.c.wait(p.answer)
	if err != nil {
		p.client.fatal(err)
	}
	return m
}

// Result waits for the answer to a tools/call.
func (p *Pending) Result() Result {
	p.client.t.Helper()
	result, err := resultOf(p.Wait())
	if err != nil {
		p.client.fatal(err)
	}
	return result
}

// Answered says whether the answer is there already.
func (p *Pending) Answered() bool { return len(p.answer) > 0 }

// Cancel tells the server that the answer is no longer wanted.
func (p *Pending) Cancel(reason string) {
	p.client.t.Helper()
	p.client.Notify("notifications/cancelled", map[string]any{"requestId": p.id, "reason": reason})
}
