package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Era is one of the two ways in which MCP is spoken.
type Era int

const (
	Legacy Era = iota // 2025-11-25: an initialize handshake opens a session
	Modern            // 2026-07-28: no handshake; each request says who asks
)

// The protocol version that a client of the era names.
func (e Era) version() string {
	if e == Modern {
		return "2026-07-28"
	}
	return "2025-11-25"
}

// String is "legacy" or "modern".
func (e Era) String() string {
	if e == Modern {
		return "modern"
	}
	return "legacy"
}

// ParseEra reads what [Era.String] writes.
func ParseEra(name string) (Era, error) {
	for _, e := range Eras() {
		if e.String() == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("no era %q: it is legacy or modern", name)
}

// Eras are both, for tests that hold in each.
func Eras() []Era { return []Era{Legacy, Modern} }

// Message is one JSON-RPC 2.0 message as it came over the wire.
type Message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is a JSON-RPC error: the request itself failed, not the tool in it.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Tool is one entry of a tool list. Raw is the whole of it.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
	Raw          json.RawMessage `json:"-"`
}

// Block is one content block of a result.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"` // base64
	MIMEType string `json:"mimeType"`
	Resource struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
		Blob     string `json:"blob"` // base64
	} `json:"resource"`
}

// Result is what came of a call.
type Result struct {
	Text       string          // the text blocks, a line feed between them
	Blocks     []Block         // all blocks
	Structured json.RawMessage // structuredContent, nil if there was none
	IsError    bool            // the tool failed, or the call was refused
	Code       string          // of the error: "SECURITY_002", or "-32602" when the protocol refused the call
	Raw        json.RawMessage // the whole result, nil when the protocol refused the call
}

// Decode reads the structured content into v.
func (r Result) Decode(v any) error { return json.Unmarshal(r.Structured, v) }

// resultOf reads the answer to a tools/call. The error means that the answer
// is not one the protocol allows.
func resultOf(m Message) (Result, error) {
	if m.Error != nil {
		return Result{IsError: true, Code: strconv.Itoa(m.Error.Code), Text: m.Error.Message}, nil
	}
	var wire struct {
		Content    []Block         `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(m.Result, &wire); err != nil {
		return Result{}, fmt.Errorf("not a tool result: %w: %s", err, m.Result)
	}
	if wire.Content == nil && !askedIn(m.Result).InputRequired() {
		return Result{}, fmt.Errorf("a tool result has no content: %s", m.Result)
	}
	return Result{
		Text:       texts(wire.Content),
		Blocks:     wire.Content,
		Structured: wire.Structured,
		IsError:    wire.IsError,
		Code:       codeIn(wire.Structured),
		Raw:        m.Result,
	}, nil
}

func texts(blocks []Block) string {
	var lines []string
	for _, b := range blocks {
		if b.Type == "text" {
			lines = append(lines, b.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// codeIn finds the code of the error envelope; it is "" where there is none.
func codeIn(structured json.RawMessage) string {
	var envelope struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(structured, &envelope) != nil {
		return ""
	}
	return envelope.Error.Code
}

// parse reads one line of the server's stdout.
func parse(line []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		return m, err
	}
	if m.JSONRPC != "2.0" {
		return m, fmt.Errorf("jsonrpc is %q, not 2.0", m.JSONRPC)
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return m, fmt.Errorf("neither a method nor an answer")
	}
	return m, nil
}

// arguments are args as JSON: text as it is, anything else encoded.
func arguments(args any) (json.RawMessage, error) {
	switch v := args.(type) {
	case nil:
		return json.RawMessage("{}"), nil
	case string:
		return json.RawMessage(v), nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(args)
}

// Buffer is a bytes.Buffer that may be read while it is written.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to what was written.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
