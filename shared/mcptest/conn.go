package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// conn is a running server and the bookkeeping of one client of it. One
// goroutine reads the server's stdout; everything it learns is kept under mu,
// and changed is closed and replaced whenever there is something new to see.
type conn struct {
	era          Era
	capabilities map[string]any
	answer       func(string, json.RawMessage) (any, *Error)
	patience     time.Duration // the constant, but in tests of this package
	welcome      json.RawMessage

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr *Buffer
	lines  chan string   // of a session that is played line by line; nil: lines are taken apart
	gone   chan struct{} // closed once stdout has ended and the process was waited for

	writing sync.Mutex // one line at a time

	mu      sync.Mutex
	lastID  int
	waiting map[string]chan Message // by id
	notes   []Message
	loose   []Message // messages nobody was waiting for
	stray   []string  // lines that are not MCP
	changed chan struct{}
}

var errGone = errors.New("the server has ended")

// dial starts the program and reads from it; where lines is not nil, it gets each line as it comes and is closed at the end.
func dial(o Options, lines chan string, binary string, args []string) (*conn, error) {
	c := &conn{
		era: o.Era, capabilities: o.Capabilities, answer: o.Answer, patience: patience,
		cmd: exec.Command(binary, args...), stderr: &Buffer{}, lines: lines, gone: make(chan struct{}),
		waiting: map[string]chan Message{}, changed: make(chan struct{}),
	}
	c.cmd.Dir, c.cmd.Env, c.cmd.WaitDelay, c.cmd.Stderr = o.Dir, append(os.Environ(), o.Env...), patience, c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

// handshake opens a legacy session; the modern era has none.
func (c *conn) handshake() error {
	if c.era == Modern {
		return nil
	}
	m, err := c.request("initialize", map[string]any{
		"protocolVersion": c.era.version(),
		"capabilities":    c.declared(),
		"clientInfo":      clientInfo(),
	})
	if err != nil {
		return err
	}
	if m.Error != nil {
		return fmt.Errorf("initialize was refused: %w", m.Error)
	}
	c.welcome = m.Result
	return c.notify("notifications/initialized", nil)
}

func clientInfo() map[string]any {
	return map[string]any{"name": "mcptest", "version": "1"}
}

// declared are the capabilities; an empty object where there are none, for the
// modern era requires the field.
func (c *conn) declared() map[string]any {
	if c.capabilities == nil {
		return map[string]any{}
	}
	return c.capabilities
}

// withMeta is params with what the modern era puts on every request
// (specification 2026-07-28, SEP-2575).
func (c *conn) withMeta(params map[string]any) map[string]any {
	if c.era == Legacy {
		return params
	}
	params = maps.Clone(params)
	if params == nil {
		params = map[string]any{}
	}
	meta := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    c.era.version(),
		"io.modelcontextprotocol/clientInfo":         clientInfo(),
		"io.modelcontextprotocol/clientCapabilities": c.declared(),
	}
	if given, ok := params["_meta"].(map[string]any); ok {
		maps.Copy(meta, given)
	}
	params["_meta"] = meta
	return params
}

// begin sends a request; its answer will come through the channel, which holds
// it until it is looked at.
func (c *conn) begin(method string, params map[string]any) (int, <-chan Message, error) {
	answer := make(chan Message, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.waiting[strconv.Itoa(id)] = answer
	c.mu.Unlock()
	return id, answer, c.send(map[string]any{"id": id, "method": method}, c.withMeta(params))
}

func (c *conn) request(method string, params map[string]any) (Message, error) {
	_, answer, err := c.begin(method, params)
	if err != nil {
		return Message{}, fmt.Errorf("%s: %w", method, err)
	}
	m, err := c.wait(answer)
	if err != nil {
		return m, fmt.Errorf("%s: %w", method, err)
	}
	return m, nil
}

func (c *conn) notify(method string, params map[string]any) error {
	return c.send(map[string]any{"method": method}, params)
}

func (c *conn) send(message, params map[string]any) error {
	message["jsonrpc"] = "2.0"
	if params != nil {
		message["params"] = params
	}
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.write(line)
}

func (c *conn) write(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.stdin.Write(append(bytes.Clone(line), '\n'))
	return err
}

func (c *conn) call(tool string, args any) (Result, error) {
	raw, err := arguments(args)
	if err != nil {
		return Result{}, err
	}
	params := map[string]any{"name": tool, "arguments": raw}
	for range maxRounds {
		_, answer, err := c.begin("tools/call", params)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", tool, err)
		}
		m, err := c.wait(answer)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", tool, err)
		}
		asked := askedIn(m.Result)
		if !asked.InputRequired() || c.answer == nil {
			return resultOf(m)
		}
		params = maps.Clone(params)
		params["inputResponses"], params["requestState"] = c.answers(asked), asked.RequestState
	}
	return Result{}, fmt.Errorf("%s: the server asked more than %d times", tool, maxRounds)
}

