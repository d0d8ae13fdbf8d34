package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// Encoder writes messages, in room that it uses again. The zero Encoder is ready.
type Encoder struct{ lines Buffers }

// Back takes a line again, when nobody has it any longer.
func (e *Encoder) Back(line []byte) { e.lines.Put(line) }

// toolResponse is a response with the result of a tool. It has no MarshalJSON as
// mcp.CallToolResult has, whose output encoding/json scans and copies again at every level
// around it: for a result of 1 MB that is most of the time of a call.
type toolResponse struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsonx.Verbatim `json:"id"`
	Result  struct {
		Meta              *mcp.Meta         `json:"_meta,omitempty"`
		ResultType        mcp.ResultType    `json:"resultType,omitempty"`
		Content           []mcp.Content     `json:"content"`
		IsError           bool              `json:"isError,omitempty"`
		InputRequests     mcp.InputRequests `json:"inputRequests,omitempty"`
		RequestState      string            `json:"requestState,omitempty"`
		StructuredContent any               `json:"structuredContent,omitempty"`
	} `json:"result"`
}

// Structured is structured content that is JSON already, and what wrote it: it has escaped
// the texts that are content as well.
type Structured struct {
	json.RawMessage
	jsonx.Writer
}

// Encode is a message as a line, its end included. The id is put in as the client wrote it:
// decoded and encoded again, an integer beyond 2^53 would come back as another.
func (e *Encoder) Encode(m mcp.JSONRPCMessage, id json.RawMessage) []byte {
	own := mcp.NewRequestId(nil)
	if id != nil {
		own = mcp.NewRequestId(id)
	}
	var line []byte
	var err error
	switch r := m.(type) {
	case mcp.JSONRPCResponse:
		result, isTool := r.Result.(mcp.CallToolResult)
		if p, ok := r.Result.(*mcp.CallToolResult); ok && p != nil {
			result, isTool = *p, true
		}
		if r.ID = own; isTool {
			line, err = e.toolLine(result, id)
		} else {
			line, err = Marshal(r)
		}
	case mcp.JSONRPCError:
		r.ID = own
		line, err = Marshal(r)
	default:
		line, err = Marshal(m)
	}
	if err != nil {
		line, _ = Marshal(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: own, Error: InternalError().Error})
	}
	return line
}

func (e *Encoder) toolLine(r mcp.CallToolResult, id json.RawMessage) (line []byte, err error) {
	defer guard(&err)
	if id == nil {
		id = json.RawMessage("null")
	}
	size := len(id) + len(r.RawStructuredContent) + 256
	for _, c := range r.Content {
		if t, ok := c.(mcp.TextContent); ok {
			size += len(t.Text) + len(t.Text)/8 + 64
		}
	}
	out := toolResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: jsonx.Verbatim(id)}
	out.Result.Meta, out.Result.ResultType, out.Result.Content, out.Result.IsError = r.Meta, r.ResultType, r.Content, r.IsError
	out.Result.InputRequests, out.Result.RequestState, out.Result.StructuredContent = r.InputRequests, r.RequestState, r.StructuredContent
	if raw := r.RawStructuredContent; bytes.IndexByte(raw, '\n') >= 0 {
		out.Result.StructuredContent = raw
	} else if len(raw) > 0 {
		out.Result.StructuredContent = jsonx.Verbatim(raw) // a megabyte is not looked at again
	}
	structured, _ := r.StructuredContent.(Structured)
	line, err = structured.Append(e.lines.Get(size), &out)
	return append(line, '\n'), err
}

// guard makes an error of a panic while a value is encoded: values come from handlers.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("encoding panicked: %v", p)
	}
}

// Marshal is v as one line, its end included.
func Marshal(v any) (line []byte, err error) {
	defer guard(&err)
	line, err = jsonx.Marshal(v)
	return append(line, '\n'), err
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
