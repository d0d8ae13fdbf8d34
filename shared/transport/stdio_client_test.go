package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// stdioClient is the other end of a connection, in a synctest bubble.
type stdioClient struct {
	t      *testing.T
	in     *io.PipeWriter
	got    chan heard
	cancel context.CancelFunc
	served chan error
}

// heard is a line from the server.
type heard struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  map[string]any  `json:"params"`
	Result  map[string]any  `json:"result"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func (h heard) String() string {
	b, _ := json.Marshal(h)
	return string(b)
}

// tool is a tool by name and what it does.
type mcpTools map[string]server.ToolHandlerFunc

func mcpServer(tools mcpTools) *server.MCPServer {
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true))
	for name, f := range tools {
		s.AddTool(mcp.NewTool(name), f)
	}
	return s
}

func dial(t *testing.T, h Handler, o StdioOptions) *stdioClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := &stdioClient{t: t, in: inW, got: make(chan heard, 1<<16), cancel: cancel, served: make(chan error, 1)}
	go func() {
		c.served <- ServeStdio(ctx, h, inR, outW, o)
		outW.Close()
		inR.Close()
	}()
	go c.listen(outR)
	t.Cleanup(func() { cancel(); inW.Close() })
	return c
}

// listen takes every line; what is not JSON-RPC fails the test.
func (c *stdioClient) listen(out io.Reader) {
	defer close(c.got)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if line != "" {
				c.t.Errorf("an unfinished line: %q", line)
			}
			return
		}
		var h heard
		if err := json.Unmarshal([]byte(line), &h); err != nil || h.JSONRPC != "2.0" {
			c.t.Errorf("not JSON-RPC: %q", line)
		}
		c.got <- h
	}
}

func (c *stdioClient) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatalf("sending %.80q: %v", line, err)
		}
	}
}

const stdioInitialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"test","version":"1"}}}`

// handshake declares capabilities, as JSON.
func (c *stdioClient) handshake(capabilities string) {
	c.t.Helper()
	c.send(fmt.Sprintf(stdioInitialize, capabilities), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if h := c.next(); h.Result == nil {
		c.t.Fatalf("handshake: %v", h)
	}
}

// toolCall is a line that calls a tool.
func toolCall(id any, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":%[1]v}}}`, id, tool)
}

func cancelled(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v}}`, id)
}

// modern is a line of 2026-07-28.
func modern(id any, method, capabilities, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}%s}}`, id, method, capabilities, params)
}

// next is the next line from the server. A server that has nothing to say fails
// the test: synctest reports the deadlock.
func (c *stdioClient) next() heard {
	c.t.Helper()
	h, ok := <-c.got
	if !ok {
		c.t.Fatal("the server has ended")
	}
	return h
}

// ping proves that the connection lives, and returns what came before the answer.
func (c *stdioClient) ping() []heard {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	var before []heard
	for {
		h := c.next()
		if string(h.ID) == `"ping"` {
			return before
		}
		before = append(before, h)
	}
}

// quiet fails if the server says anything although nothing more happens.
func (c *stdioClient) quiet() {
	c.t.Helper()
	synctest.Wait()
	select {
	case h, ok := <-c.got:
		if ok {
			c.t.Fatalf("unexpected: %v", h)
		}
	default:
	}
}

// rest closes the input and returns everything up to the end of the server.
func (c *stdioClient) rest() ([]heard, error) {
	c.in.Close()
	var all []heard
	for h := range c.got {
		all = append(all, h)
	}
	return all, <-c.served
}

func says(text string) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(text), nil
	}
}

// waitsFor is a tool that ends when the channel is closed or it is cancelled.
func waitsFor(done <-chan struct{}) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-done:
			return mcp.NewToolResultText("done"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// notify sends a notification from within a tool.
func notify(ctx context.Context, method string, params map[string]any) error {
	return server.ServerFromContext(ctx).SendNotificationToClient(ctx, method, params)
}

func byID(all []heard, id string) []heard {
	var out []heard
	for _, h := range all {
		if string(h.ID) == id {
			out = append(out, h)
		}
	}
	return out
}

func text(h heard) string {
	if h.Error != nil {
		return h.Error.Message
	}
	content, _ := h.Result["content"].([]any)
	var all []string
	for _, c := range content {
		all = append(all, fmt.Sprint(c.(map[string]any)["text"]))
	}
	return strings.Join(all, "\n")
}
