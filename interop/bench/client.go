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

// client is the least that can speak MCP on stdio, so that what is measured is
// the server: a message is encoded before the clock starts and looked into after it
// stopped. One call after the other is read where it was sent; for many at once
// there is concurrent.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	line []byte // the last answer, while calls come one after the other

	words words // what it said on stderr

	mu      sync.Mutex
	next    int
	waiting map[int]chan []byte // nil while calls come one after the other
}

// words keeps the first of what is written.
type words struct{ first []byte }

func (w *words) Write(p []byte) (int, error) {
	const enough = 500
	w.first = append(w.first, p[:min(len(p), enough-len(w.first))]...)
	return len(p), nil
}

// request is a message with room for the id, which is filled in when it is sent.
type request []byte

const (
	requestStart = `{"jsonrpc":"2.0","id":`
	requestID    = "          "
)

func newRequest(method string, params any) request {
	body, err := json.Marshal(params)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return request(requestStart + requestID + `,"method":"` + method + `","params":` + string(body) + "}\n")
}

func toolCall(name string, args map[string]any) request {
	return newRequest("tools/call", map[string]any{"name": name, "arguments": args})
}

func (r request) number(id int) {
	copy(r[len(requestStart):], fmt.Sprintf("%*d", len(requestID), id))
}

// dial starts a server in a directory of its own, or here, and greets it.
func dial(dir string, argv []string) (*client, error) {
	c := &client{cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Dir, c.cmd.Stderr, c.cmd.WaitDelay = dir, &c.words, time.Second
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
	_, _, err = c.ask(newRequest("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	}))
	if err == nil {
		_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		c.kill()
		c.cmd.Wait()
		return nil, fmt.Errorf("%s does not answer: %w: %s", argv[0], err, c.words.first)
	}
	return c, nil
}

// longest is how long an answer may take before the server is killed.
const longest = 2 * time.Minute

// ask sends a request and tells how long the answer took. The answer is good until
// the next one.
func (c *client) ask(r request) (answer []byte, took time.Duration, err error) {
	c.mu.Lock()
	c.next++
	id := c.next
	var ch chan []byte
	if c.waiting != nil {
		ch = make(chan []byte, 1)
		c.waiting[id] = ch
	}
	r.number(id)
	hung := time.AfterFunc(longest, c.kill)
	defer hung.Stop()
	began := time.Now()
	_, err = c.in.Write(r)
	c.mu.Unlock()
	switch {
	case err != nil:
		return nil, 0, err
	case ch == nil:
		answer, err = c.answer(id)
	default:
		var ok bool
		if answer, ok = <-ch; !ok {
			err = io.ErrUnexpectedEOF
		}
	}
	return answer, time.Since(began), err
}

// call asks for a tool and fails on a tool error, so that no refusal is timed as a
// fast answer.
func (c *client) call(r request) (answer []byte, took time.Duration, err error) {
	answer, took, err = c.ask(r)
	if err == nil && refused(answer) {
		err = fmt.Errorf("refused: %.200s", answer)
	}
	return answer, took, err
}

func refused(answer []byte) bool {
	return bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer[:min(100, len(answer))], []byte(`"error":`))
}

func (c *client) answer(id int) ([]byte, error) {
	for {
		c.line = c.line[:0]
		for {
			piece, err := c.out.ReadSlice('\n')
			c.line = append(c.line, piece...)
			if err == nil {
				break
			}
			if err != bufio.ErrBufferFull {
				return nil, err
			}
		}
		if idOf(c.line) == id {
			return c.line, nil
		}
	}
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
	i := bytes.Index(line[:min(len(line), 40)], []byte(mark))
	if i < 0 {
		i = bytes.LastIndex(line, []byte(mark))
	}
	id := 0
	if i >= 0 {
		fmt.Sscanf(string(line[i+len(mark):min(i+len(mark)+12, len(line))]), "%d", &id)
	}
	return id
}

func (c *client) kill() { c.cmd.Process.Kill() }

// stop ends a server as a host does, and kills one that will not go.
func (c *client) stop() error {
	stubborn := time.AfterFunc(500*time.Millisecond, c.kill)
	defer stubborn.Stop()
	c.in.Close()
	return c.cmd.Wait()
}

func (c *client) pid() int { return c.cmd.Process.Pid }

// memory reads a line of /proc/PID/status in MB: VmRSS for now, VmHWM for the peak.
// 0 where there is no /proc.
func (c *client) memory(key string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return float64(n<<10) / 1e6
		}
	}
	return 0
}
