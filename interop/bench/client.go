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
	"time"
)

// client speaks just enough MCP on stdio, so that what is measured is the server. Answers are read where the request was
// sent, which wakes no other thread; after concurrent, the client may be used by many goroutines at once.
type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer // read after the server has exited

	mu      sync.Mutex
	last    int
	waiting map[int]chan []byte // of a concurrent client
}

// answerLimit is how long an answer may take before the server is killed.
const answerLimit = 2 * time.Minute

// start starts a server in dir and initializes it.
func start(dir string, argv []string) (*client, error) {
	c := &client{cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Dir, c.cmd.Stderr, c.cmd.WaitDelay = dir, &c.stderr, time.Second
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
	_, _, err = c.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	if err == nil {
		_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s: %w: %.500s", argv[0], err, c.stderr.String())
	}
	return c, nil
}

// concurrent passes each answer to the call that waits for it from now on.
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
			if ch := c.waiting[idOf(line)]; ch != nil {
				delete(c.waiting, idOf(line))
				ch <- line
			}
			c.mu.Unlock()
		}
	}()
}

// idOf is the ID of an answer, 0 for anything else. Servers write it first or last.
func idOf(line []byte) (id int) {
	const mark = `"id":`
	i := bytes.Index(line[:min(len(line), 40)], []byte(mark))
	if i < 0 {
		i = bytes.LastIndex(line, []byte(mark))
	}
	if i >= 0 {
		fmt.Sscanf(string(line[i+len(mark):min(i+len(mark)+12, len(line))]), "%d", &id)
	}
	return id
}

// request returns the answer and the time from sending the encoded message to having read the answer's line.
func (c *client) request(method string, params any) (answer []byte, took time.Duration, err error) {
	c.mu.Lock()
	c.last++
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		c.mu.Unlock()
		return nil, 0, err
	}
	id, ch := c.last, make(chan []byte, 1)
	if c.waiting != nil {
		c.waiting[id] = ch
	}
	hung := time.AfterFunc(answerLimit, func() { c.cmd.Process.Kill() })
	defer hung.Stop()
	began := time.Now()
	_, err = c.in.Write(append(message, '\n'))
	c.mu.Unlock()
	if err != nil {
		return nil, 0, err
	}
	if c.waiting != nil {
		var ok bool
		if answer, ok = <-ch; !ok {
			err = io.ErrUnexpectedEOF
		}
		return answer, time.Since(began), err
	}
	for idOf(answer) != id && err == nil { // notifications come between
		answer, err = c.out.ReadBytes('\n')
	}
	return answer, time.Since(began), err
}

// call calls a tool. A tool error is an error, so that no refusal is timed as a fast answer.
func (c *client) call(tool string, args map[string]any) (answer []byte, took time.Duration, err error) {
	answer, took, err = c.request("tools/call", map[string]any{"name": tool, "arguments": args})
	if err == nil && (bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer[:min(100, len(answer))], []byte(`"error":`))) {
		err = fmt.Errorf("%s: %.200s", tool, answer)
	}
	return answer, took, err
}

// stop closes the server's input, as a host does, and kills a server that stays.
func (c *client) stop() {
	stays := time.AfterFunc(500*time.Millisecond, func() { c.cmd.Process.Kill() })
	defer stays.Stop()
	c.in.Close()
	_ = c.cmd.Wait() // its exit code is not measured
}

// memory is a line of /proc/PID/status in MB: VmRSS for now, VmHWM for the peak. It is 0 where there is no /proc.
func (c *client) memory(key string) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return float64(kb<<10) / 1e6
		}
	}
	return 0
}
