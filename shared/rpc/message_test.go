package rpc

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestABatchIsRefusedInWordsThatHelp(t *testing.T) {
	_, no := Parse([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`))
	if no == nil || !strings.Contains(no.Text, "each message by itself") {
		t.Errorf("refused with %+v", no)
	}
}

func TestParamsOfAnyShapeAreTheHandlersToJudge(t *testing.T) {
	for _, params := range []string{`[]`, `5`, `{"_meta":5}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}`, `null`} {
		m, no := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":` + params + `}`))
		if no != nil || m.Method != "x" || m.Key != "1" {
			t.Errorf("params %s: %+v %+v", params, m, no)
		}
	}
}

// An id is sent back as it came, and who reads the answer takes only UTF-8 for JSON.
func TestAnIDThatIsNoTextIsRefused(t *testing.T) {
	for _, id := range []string{"\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\""} {
		for _, line := range []string{`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, `{"jsonrpc":"2.0","method":"ping","id":` + id + `}`, `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`} {
			if m, no := Parse([]byte(line)); no == nil || no.ID != nil || no.Code != mcp.INVALID_REQUEST {
				t.Errorf("%q: %+v %+v", line, m, no)
			}
		}
	}
	if m, no := Parse([]byte(`{"jsonrpc":"2.0","id":"日本","method":"ping"}`)); no != nil || string(m.ID) != `"日本"` {
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

// FuzzScan: what is read in one pass encoding/json reads alike.
func FuzzScan(f *testing.F) {
	for _, s := range append([]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ` { "id" : -1.5e3 , "method" : "x" , "params" : { "a" : [ ] , "b" : [ true , null , { } ] } } `,
		`{"method":"x","method":"y"}`, `{"method":"x","params":{},"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"method":"x","Id":1}`,
		`{"method":"x","params":{"_Meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolversion":"2026-07-28"}}}`,
		`{"method":"x","id":"\u0061"}`, `{"method":"x","id":"\ud800"}`, `{"method":"x","id":01}`, `{"method":"x","params":{"a":1e}}`, `{"method":"x","params":{"a":[[[`, `{"method":"x"}}`, "{\"method\":\"\xff\"}",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"method":"x","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}}`,
	}, ordinary...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := scan(line)
		if !ok {
			return
		}
		want, no := parseAny(bytes.TrimSpace(line))
		if no != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%q is %+v, want %+v %v", line, m, want, no)
		}
	})
}

func TestOrdinaryRequestsAreReadInOnePass(t *testing.T) {
	for _, line := range ordinary {
		if _, ok := scan([]byte(line)); !ok {
			t.Errorf("%s is not", line)
		}
	}
}
