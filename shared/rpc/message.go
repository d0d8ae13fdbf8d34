package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/jsonx"
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

// Refusal is why a message is not handled.
type Refusal struct {
	Code  int
	Text  string
	ID    json.RawMessage // of the request it answers; nil where it must not seem to answer one
	About json.RawMessage // an id the client may want to know of, in the error's data
}

// Parse reads a message, which is not empty. With a refusal it is not to be used. Params that
// are not an object, or not like this, are the handler's to judge.
func Parse(line []byte) (Message, *Refusal) {
	r := reader{Scanner: jsonx.Scan(line), line: line}
	r.Kind() // reads the space before it
	begin := r.At()
	if !r.value(inMessage) || !r.End() {
		err := json.Unmarshal(line, new(json.RawMessage)) // has the words
		if err == nil {
			err = errors.New("malformed")
		}
		return Message{}, &Refusal{Code: mcp.PARSE_ERROR, Text: "not JSON: " + err.Error()}
	}
	refuse := func(text string) (Message, *Refusal) {
		return Message{}, &Refusal{Code: mcp.INVALID_REQUEST, Text: text, ID: Usable(r.id)}
	}
	m := r.Message
	switch kind := kindOf(line[begin:]); kind {
	case "object", "null":
	case "array":
		return refuse("JSON-RPC batches are not part of MCP; send each message by itself")
	default:
		return refuse("not a JSON-RPC message: unexpected " + kind)
	}
	switch kind := kindOf(r.method); kind {
	case "", "null":
	case "string":
		m.Method = jsonx.Text(r.method)
	default:
		return refuse("not a JSON-RPC message: unexpected " + kind + " as method")
	}
	if r.wrong != "" {
		if strings.EqualFold(r.about, "id") {
			r.id = nil // which of them the client waits for is not known
		}
		return refuse(r.wrong + "; send each name once, as the protocol spells it")
	}
	m.ID = Usable(r.id)
	m.Key = Key(m.ID)
	answer := m.Result != nil || m.Fault != nil
	switch {
	case r.id != nil && m.ID == nil:
		return refuse("an id is a string or a number, of at most 1024 bytes")
	case m.Method == "" && !answer:
		return refuse("a message has a method, a result or an error")
	case m.Method != "" && answer:
		return refuse("a message has either a method or a result")
	}
	return m, nil
}

// kindOf is what a value is, in the words of encoding/json; "" for none.
func kindOf(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// object is which object of a message is read.
type object int

const (
	elsewhere object = iota
	inMessage
	inParams
	inMeta
)

// reader reads a message in one pass, to its end also where a name is wrong: what is not JSON
// is told first.
type reader struct {
	Message
	*jsonx.Scanner
	line         []byte
	id, method   json.RawMessage
	name         string // of the message's member that is read
	wrong, about string // what is wrong with a name, and which member of the message that is in
}

// value reads a value. The arguments of a tool are for the tool's own decoder, which knows the
// names there.
func (r *reader) value(at object) bool {
	switch r.Kind() {
	case '{':
	case '[':
		return r.List(func() bool { return r.value(elsewhere) })
	default:
		return r.Value()
	}
	seen := map[string]bool{}
	return r.Object(func(quoted []byte) bool {
		name := jsonx.Text(quoted)
		if at == inMessage {
			r.name = name
		}
		if r.wrong == "" {
			r.wrong, r.about = ambiguous(seen, name), r.name
		}
		inner := elsewhere
		if at == inMessage && name == "params" {
			inner = inParams
		} else if at == inParams && name == "_meta" {
			inner = inMeta
		}
		first := r.Kind()
		start := r.At()
		read := func() bool { return r.value(inner) }
		if at == inParams && name == "arguments" {
			read = r.Value
		}
		if !read() {
			return false
		}
		raw := json.RawMessage(r.line[start:r.At()])
		switch {
		case at == inMessage && strings.EqualFold(name, "id"):
			r.id = raw
		case at == inMessage && name == "method":
			r.method = raw
		case at == inMessage && name == "result":
			r.Result = raw
		case at == inMessage && name == "error":
			r.Fault = raw
		case at == inParams && name == "requestId":
			r.Cancels = Key(Usable(raw))
		case at == inMeta && name == mcp.MetaKeyProtocolVersion && first == '"':
			r.Version = jsonx.Text(raw)
			r.Modern = mcp.IsModernProtocol(r.Version)
		}
		return true
	})
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
	if !bytes.HasPrefix(id, []byte{'"'}) {
		return string(id)
	}
	return jsonx.Text(id)
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
