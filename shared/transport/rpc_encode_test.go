package transport

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestAResultIsWrittenAsItsOwnMarshallerWouldWriteIt(t *testing.T) {
	meta := &mcp.Meta{AdditionalFields: map[string]any{"a": 1.0}}
	for what, r := range map[string]mcp.CallToolResult{
		"nothing in it":       {},
		"text":                {Content: []mcp.Content{mcp.NewTextContent("<a> & \u2028 \x00 \xff \"\\ 日本\n")}},
		"an image":            {Content: []mcp.Content{mcp.NewImageContent("AAAA", "image/png")}},
		"annotated text":      {Content: []mcp.Content{mcp.TextContent{Type: "text", Text: "x", Meta: meta, Annotated: mcp.Annotated{Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}}}}},
		"a resource":          {Content: []mcp.Content{mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "file:///a", Text: "<t>"})}},
		"an error":            {IsError: true, Content: []mcp.Content{mcp.NewTextContent("no")}},
		"structure":           {StructuredContent: map[string]any{"a": []any{1.0, "<b>"}}},
		"an empty structure":  {StructuredContent: map[string]any{}},
		"a raw structure":     {StructuredContent: "not this", RawStructuredContent: json.RawMessage("{\n \"a\" : 9007199254740993\n}")},
		"everything of 2026":  {Result: mcp.Result{Meta: meta, ResultType: mcp.ResultTypeInputRequired}, MultiRoundTripResult: mcp.MultiRoundTripResult{RequestState: "s", InputRequests: mcp.InputRequests{"q": mcp.NewRootsInputRequest()}}},
		"everything, finally": {Result: mcp.Result{Meta: meta, ResultType: mcp.ResultTypeComplete}, IsError: true, StructuredContent: map[string]any{"a": nil}, Content: []mcp.Content{mcp.NewTextContent("")}},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, form := range []any{r, &r} {
			line := new(encoder).encode(mcp.JSONRPCResponse{JSONRPC: "2.0", Result: form}, json.RawMessage("1"))
			var got struct{ Result json.RawMessage }
			if err := json.Unmarshal(line, &got); err != nil || !sameJSON(t, got.Result, want) {
				t.Errorf("%s: %s\nwant %s", what, line, want)
			}
			if strings.Count(string(line), "\n") != 1 {
				t.Errorf("%s is more than a line", what)
			}
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	decode := func(b []byte) (v any) {
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

func BenchmarkOneMegabyteOfText(b *testing.B) {
	r := mcp.JSONRPCResponse{JSONRPC: "2.0", Result: *mcp.NewToolResultText(strings.Repeat("a line of some text, \"quoted\"\n", 1<<20/30))}
	b.SetBytes(1 << 20)
	for b.Loop() {
		new(encoder).encode(r, json.RawMessage("1"))
	}
}
