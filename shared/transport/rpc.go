// Package transport carries MCP over two streams, one JSON-RPC message a line, or over
// HTTP, one POST a message, answered with JSON or with a stream of events. What a message
// means is for the [Handler].
//
// The files rpc*.go read and write messages in memory, for both transports. They never
// change an id: what goes back is what the client wrote.
//
// Over streams, a request's progress comes complete and before its response, a cancelled
// request is answered no more, a slow call stops no other, the last request before the end
// of the stream is answered, and nothing but JSON-RPC is written. A line, the calls in
// flight and the bytes they hold are bounded; a client that sends without reading is made
// to wait. The server asks a client only what the client said that it can answer.
//
// HTTP refuses a request before it reads it: a name in Host or Origin that is not ours
// (DNS rebinding, other people's pages), no token or a wrong one, a body that is too large
// or comes too slowly, more at once than there is room for. It does not listen where other
// machines reach it without a token, or in the clear unless it is told that TLS ends before
// it. It remembers nothing from one request to the next, so any number of servers can stand
// behind a load balancer; what it must know of a client of the handshake is in the session
// id that the client sends along. It never asks the client anything: a question is the
// result of a call (2026-07-28), or is refused at once. [OpenHTTP] opens all that serving
// needs: it opens no file, no name and no socket but the connections that are accepted.
//
// Model Context Protocol 2025-11-25 and 2026-07-28, "Transports"; JSON-RPC 2.0, section
// 5.1, for error codes; RFC 6750 for tokens; RFC 9110 for the rest.
package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// Handler is what a server does with messages.
//
// The session in a request's context belongs to that request alone. Over streams its
// SessionID names the one client, and a subscriptions/listen has an ID of its own that is
// registered while it lasts. Over HTTP it says which client it is, by its token or else by
// its address.
//
// HandleMessage is called concurrently, except that notifications from a client on a
// stream are handled one after the other and hold up what comes behind them: their
// handlers must be quick, and cannot ask the client anything.
type Handler interface {
	HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage
	RegisterSession(ctx context.Context, session server.ClientSession) error
	UnregisterSession(ctx context.Context, sessionID string)
	WithContext(ctx context.Context, session server.ClientSession) context.Context
}

const (
	// codeBusy is in the part of the server errors that MCP leaves to
	// implementations (2026-07-28: -32000 to -32019).
	codeBusy = -32000

	// maxID is how many bytes of an id are kept and sent back.
	maxID = 1024
)

// message is what a transport needs to know of a JSON-RPC message.
type message struct {
	ID      json.RawMessage // nil for a notification
	Key     string          // the id, so that equal ids have equal keys
	Method  string          // "" for an answer to a question of ours
	Cancels string          // the key that notifications/cancelled names
	Version string          // the protocol version that it says itself, as every request of 2026-07-28 does
	Modern  bool            // 2026-07-28 or later: no handshake, no requests to the client
	Result  json.RawMessage
	Fault   json.RawMessage
}

// refusal is why a message is not handled.
type refusal struct {
	Code  int
	Text  string
	ID    json.RawMessage // of the request it answers; nil where it must not seem to answer one
	About json.RawMessage // an id the client may want to know of, in the error's data
}

// parse reads a message, which is not empty. With a refusal it is not to be used. Params that
// are not an object, or not like this, are the handler's to judge.
func parse(line []byte) (message, *refusal) {
	r := reader{Scanner: jsonx.Scan(line), line: line}
	r.Kind() // reads the space before it
	begin := r.At()
	if !r.value(inMessage) || !r.End() {
		err := json.Unmarshal(line, new(json.RawMessage)) // has the words
		if err == nil {
			err = errors.New("malformed")
		}
		return message{}, &refusal{Code: mcp.PARSE_ERROR, Text: "not JSON: " + err.Error()}
	}
	refuse := func(text string) (message, *refusal) {
		return message{}, &refusal{Code: mcp.INVALID_REQUEST, Text: text, ID: usableID(r.id)}
	}
	m := r.message
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
	m.ID = usableID(r.id)
	m.Key = keyOf(m.ID)
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
// is refused first.
type reader struct {
	message
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
			r.Cancels = keyOf(usableID(raw))
		case at == inMeta && name == mcp.MetaKeyProtocolVersion && first == '"':
			r.Version = jsonx.Text(raw)
			r.Modern = mcp.IsModernProtocol(r.Version)
		}
		return true
	})
}

