package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mark3labs/mcp-go/mcp"
)

// output is the only way to the client. One Write per message: a line is never
// cut by another one.
type output struct {
	turn   chan struct{} // holds one token: whose turn it is to write
	w      io.Writer
	err    error         // the first failure; nothing is written after it
	broken chan struct{} // closed at that moment
}

func newOutput(w io.Writer) *output {
	return &output{turn: make(chan struct{}, 1), w: w, broken: make(chan struct{})}
}

// write sends a line, unless it belongs to a request that the client has
// cancelled. That is decided when its turn has come: whoever sees a later message of
// ours has seen all there will be of a request it cancelled before.
func (o *output) write(line []byte, of *call) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.err != nil || of != nil && of.dropped.Load() {
		return o.err
	}
	if _, err := o.w.Write(line); err != nil {
		o.err = err
		close(o.broken)
	}
	return o.err
}

// failure is why writing ended, or nil. It does not wait for a Write that is
// under way.
func (o *output) failure() error {
	select {
	case <-o.broken:
		return o.err
	default:
		return nil
	}
}

// encode is a message as a line. The id is put in as the client wrote it:
// decoded and encoded again, an integer beyond 2^53 would come back as another.
func encode(m mcp.JSONRPCMessage, id json.RawMessage) []byte {
	own := mcp.NewRequestId(id)
	if id == nil {
		own = mcp.NewRequestId(nil)
	}
	switch r := m.(type) {
	case mcp.JSONRPCResponse:
		r.ID = own
		m = r
	case mcp.JSONRPCError:
		r.ID = own
		m = r
	}
	line, err := marshal(m)
	if err != nil {
		line, _ = marshal(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: own, Error: internalError().Error})
	}
	return line
}

// marshal is v as one line, its end included. Values come from handlers: one
// that panics while it is encoded is an error like any other.
func marshal(v any) (line []byte, err error) {
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

// message is a refusal as JSON-RPC has it. Its id is put in by encode.
func (r *refusal) message() mcp.JSONRPCError {
	var data any
	if r.about != nil {
		data = map[string]json.RawMessage{"id": r.about}
	}
	return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(r.code, r.text, data)}
}

// internalError tells nothing of what went wrong: that is for the log.
func internalError() mcp.JSONRPCError {
	return (&refusal{code: mcp.INTERNAL_ERROR, text: "the server met a fault of its own"}).message()
}
