package rpc

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
	// CodeBusy is in the part of the server errors that MCP leaves to
	// implementations (2026-07-28: -32000 to -32019).
	CodeBusy = -32000

	// MaxID is how many bytes of an id are kept and sent back.
	MaxID = 1024
)

// Message is what a transport needs to know of a JSON-RPC message.
type Message struct {
	ID      json.RawMessage // nil for a notification
	Key     string          // the id, so that equal ids have equal keys
	Method  string          // "" for an answer to a question of ours
	Cancels string          // the key that notifications/cancelled names
	Version string          // the protocol version that it says itself, as every request of 2026-07-28 does
	Modern  bool            // 2026-07-28 or later: no handshake, no requests to the client
	Result  json.RawMessage
	Fault   json.RawMessage
}

// envelope is Message as it stands on the line. Params that are not an object,
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

// Refusal is why a message is not handled.
type Refusal struct {
	Code  int
	Text  string
	ID    json.RawMessage // of the request it answers; nil where it must not seem to answer one
	About json.RawMessage // an id the client may want to know of, in the error's data
}

// Parse reads a message, which is not empty. With a refusal it is not to be used.
func Parse(line []byte) (Message, *Refusal) {
	if m, ok := scan(line); ok {
		return m, nil
	}
	return parseAny(line)
}

// parseAny is Parse for messages of every kind.
func parseAny(line []byte) (Message, *Refusal) {
	if line[0] == '[' && json.Valid(line) {
		return Message{}, &Refusal{Code: mcp.INVALID_REQUEST, Text: "JSON-RPC batches are not part of MCP; send each message by itself"}
	}
	var e envelope
	err := json.Unmarshal(line, &e)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if !strings.HasPrefix(wrong.Field, "params") {
			return Message{}, &Refusal{Code: mcp.INVALID_REQUEST, Text: "not a JSON-RPC message: unexpected " + wrong.Value + where(wrong.Field), ID: Usable(e.ID)}
		}
	} else if err != nil {
		return Message{}, &Refusal{Code: mcp.PARSE_ERROR, Text: "not JSON: " + err.Error()}
	}
	if wrong, about := ambiguous(line); wrong != "" {
		if strings.EqualFold(about, "id") {
			e.ID = nil // which of them the client waits for is not known
		}
		return Message{}, &Refusal{Code: mcp.INVALID_REQUEST, Text: wrong + "; send each name once, as the protocol spells it", ID: Usable(e.ID)}
	}
	return e.message()
}

func where(field string) string {
	if field == "" {
		return ""
	}
	return " as " + field
}

func (e envelope) message() (Message, *Refusal) {
	m := Message{
		ID:      Usable(e.ID),
		Method:  e.Method,
		Version: e.Params.Meta.Version,
		Modern:  mcp.IsModernProtocol(e.Params.Meta.Version),
		Result:  e.Result,
		Fault:   e.Error,
	}
	m.Key = Key(m.ID)
	m.Cancels = Key(Usable(e.Params.RequestID))
	answer := e.Result != nil || e.Error != nil
	switch {
	case e.ID != nil && m.ID == nil:
		return m, &Refusal{Code: mcp.INVALID_REQUEST, Text: "an id is a string or a number, of at most 1024 bytes"}
	case m.Method == "" && !answer:
		return m, &Refusal{Code: mcp.INVALID_REQUEST, Text: "a message has a method, a result or an error", ID: m.ID}
	case m.Method != "" && answer:
		return m, &Refusal{Code: mcp.INVALID_REQUEST, Text: "a message has either a method or a result", ID: m.ID}
	}
	return m, nil
}

// Usable is the id if it is one that MCP allows, else nil.
func Usable(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || len(id) > MaxID || !utf8.Valid(id) { // it is sent back as it is, in what has to be JSON
		return nil
	}
	if c := id[0]; c == '"' || c == '-' || '0' <= c && c <= '9' {
		return id
	}
	return nil
}

// Key tells ids apart: 1 and "1" are two, "a" and "\u0061" are one.
func Key(id json.RawMessage) string {
	if !bytes.HasPrefix(id, []byte{'"'}) {
		return string(id)
	}
	return `"` + IDText(id)
}

// IDText is an id as a person writes it.
func IDText(id json.RawMessage) string {
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

// IsAnswer reports whether it answers a question of the server.
func (m Message) IsAnswer() bool { return m.Method == "" }

// IsNotification reports whether nobody waits for an answer to it.
func (m Message) IsNotification() bool { return m.ID == nil }

// IsCancel reports whether it cancels a request.
func (m Message) IsCancel() bool {
	return m.IsNotification() && m.Method == string(mcp.MethodNotificationCancelled)
}

// IsListen reports whether it subscribes for as long as its answer takes.
func (m Message) IsListen() bool {
	return m.Modern && m.Method == string(mcp.MethodSubscriptionsListen)
}