// usableID is the id if it is one that MCP allows, else nil.
func usableID(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || len(id) > maxID || !utf8.Valid(id) { // it is sent back as it is, in what has to be JSON
		return nil
	}
	if c := id[0]; c == '"' || c == '-' || '0' <= c && c <= '9' {
		return id
	}
	return nil
}

// keyOf tells ids apart: 1 and "1" are two, "a" and "\u0061" are one.
func keyOf(id json.RawMessage) string {
	if !bytes.HasPrefix(id, []byte{'"'}) {
		return string(id)
	}
	return `"` + idText(id)
}

// idText is an id as a person writes it.
func idText(id json.RawMessage) string {
	if !bytes.HasPrefix(id, []byte{'"'}) {
		return string(id)
	}
	return jsonx.Text(id)
}

// isAnswer reports whether it answers a question of the server.
func (m message) isAnswer() bool { return m.Method == "" }

// isNotification reports whether nobody waits for an answer to it.
func (m message) isNotification() bool { return m.ID == nil }

// isCancel reports whether it cancels a request.
func (m message) isCancel() bool {
	return m.isNotification() && m.Method == string(mcp.MethodNotificationCancelled)
}

// isListen reports whether it subscribes for as long as its answer takes.
func (m message) isListen() bool {
	return m.Modern && m.Method == string(mcp.MethodSubscriptionsListen)
}

// Programs disagree about a message in which a name appears twice: some take the first,
// some the last. encoding/json, which reads messages after this package, also takes "ID"
// for "id" and "Capabilities" for "capabilities". A proxy, a log or a filter on the way
// would then see another message than the server. So a name is accepted once in an object,
// and only as the protocol spells it.

// protocolNames are the names that handlers decode, by what foldCase makes of them.
var protocolNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"jsonrpc", "id", "method", "params", "result", "error",
		"name", "arguments", "_meta", "uri", "cursor", "level", "ref", "argument", "context", "type", "value",
		"requestId", "reason", "progressToken", "progress", "total", "message",
		"protocolVersion", "capabilities", "clientInfo", "title", "version", "description", "websiteUrl", "icons",
		"roots", "listChanged", "sampling", "elicitation", "form", "url", "tools", "tasks", "task", "requests", "extensions", "experimental",
		"inputResponses", "requestState", "action", "content", "code", "data",
		"notifications", "toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions",
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel, mcp.MetaKeySubscriptionID,
	} {
		names[foldCase(name)] = name
	}
	return names
}()

// maxNames is how many names an object of a message may have, arguments aside.
const maxNames = 1000

// ambiguous says what is wrong with another name in an object, "" if nothing. Seen are those
// before it.
func ambiguous(seen map[string]bool, name string) string {
	folded := foldCase(name)
	switch known := protocolNames[folded]; {
	case len(seen) == maxNames:
		return "an object has more than " + strconv.Itoa(maxNames) + " names"
	case seen[folded]:
		return "the name " + strconv.Quote(name) + " appears twice in one object"
	case known != "" && known != name && strings.EqualFold(known, name):
		return "the name " + strconv.Quote(name) + " is written " + strconv.Quote(known)
	}
	seen[folded] = true
	return ""
}

// foldCase is the same for names that strings.EqualFold calls equal.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u017f': // long s
			return 's'
		case '\u212a': // the Kelvin sign
			return 'k'
		}
		return r
	}, strings.ToLower(name))
}
