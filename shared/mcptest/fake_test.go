package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fake":  fake,
		"mcp":   Session,
		"mcpgo": serveWithMCPGo,
	})
}

// fake is a server written out by hand, good and bad behaviour on demand.
func fake() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			answer(json.RawMessage("null"), `"error":{"code":-32700,"message":"not JSON"}`)
			continue
		}
		handle(m)
	}
	if len(os.Args) > 1 && os.Args[1] == "deaf" {
		select {}
	}
}

func handle(m Message) {
	switch m.Method {
	case "initialize":
		answer(m.ID, `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"fake"}}`)
	case "tools/list":
		page(m)
	case "tools/call":
		handleCall(m)
	case "notifications/cancelled":
		say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/seen","params":%s}`, m.Params))
	case "": // the client's answer to a request of ours
		say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/told","params":{"result":%s,"error":%t}}`, orNull(m.Result), m.Error != nil))
	default:
		if m.ID != nil {
			answer(m.ID, `"error":{"code":-32601,"message":"no such method"}`)
		}
	}
}

func page(m Message) {
	var params struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &params)
	if params.Cursor == "" {
		answer(m.ID, `"result":{"tools":[{"name":"first","inputSchema":{"type":"object"}}],"nextCursor":"2"}`)
		return
	}
	answer(m.ID, `"result":{"tools":[{"name":"second","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`)
}

func handleCall(m Message) {
	var params struct {
		Name      string
		Arguments json.RawMessage
		Meta      json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	switch params.Name {
	case "echo":
		answer(m.ID, fmt.Sprintf(`"result":{"content":[{"type":"text","text":%q}],"structuredContent":%s}`, params.Arguments, params.Arguments))
	case "meta":
		answer(m.ID, fmt.Sprintf(`"result":{"content":[],"structuredContent":%s}`, orNull(params.Meta)))
	case "refuse":
		answer(m.ID, `"result":{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"error":{"code":"SECURITY_002","timestamp":"now","request_id":"7"}}}`)
	case "shapeless":
		answer(m.ID, `"result":{}`)
	case "ask":
		say(`{"jsonrpc":"2.0","id":"q1","method":"roots/list"}`)
		answer(m.ID, `"result":{"content":[]}`)
	case "consent":
		consent(m)
	case "progress":
		say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
		answer(m.ID, `"result":{"content":[]}`)
	case "babble":
		say("Listening on port 80")
		answer(m.ID, `"result":{"content":[]}`)
	case "die":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case "never":
	default:
		answer(m.ID, `"error":{"code":-32602,"message":"no such tool"}`)
	}
}

// consent asks as in 2026-07-28, and tells what it was told.
func consent(m Message) {
	var params struct {
		RequestState   string
		InputResponses json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &params)
	if params.RequestState == "" {
		answer(m.ID, `"result":{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"},"why":{"type":"string"}}}}}}}`)
		return
	}
	answer(m.ID, fmt.Sprintf(`"result":{"content":[{"type":"text","text":"told"}],"structuredContent":%s}`, params.InputResponses))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func answer(id json.RawMessage, rest string) {
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, rest))
}

func say(line string) { fmt.Println(line) }
