package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/quoted"
)

// Encoder writes messages, in room that it uses again. The zero Encoder is ready.
type Encoder struct{ lines Buffers }

// Back takes a line again, when nobody has it any longer.
func (e *Encoder) Back(line []byte) { e.lines.Put(line) }

// Encode is a message as a line, its end included. The id is put in as the client wrote it:
// decoded and encoded again, an integer beyond 2^53 would come back as another.
func (e *Encoder) Encode(m mcp.JSONRPCMessage, id json.RawMessage) []byte {
	own := mcp.NewRequestId(id)
	if id == nil {
		own = mcp.NewRequestId(nil)
	}
	var structure json.RawMessage
	switch r := m.(type) {
	case mcp.JSONRPCResponse:
		if line := e.plainLine(r.Result, id); line != nil {
			return line
		}
		r.ID = own
		r.Result, structure = plain(r.Result)
		m = r
	case mcp.JSONRPCError:
		r.ID = own
		m = r
	}
	line, err := Marshal(m)
	if err != nil {
		line, _ = Marshal(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: own, Error: InternalError().Error})
		return line
	}
	return withStructure(line, structure)
}

// plainLine is the line of a result of nothing but text and structured content that is
// JSON already, as nearly all are; nil for any other. It is what Marshal would write.
func (e *Encoder) plainLine(result any, id json.RawMessage) []byte {
	r, ok := toolResultOf(result)
	structured := len(r.RawStructuredContent) > 0
	if !ok || id == nil || r.Meta != nil || r.ResultType != "" || r.InputRequests != nil || r.RequestState != "" || !structured && r.StructuredContent != nil {
		return nil
	}
	size := len(id) + len(r.RawStructuredContent) + 256
	for _, c := range r.Content {
		t, ok := c.(mcp.TextContent)
		if !ok || t.Annotations != nil || t.Meta != nil || t.Type != mcp.ContentTypeText {
			return nil
		}
		size += len(t.Text) + len(t.Text)/8 + 64
	}
	line := append(e.lines.Get(size), `{"jsonrpc":"2.0","id":`...)
	line = append(append(line, id...), `,"result":{"content":[`...)
	for i, c := range r.Content {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, `{"type":"text","text":`...)
		line = append(quoted.Append(line, c.(mcp.TextContent).Text), '}')
	}
	line = append(line, ']')
	if r.IsError {
		line = append(line, `,"isError":true`...)
	}
	return withStructure(append(line, "}}\n"...), r.RawStructuredContent)
}

// toolResultOf is the result of a tool, if it is one.
func toolResultOf(result any) (r mcp.CallToolResult, ok bool) {
	r, ok = result.(mcp.CallToolResult)
	if p, isPointer := result.(*mcp.CallToolResult); isPointer && p != nil {
		r, ok = *p, true
	}
	return r, ok
}

// withStructure puts structured content that is JSON already into the line of a
// tool's result, whose two last objects it ends. Given to encoding/json it would
// be scanned and copied at every level around it.
func withStructure(line []byte, structure json.RawMessage) []byte {
	if len(structure) == 0 {
		return line
	}
	if bytes.IndexByte(structure, '\n') >= 0 {
		structure = compacted(structure)
	}
	line = append(bytes.TrimSuffix(line, []byte("}}\n")), `,"structuredContent":`...)
	return append(append(line, structure...), "}}\n"...)
}

// compacted is raw on one line; what is no JSON would not be structure either.
func compacted(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// toolResult has the members of mcp.CallToolResult and not its MarshalJSON, whose
// output encoding/json scans and copies again at every level around it: for a
// result of 1 MB that is most of the time of a call.
type toolResult struct {
	Meta              *mcp.Meta         `json:"_meta,omitempty"`
	ResultType        mcp.ResultType    `json:"resultType,omitempty"`
	Content           []mcp.Content     `json:"content"`
	StructuredContent any               `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	InputRequests     mcp.InputRequests `json:"inputRequests,omitempty"`
	RequestState      string            `json:"requestState,omitempty"`
}

// plain is a result in the form that is encoded quickest, and apart from it the
// structured content that is JSON already.
func plain(result any) (form any, structure json.RawMessage) {
	r, ok := toolResultOf(result)
	if !ok {
		return result, nil
	}
	structured := r.StructuredContent
	if len(r.RawStructuredContent) > 0 {
		structured, structure = nil, r.RawStructuredContent
	}
	content := r.Content
	if content == nil {
		content = []mcp.Content{} // "content" is required, and a list
	}
	return toolResult{r.Meta, r.ResultType, content, structured, r.IsError, r.InputRequests, r.RequestState}, structure
}

// Marshal is v as one line, its end included. Values come from handlers: one that
// panics while it is encoded is an error like any other.
func Marshal(v any) (line []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encoding panicked: %v", p)
		}
	}()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(v)
	return b.Bytes(), err
}

// Message is a refusal as JSON-RPC has it. Its id is put in by Encode.
func (r *Refusal) Message() mcp.JSONRPCError {
	var data any
	if r.About != nil {
		data = map[string]json.RawMessage{"id": r.About}
	}
	return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(r.Code, r.Text, data)}
}

// InternalError tells nothing of what went wrong: that is for the log.
func InternalError() mcp.JSONRPCError {
	return (&Refusal{Code: mcp.INTERNAL_ERROR, Text: "the server met a fault of its own"}).Message()
}
