package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestNamesThatReadersCouldTakeForOthersAreRefused(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`
	many := make([]string, maxNames+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"x%d":0`, i)
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","ID":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","\u0069d":1,"id":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
		`{"JsonRPC":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{"a":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","Params":{}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"param\u017f\":{}}",
		`{"jsonrpc":"2.0","id":1,"result":{},"result":{"action":"accept"}}`,
		`{"jsonrpc":"2.0","id":1,"Result":{"action":"accept"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""},"Error":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"decline","Action":"accept"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"agree":false,"agree":true}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a","URI":"file:///b"}]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestID":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"RequestId":1}}`,
		fmt.Sprintf(call, `{"name":"a","name":"b","arguments":{}}`),
		fmt.Sprintf(call, `{"name":"a","Name":"b","arguments":{}}`),
		fmt.Sprintf(call, `{"Name":"b","arguments":{}}`),
		fmt.Sprintf(call, `{"name":"a","arguments":{},"arguments":{"x":1}}`),
		fmt.Sprintf(call, `{"name":"a","arguments":{},"Arguments":{"x":1}}`),
		fmt.Sprintf(call, `{"name":"a","argument\u0073":{},"arguments":{"x":1}}`),
		fmt.Sprintf(call, `{"name":"a","Arguments":{"x":1}}`),
		fmt.Sprintf(call, `{"name":"a","_meta":{},"_Meta":{}}`),
		fmt.Sprintf(call, `{"name":"a","_meta":{"progressToken":1,"progressToken":2}}`),
		fmt.Sprintf(call, `{"name":"a","_meta":{"ProgressToken":1}}`),
		fmt.Sprintf(call, `{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/ProtocolVersion":"2025-11-25"}}`),
		fmt.Sprintf(call, `{"name":"a","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"Elicitation":{"form":{}}}}}`),
		fmt.Sprintf(call, `{"name":"a","_meta":{"io.modelcontextprotocol/clientCapabilities":{"Elicitation":{}}}}`),
		fmt.Sprintf(call, `{"name":"a","inputResponses":{"q":{"action":"decline","action":"accept"}}}`),
		fmt.Sprintf(call, `{"name":"a","x":{"y":1,"Y":2}}`),
		fmt.Sprintf(call, `{"name":"a","x":[{"y":1,"y":2}]}`),
		fmt.Sprintf(call, `{`+strings.Join(many, ",")+`}`),
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"Capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`,
	} {
		_, no := parse([]byte(line))
		if no == nil || no.Code != mcp.INVALID_REQUEST || !strings.Contains(no.Text, "name") {
			t.Errorf("%.200s is taken: %+v", line, no)
			continue
		}
		if about := strings.ToLower(line); strings.Count(about, `"id":`)+strings.Count(about, `"\u0069d":`) > 1 && no.ID != nil {
			t.Errorf("%s is refused under the id %s, which may not be the one", line, no.ID)
		}
	}
}

func TestNamesOfOthersAreNotTheTransportsToJudge(t *testing.T) {
	for _, line := range append([]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"Name":1,"env":{"Path":"a","PATH":"b"},"ID":2,"method":3}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"vendor.example/ID":1,"progressToken":"p"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s","inputResponses":{"q":{"action":"accept","content":{"agree":true}}}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"agree":true}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","name":"b"}]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a://b","c://d"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"a","arguments":{"a":1,"a":2}}}`,
	}, ordinary...) {
		if _, no := parse([]byte(line)); no != nil {
			t.Errorf("%s is refused: %s", line, no.Text)
		}
	}
}
