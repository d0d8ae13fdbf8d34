package main

import (
	"bufio"
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
// the server.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	next int

	mu      sync.Mutex
	waiting map[int]chan []byte
}

func start(argv []string) (*client, error) {
	c := &client{cmd: exec.Command(argv[0], argv[1:]...), waiting: map[int]chan []byte{}}
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
	go c.receive()
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

// receive hands every answer to the call that waits for it.
func (c *client) receive() {
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.mu.Lock()
			for _, ch := range c.waiting {
				close(ch)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		var head struct{ ID int }
		if json.Unmarshal(line, &head) != nil || head.ID == 0 {
			continue
		}
		c.mu.Lock()
		ch := c.waiting[head.ID]
		delete(c.waiting, head.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- line
		}
	}
}

func (c *client) call(method string, params any) ([]byte, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	ch := make(chan []byte, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	if c.waiting == nil {
		c.mu.Unlock()
		return nil, io.ErrUnexpectedEOF
	}
	c.waiting[id] = ch
	_, err = fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, body)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	answer, ok := <-ch
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	return answer, nil
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
