package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestABatchIsRefusedInWordsThatHelp(t *testing.T) {
	_, no := parse([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`))
	if no == nil || !strings.Contains(no.Text, "each message by itself") {
		t.Errorf("refused with %+v", no)
	}
}

func TestParamsOfAnyShapeAreTheHandlersToJudge(t *testing.T) {
	for _, params := range []string{`[]`, `5`, `{"_meta":5}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}`, `null`} {
		m, no := parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":` + params + `}`))
		if no != nil || m.Method != "x" || m.Key != "1" {
			t.Errorf("params %s: %+v %+v", params, m, no)
		}
	}
}

// An id is sent back as it came, and who reads the answer takes only UTF-8 for JSON.
func TestAnIDThatIsNoTextIsRefused(t *testing.T) {
	for _, id := range []string{"\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\""} {
		for _, line := range []string{`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, `{"jsonrpc":"2.0","method":"ping","id":` + id + `}`, `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`} {
			if m, no := parse([]byte(line)); no == nil || no.ID != nil || no.Code != mcp.INVALID_REQUEST {
				t.Errorf("%q: %+v %+v", line, m, no)
			}
		}
	}
	if m, no := parse([]byte(`{"jsonrpc":"2.0","id":"日本","method":"ping"}`)); no != nil || string(m.ID) != `"日本"` {
		t.Errorf("%+v %+v", m, no)
	}
}

// Ordinary requests and notifications of both eras.
var ordinary = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}`,
	`{"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"say","arguments":{}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
}

// envelope is a message as encoding/json reads it.
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

// FuzzParse: what is accepted encoding/json reads alike, and what is not JSON is told as such.
func FuzzParse(f *testing.F) {
	for _, s := range append([]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ` { "id" : -1.5e3 , "method" : "x" , "params" : { "a" : [ ] , "b" : [ true , null , { } ] } } `,
		`{"method":"x","method":"y"}`, `{"method":"x","params":{},"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"method":"x","Id":1}`,
		`{"method":"x","params":{"_Meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolversion":"2026-07-28"}}}`,
		`{"method":"x","id":"\u0061"}`, `{"method":"x","id":"\ud800"}`, `{"method":"x","id":01}`, `{"method":"x","params":{"a":1e}}`, `{"method":"x","params":{"a":[[[`, `{"method":"x"}}`, "{\"method\":\"\xff\"}",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"method":"x","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}}`,
		`{"id":1,"result":null}`, `{"id":1,"error":{},"result":[{"a":"\ud800"}]}`, `{"method":5}`, `[]`, `null`, `"x"`, strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat(`{"a":[`, 5_001),
	}, ordinary...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return
		}
		m, no := parse(line)
		if notJSON := no != nil && no.Code == mcp.PARSE_ERROR; notJSON == json.Valid(line) {
			t.Fatalf("%q: %+v", line, no)
		}
		if no != nil {
			return
		}
		var e envelope
		if err := json.Unmarshal(line, &e); err != nil {
			if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || !strings.HasPrefix(wrong.Field, "params") {
				t.Fatalf("%q is accepted: %v", line, err)
			}
		}
		version := e.Params.Meta.Version
		want := message{
			ID: usableID(e.ID), Key: keyOf(usableID(e.ID)), Method: e.Method, Cancels: keyOf(usableID(e.Params.RequestID)),
			Version: version, Modern: mcp.IsModernProtocol(version), Result: e.Result, Fault: e.Error,
		}
		if !reflect.DeepEqual(m, want) {
			t.Errorf("%q is %+v, want %+v", line, m, want)
		}
	})
}

// What is wrong first decides the words, as far as a client can tell: that it is not JSON, of
// which kind it is, its names, its members.
func TestRefusalsHaveTheWordsOfEncodingJSON(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":1,"method":"x"`:                 "not JSON: unexpected end of JSON input",
		`{"id":1,"ID":2,"method":tru}`:         "not JSON: invalid character '}' in literal true (expecting 'e')",
		`"x"`:                                  "not a JSON-RPC message: unexpected string",
		`5`:                                    "not a JSON-RPC message: unexpected number",
		`true`:                                 "not a JSON-RPC message: unexpected bool",
		`{"id":1,"method":{}}`:                 "not a JSON-RPC message: unexpected object as method",
		`{"id":1,"method":7,"METHOD":"ping"}`:  "not a JSON-RPC message: unexpected number as method",
		`{"id":1,"method":"x","Id":2}`:         `the name "Id" appears twice in one object; send each name once, as the protocol spells it`,
		`{"id":{},"method":"x"}`:               "an id is a string or a number, of at most 1024 bytes",
		`{"id":null,"method":"x"}`:             "an id is a string or a number, of at most 1024 bytes",
		`{"id":1,"method":"x","result":null}`:  "a message has either a method or a result",
		`null`:                                 "a message has a method, a result or an error",
		`{"id":1,"method":null,"params":[{}]}`: "a message has a method, a result or an error",
	} {
		if _, no := parse([]byte(line)); no == nil || no.Text != want {
			t.Errorf("%s: %+v, want %s", line, no, want)
		}
	}
}
