package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/quoted"
)

const (
	// codeBusy is in the part of the server errors that MCP leaves to
	// implementations (2026-07-28: -32000 to -32019).
	codeBusy = -32000

	// maxID is how many bytes of an id are kept and sent back.
	maxID = 1024
)

// message is what the transport needs to know of a line.
type message struct {
	id     json.RawMessage // nil for a notification
	key    string          // the id, so that equal ids have equal keys
	method string          // "" for an answer to a question of ours
	cancel string          // the key that notifications/cancelled names
	modern bool            // 2026-07-28 or later: no handshake, no requests to the client
	result json.RawMessage
	fault  json.RawMessage
}

// envelope is message as it stands on the line. Params that are not an object,
// or not like this, are the handler's to judge.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// refusal is why a line is not handled.
type refusal struct {
	code  int
	text  string
	id    json.RawMessage // of the request it answers; nil where it must not seem to answer one
	about json.RawMessage // an id the client may want to know of, in the error's data
}

// parse reads a line. With a refusal the message is not to be used.
func parse(line []byte) (message, *refusal) {
	if m, ok := scan(line); ok {
		return m, nil
	}
	return parseAny(line)
}

// parseAny is parse for lines of every kind.
func parseAny(line []byte) (message, *refusal) {
	if line[0] == '[' && json.Valid(line) {
		return message{}, &refusal{code: mcp.INVALID_REQUEST, text: "JSON-RPC batches are not part of MCP; send each message on a line of its own"}
	}
	var e envelope
	err := json.Unmarshal(line, &e)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if !strings.HasPrefix(wrong.Field, "params") {
			return message{}, &refusal{code: mcp.INVALID_REQUEST, text: "not a JSON-RPC message: unexpected " + wrong.Value + where(wrong.Field), id: usable(e.ID)}
		}
	} else if err != nil {
		return message{}, &refusal{code: mcp.PARSE_ERROR, text: "not JSON: " + err.Error()}
	}
	return e.message()
}

func where(field string) string {
	if field == "" {
		return ""
	}
	return " as " + field
}

func (e envelope) message() (message, *refusal) {
	m := message{
		id:     usable(e.ID),
		method: e.Method,
		modern: mcp.IsModernProtocol(e.Params.Meta.Version),
		result: e.Result,
		fault:  e.Error,
	}
	m.key = key(m.id)
	m.cancel = key(usable(e.Params.RequestID))
	answer := e.Result != nil || e.Error != nil
	switch {
	case e.ID != nil && m.id == nil:
		return m, &refusal{code: mcp.INVALID_REQUEST, text: "an id is a string or a number, of at most 1024 bytes"}
	case m.method == "" && !answer:
		return m, &refusal{code: mcp.INVALID_REQUEST, text: "a message has a method, a result or an error", id: m.id}
	case m.method != "" && answer:
		return m, &refusal{code: mcp.INVALID_REQUEST, text: "a message has either a method or a result", id: m.id}
	}
	return m, nil
}

// usable is the id if it is one that MCP allows, else nil.
func usable(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || len(id) > maxID {
		return nil
	}
	if c := id[0]; c == '"' || c == '-' || '0' <= c && c <= '9' {
		return id
	}
	return nil
}

// key tells ids apart: 1 and "1" are two, "a" and "\u0061" are one.
func key(id json.RawMessage) string {
	if !bytes.HasPrefix(id, []byte{'"'}) {
		return string(id)
	}
	return `"` + idText(id)
}

// idText is an id as a person writes it.
func idText(id json.RawMessage) string {
	var s string
	switch {
	case !bytes.HasPrefix(id, []byte{'"'}):
		return string(id)
	case quoted.Plain(id[1:]) == len(id)-2 && utf8.Valid(id):
		return string(id[1 : len(id)-1])
	case json.Unmarshal(id, &s) == nil:
		return s
	}
	return string(id)
}

func (m message) isAnswer() bool       { return m.method == "" }
func (m message) isNotification() bool { return m.id == nil }
func (m message) isCancel() bool {
	return m.isNotification() && m.method == string(mcp.MethodNotificationCancelled)
}
func (m message) isListen() bool {
	return m.modern && m.method == string(mcp.MethodSubscriptionsListen)
}

// isInline is for what must be done before the next line is looked at: the
// handshake, on which what follows depends, and ping, which waits for nobody.
func (m message) isInline() bool {
	return m.method == string(mcp.MethodInitialize) || m.method == string(mcp.MethodPing)
}
