package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// client is the least that can speak MCP on stdio, so that what is measured is
// the server. One call after the other is read where it was sent; for many at
// once there is concurrent.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	next int

	mu      sync.Mutex
	waiting map[int]chan []byte // nil while calls come one after the other
}

func start(argv []string) (*client, error) { return startIn("", argv) }

// startIn starts a server that leaves files where it is started.
func startIn(dir string, argv []string) (*client, error) {
	c := &client{cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Dir = dir
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(stdout, 1<<20)
	_, err = c.call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

// concurrent makes calls from many goroutines possible from now on.
func (c *client) concurrent() {
	c.waiting = map[int]chan []byte{}
	go func() {
		for {
			line, err := c.out.ReadBytes('\n')
			c.mu.Lock()
			if err != nil {
				for _, ch := range c.waiting {
					close(ch)
				}
				c.mu.Unlock()
				return
			}
			id := idOf(line)
			ch := c.waiting[id]
			delete(c.waiting, id)
			c.mu.Unlock()
			if ch != nil {
				ch <- line
			}
		}
	}()
}

// idOf is the id of an answer, 0 for anything else. It stands at the start or at
// the end of the line, according to the server.
func idOf(line []byte) int {
	const mark = `"id":`
	i := bytes.LastIndex(line, []byte(mark))
	if j := bytes.Index(line[:min(len(line), 40)], []byte(mark)); j >= 0 {
		i = j
	}
	id := 0
	if i >= 0 {
		fmt.Sscanf(string(line[i+len(mark):min(i+len(mark)+12, len(line))]), "%d", &id)
	}
	return id
}

func (c *client) call(method string, params any) ([]byte, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.next++
	id := c.next
	var ch chan []byte
	if c.waiting != nil {
		ch = make(chan []byte, 1)
		c.waiting[id] = ch
	}
	_, err = fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, body)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if ch == nil {
		return c.answer(id)
	}
	line, ok := <-ch
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	return line, nil
}

func (c *client) answer(id int) ([]byte, error) {
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if idOf(line) == id {
			return line, nil
		}
	}
}

// tool calls a tool and fails on a tool error, so that no refusal is timed as a
// fast answer.
func (c *client) tool(name string, args map[string]any) error {
	answer, err := c.call("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return err
	}
	if strings.Contains(string(answer), `"isError":true`) || strings.Contains(string(answer[:min(200, len(answer))]), `"error"`) {
		return fmt.Errorf("%s failed: %.300s", name, answer)
	}
	return nil
}

func (c *client) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}

// memory reads a line of /proc/PID/status in bytes: VmRSS for now, VmHWM for the
// peak. 0 where there is no /proc.
func (c *client) memory(key string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}
