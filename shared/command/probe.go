package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/text"
)

// probe is a server as a host would start it.
type probe struct {
	command string
	args    []string
	env     []string
	dir     string
}

// answers are those of a server about itself.
type answers struct {
	version string
	tools   int
	took    time.Duration // until the first answer
	strays  []string      // lines on stdout that are not messages
}

// The two versions of the protocol: with a handshake, and with the version in every
// request (SEP-2575).
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// process is the program with these arguments, to be killed with all that it started when
// ctx ends.
func (p probe) process(ctx context.Context, args []string) *exec.Cmd {
	c := exec.CommandContext(ctx, p.command, args...)
	c.Dir, c.Env, c.WaitDelay = p.dir, p.env, time.Second
	together(c)
	return c
}

// ask starts the server, speaks with it in one version of the protocol, and ends it with all
// that it started. The deadline is that of ctx.
func (p probe) ask(ctx context.Context, version string) (answers, error) {
	c := p.process(ctx, p.args)
	stderr := &tail{}
	c.Stderr = stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return answers{}, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return answers{}, err
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return answers{}, err
	}
	s := &talk{out: stdin, in: lines(stdout), protocol: version}
	err = s.speak(ctx, began)
	_ = stdin.Close() // err says that a server has already exited

	// A server that ends closes its stdout.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for range s.in {
		}
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	case <-time.After(2 * time.Second):
	}
	end(c)
	_ = c.Wait() // it may have been killed
	if err != nil && stderr.last() != "" {
		err = fmt.Errorf("%w; it wrote: %s", err, stderr.last())
	}
	return s.answers, err
}

// talk is a conversation with a server.
type talk struct {
	out      io.Writer
	in       <-chan []byte
	protocol string
	id       int
	answers
}

// lines are the lines that come from r, until it ends.
func lines(r io.Reader) <-chan []byte {
	all := make(chan []byte)
	go func() {
		defer close(all)
		s := bufio.NewScanner(r)
		s.Buffer(nil, 16<<20)
		for s.Scan() {
			if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
				all <- bytes.Clone(line)
			}
		}
		_, _ = io.Copy(io.Discard, r) // a line without an end must not block the server
	}()
	return all
}

// speak asks what a host asks first: the version, and the tools, page by page.
func (s *talk) speak(ctx context.Context, began time.Time) error {
	var welcome struct {
		ServerInfo struct{ Version string }
	}
	method, params := "server/discover", map[string]any{}
	if s.protocol == legacy {
		method = "initialize"
		params = map[string]any{"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": client()}
	}
	if err := s.request(ctx, method, params, &welcome); err != nil {
		return err
	}
	s.took, s.version = time.Since(began), welcome.ServerInfo.Version
	if s.protocol == legacy {
		if err := s.send(map[string]any{"method": "notifications/initialized"}); err != nil {
			return err
		}
	}
	params = map[string]any{}
	for {
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		if err := s.request(ctx, "tools/list", params, &page); err != nil {
			return err
		}
		s.tools += len(page.Tools)
		if page.NextCursor == "" || ctx.Err() != nil {
			return ctx.Err()
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
}

func client() map[string]any { return map[string]any{"name": "doctor", "version": "1"} }

// request sends a request and reads its answer into result. A line that is not a message is
// collected as a stray one.
func (s *talk) request(ctx context.Context, method string, params map[string]any, result any) error {
	s.id++
	if s.protocol == modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    modern,
			"io.modelcontextprotocol/clientInfo":         client(),
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	if err := s.send(map[string]any{"id": s.id, "method": method, "params": params}); err != nil {
		return fmt.Errorf("it takes no message: %w", err)
	}
	for {
		var line []byte
		var open bool
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer to %s in time", method)
		case line, open = <-s.in:
		}
		if !open {
			return fmt.Errorf("it ended before it answered %s", method)
		}
		var m struct {
			JSONRPC string
			ID      json.RawMessage
			Method  string
			Result  json.RawMessage
			Error   *struct{ Message string }
		}
		if json.Unmarshal(line, &m) != nil || m.JSONRPC != "2.0" {
			if len(s.strays) < 3 {
				s.strays = append(s.strays, short(string(line)))
			}
			continue
		}
		if m.Method != "" || string(m.ID) != strconv.Itoa(s.id) {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("it refuses %s: %s", method, short(m.Error.Message))
		}
		return json.Unmarshal(m.Result, result)
	}
}

func (s *talk) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.out.Write(append(raw, '\n'))
	return err
}

// short is s on one line of bounded length.
func short(s string) string {
	const limit = 120
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = text.Cut(s, limit) + "…"
	}
	return s
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const limit = 4 << 10
	t.text = append(t.text, p...)
	if len(t.text) > limit {
		t.text = bytes.Clone(t.text[len(t.text)-limit:])
	}
	return len(p), nil
}

// last is the last line.
func (t *tail) last() string {
	written := bytes.TrimSpace(t.text)
	return short(string(written[bytes.LastIndexByte(written, '\n')+1:]))
}

// examined runs doctor of the server itself, which knows what its settings mean.
func (p probe) examined(ctx context.Context) ([]Check, error) {
	args := p.args
	if len(args) > 0 && args[0] == "serve" {
		args = args[1:]
	}
	out, err := p.process(ctx, append([]string{"doctor", "--json", "--host", "none"}, args...)).Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return nil, err
	}
	var checks []Check
	if err := json.Unmarshal(out, &checks); err != nil {
		return nil, errors.New("it does not know doctor --host")
	}
	return checks, nil
}