// tools asks for page after page.
func (c *conn) tools() ([]Tool, error) {
	var all []Tool
	var params map[string]any
	for {
		m, err := c.request("tools/list", params)
		if err != nil {
			return nil, err
		}
		if m.Error != nil {
			return nil, m.Error
		}
		page, next, err := toolsIn(m.Result)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		params = map[string]any{"cursor": next}
	}
}

func toolsIn(result json.RawMessage) (tools []Tool, next string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(result, &page); err != nil {
		return nil, "", fmt.Errorf("not a tool list: %w", err)
	}
	for _, raw := range page.Tools {
		tool := Tool{Raw: raw}
		if err := json.Unmarshal(raw, &tool); err != nil {
			return nil, "", fmt.Errorf("not a tool: %w: %s", err, raw)
		}
		tools = append(tools, tool)
	}
	return tools, page.NextCursor, nil
}

// read takes the server's stdout apart until it ends.
func (c *conn) read() {
	lines := bufio.NewReaderSize(c.stdout, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case c.lines != nil:
			c.lines <- string(line)
		default:
			c.take(line)
		}
		if err != nil {
			break
		}
	}
	if c.lines != nil {
		close(c.lines)
	}
	_ = c.cmd.Wait()
	close(c.gone)
}

// take files one line of the server's where it belongs.
func (c *conn) take(line []byte) {
	m, err := parse(line)
	if err == nil && m.Method != "" && m.ID != nil {
		go c.respond(m)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch answer, asked := c.waiting[string(m.ID)]; {
	case err != nil:
		c.stray = append(c.stray, string(line))
	case m.Method != "":
		c.notes = append(c.notes, m)
	case asked:
		delete(c.waiting, string(m.ID))
		answer <- m
	default:
		c.loose = append(c.loose, m)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// respond answers a request of the server's. A write that fails is seen by
// whoever waits for the server next.
func (c *conn) respond(m Message) {
	var value any
	refusal := &Error{Code: -32601, Message: "the client knows no method " + m.Method}
	if c.answer != nil {
		value, refusal = c.answer(m.Method, m.Params)
	}
	reply := map[string]any{"id": m.ID, "result": value}
	if refusal != nil {
		reply = map[string]any{"id": m.ID, "error": refusal}
	}
	_ = c.send(reply, nil)
}

// wait waits for one answer, until the server is gone or patience is.
func (c *conn) wait(answer <-chan Message) (Message, error) {
	select {
	case m := <-answer:
		return m, nil
	case <-c.gone:
	case <-time.After(c.patience):
		return Message{}, fmt.Errorf("no answer in %v", c.patience)
	}
	select { // the last thing it said may be the answer
	case m := <-answer:
		return m, nil
	default:
		return Message{}, errGone
	}
}

// receive takes the oldest loose message.
func (c *conn) receive() (Message, error) {
	var m Message
	err := c.until(func() bool {
		if len(c.loose) == 0 {
			return false
		}
		m, c.loose = c.loose[0], c.loose[1:]
		return true
	})
	return m, err
}

func (c *conn) await(wanted func(Message) bool) (Message, error) {
	var m Message
	err := c.until(func() bool {
		i := slices.IndexFunc(c.notes, wanted)
		if i >= 0 {
			m = c.notes[i]
		}
		return i >= 0
	})
	return m, err
}

// until waits for seen, which is called under mu, to find what it looks for.
func (c *conn) until(seen func() bool) error {
	limit := time.After(c.patience)
	for last := false; ; {
		c.mu.Lock()
		found, changed := seen(), c.changed
		c.mu.Unlock()
		if found {
			return nil
		}
		if last {
			return errGone
		}
		select {
		case <-changed:
		case <-c.gone:
			last = true
		case <-limit:
			return fmt.Errorf("nothing in %v", c.patience)
		}
	}
}

func (c *conn) strays() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.stray)
}

// close ends the server's input and waits for its process.
func (c *conn) close() error {
	_ = c.stdin.Close()
	select {
	case <-c.gone:
		return nil
	case <-time.After(c.patience):
	}
	_ = c.cmd.Process.Kill()
	<-c.gone
	return fmt.Errorf("the server was still running %v after its input had ended", c.patience)
}
