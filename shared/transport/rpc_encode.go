package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

const (
	// answerRoom is how many bytes an answer is taken for before its length is known.
	answerRoom = 64 << 10

	// maxBuffer is the capacity of the largest line whose memory is kept for the next one.
	maxBuffer = 4 << 20
)

// encoder writes messages as lines, into the memory of lines that were sent: the first access
// to new memory would cost more than the encoding. The garbage collector frees what is not
// used for long. The zero encoder is ready.
type encoder struct{ sent sync.Pool }

// buffer returns an empty slice with a capacity of n bytes at least, which may hold anything.
func (e *encoder) buffer(n int) []byte {
	if b, ok := e.sent.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:0]
	}
	return make([]byte, 0, n)
}

// reuse takes a line that nobody uses any longer, not even a part of it.
func (e *encoder) reuse(line []byte) {
	if cap(line) <= maxBuffer {
		e.sent.Put(&line)
	}
}

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

// encode is a message as a line, its end included. The id is put in as the client wrote it:
// decoded and encoded again, an integer beyond 2^53 would come back as another.
func (e *encoder) encode(m mcp.JSONRPCMessage, id json.RawMessage) []byte {
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
			line, err = marshalLine(r)
		}
	case mcp.JSONRPCError:
		r.ID = own
		line, err = marshalLine(r)
	default:
		line, err = marshalLine(m)
	}
	if err != nil {
		line, _ = marshalLine(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: own, Error: internalError().Error})
	}
	return line
}

func (e *encoder) toolLine(r mcp.CallToolResult, id json.RawMessage) (line []byte, err error) {
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
	out.Result.Meta, out.Result.ResultType = r.Meta, r.ResultType
	out.Result.Content, out.Result.IsError = r.Content, r.IsError
	out.Result.InputRequests, out.Result.RequestState = r.InputRequests, r.RequestState
	out.Result.StructuredContent = r.StructuredContent
	if raw := r.RawStructuredContent; bytes.IndexByte(raw, '\n') >= 0 {
		out.Result.StructuredContent = raw
	} else if len(raw) > 0 {
		out.Result.StructuredContent = jsonx.Verbatim(raw) // a megabyte is not looked at again
	}
	structured, _ := r.StructuredContent.(jsonx.Structured)
	line, err = structured.Append(e.buffer(size), &out)
	return append(line, '\n'), err
}

// guard makes an error of a panic while a value is encoded: values come from handlers.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("encoding panicked: %v", p)
	}
}

// marshalLine is v as one line, its end included.
func marshalLine(v any) (line []byte, err error) {
	defer guard(&err)
	line, err = jsonx.Marshal(v)
	return append(line, '\n'), err
}

// message is a refusal as JSON-RPC has it. Its id is put in by encode.
func (r *refusal) message() mcp.JSONRPCError {
	var data any
	if r.About != nil {
		data = map[string]json.RawMessage{"id": r.About}
	}
	return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(r.Code, r.Text, data)}
}

// internalError does not say what went wrong: that is for the log.
func internalError() mcp.JSONRPCError {
	return (&refusal{Code: mcp.INTERNAL_ERROR, Text: "the server met a fault of its own"}).message()
}
