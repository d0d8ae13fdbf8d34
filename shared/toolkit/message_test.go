package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// eras are the two ways of the protocol to say the same.
var eras = []struct{ name, meta string }{{"2025-11-25", ""}, {"2026-07-28", "," + modern}}

func TestBothErasListTheTools(t *testing.T) {
	for _, era := range eras {
		w := newFixture(t, nil)
		a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":0`+era.meta+`}}`)
		var got struct {
			Tools []struct {
				Name, Title, Description  string
				InputSchema, OutputSchema json.RawMessage
				Annotations               map[string]bool
			}
		}
		if err := json.Unmarshal(a.Result, &got); err != nil || len(got.Tools) != 3 {
			t.Fatalf("%s: %s", era.name, a.Result)
		}
		want := map[string]string{
			"say":       "map[openWorldHint:false readOnlyHint:true]",
			"store":     "map[destructiveHint:true idempotentHint:false openWorldHint:false readOnlyHint:false]",
			"misbehave": "map[destructiveHint:false idempotentHint:false openWorldHint:false readOnlyHint:false]",
		}
		for _, tool := range got.Tools {
			if tool.Title == "" || tool.Description == "" || fmt.Sprint(tool.Annotations) != want[tool.Name] {
				t.Errorf("%s: %+v", era.name, tool)
			}
			compiled(t, tool.InputSchema)
			compiled(t, tool.OutputSchema)
		}
	}
}

func TestBothErasCallAToolAndItsResultObeysTheSchema(t *testing.T) {
	for _, era := range eras {
		for _, c := range []struct {
			what, tool, args string
			failed           bool
		}{
			{"a success", "say", `{"word":"a"}`, false},
			{"a failure", "say", `{"word":""}`, true},
			{"a refusal", "say", `{"wrd":""}`, true},
			{"a panic", "misbehave", `{"how":"panic"}`, true},
			{"a number no float64 holds", "say", `{"word":"a","times":1e400}`, true},
			{"nesting that encoding/json refuses", "say", `{"word":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, true},
			{"text that is not UTF-8", "say", "{\"word\":\"\xff\"}", true},
			{"null for the arguments", "say", `null`, true},
			{"a list for the arguments", "say", `["a"]`, true},
		} {
			w := newFixture(t, nil)
			a := w.send(t, t.Context(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, c.tool, c.args, era.meta))
			if a.Error != nil {
				t.Errorf("%s, %s: a protocol error: %+v", era.name, c.what, a.Error)
				continue
			}
			r := read(t, a.Result)
			tool, _ := w.config.Vocabulary.find(c.tool)
			if err := obeys(t, compiled(t, tool.OutputSchema()), r.StructuredContent); err != nil || r.IsError != c.failed {
				t.Errorf("%s, %s: %s %v", era.name, c.what, r.StructuredContent, err)
			}
		}
	}
}

func TestArgumentsMayBeAbsent(t *testing.T) {
	w := newFixture(t, func(c *Config) { c.Vocabulary.Tools = []Tool{manyResultsTool(manyResults{})} })
	for _, params := range []string{`{"name":"many"}`, `{"name":"many","arguments":null}`, `{"name":"many","arguments":{}}`} {
		a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`)
		if a.Error != nil || read(t, a.Result).IsError {
			t.Errorf("%s: %s", params, a.Result)
		}
	}
}

func TestTheServerSaysWhatItCanDoInBothEras(t *testing.T) {
	w := newFixture(t, withResources)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modern + `}}`,
	} {
		a := w.send(t, t.Context(), line)
		var got struct {
			Capabilities json.RawMessage
			Instructions string
		}
		if err := json.Unmarshal(a.Result, &got); err != nil {
			t.Fatalf("%+v", a)
		}
		if got.Instructions != "Use say." || string(got.Capabilities) != `{"resources":{},"tools":{},"completions":{}}` {
			t.Errorf("%s: %s", got.Instructions, got.Capabilities)
		}
	}
}

func TestTextOnlyResultsHaveNeitherStructureNorSchema(t *testing.T) {
	w := newFixture(t, func(c *Config) { c.TextOnly = true })
	list := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if bytes.Contains(list.Result, []byte("outputSchema")) || !bytes.Contains(list.Result, []byte("inputSchema")) {
		t.Errorf("%s", list.Result)
	}
	for _, args := range []string{`{"word":"a"}`, `{"word":""}`, `{}`} {
		a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":`+args+`}}`)
		if r := read(t, a.Result); r.StructuredContent != nil || len(r.Content) != 1 || r.Content[0].Text == "" {
			t.Errorf("%s: %s", args, a.Result)
		}
	}
}

func TestAnUnknownToolIsInvalidParamsWithTheNearestInBothEras(t *testing.T) {
	for _, era := range eras {
		w := newFixture(t, nil)
		a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"sya","arguments":{"token":"hunter2"}`+era.meta+`}}`)
		if a.Error == nil || a.ID != "x" || a.Error.Code != mcp.INVALID_PARAMS || a.Error.Data["did_you_mean"] != "say" || a.Error.Data["code"] != "PARAM_002" ||
			a.Error.Message != `there is no tool "sya". Did you mean "say"? The tools are say, store, misbehave.` {
			t.Errorf("%s: %+v", era.name, a.Error)
		}
		events := w.log.all()
		if len(events) != 1 || events[0].Tool != "sya" || events[0].Outcome != "refused" || strings.Contains(string(events[0].Arguments), "hunter2") {
			t.Errorf("%s: %+v", era.name, events)
		}
	}
}

func TestAToolThatIsNotGrantedCannotBeCalled(t *testing.T) {
	w := newFixture(t, func(c *Config) { c.Vocabulary, _ = c.Vocabulary.Narrow([]string{"talk"}) })
	a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"store","arguments":{"path":"p","content":"c"}}}`)
	if a.Error == nil || a.Error.Code != mcp.INVALID_PARAMS || a.Error.Data["code"] != "AUTH_003" || !strings.Contains(a.Error.Message, `toolset "keep"`) || len(w.stored) != 0 {
		t.Errorf("%+v", a.Error)
	}
	if e := w.log.all()[0]; e.Verdict != "deny" || e.Code != "AUTH_003" {
		t.Errorf("%+v", e)
	}
}

func TestTheLogNamesTheClientOfBothEras(t *testing.T) {
	for _, c := range []struct{ meta, client string }{{"", "host 9"}, {"," + modern, "new 2"}} {
		w := newFixture(t, nil)
		ctx := w.WithContext(t.Context(), newClient("s1"))
		w.send(t, ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"word":"a"}`+c.meta+`}}`)
		if e := w.log.all()[0]; e.Session != "s1" || e.Client != c.client {
			t.Errorf("%+v", e)
		}
	}
}

func TestAToolGetsTheBytesAClientSent(t *testing.T) {
	for _, c := range []struct{ what, line string }{
		{"as usual", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"word":"}{\"\\","times":1}}}`},
		{"arguments first", `{"params":{"arguments":{"word":"}{\"\\","times":1},"name":"say"},"method":"tools/call","id":1,"jsonrpc":"2.0"}`},
		{"space everywhere", "\t{ \"jsonrpc\" : \"2.0\" , \"id\":1,\n\"method\" : \"tools/call\",\"params\" : { \"name\": \"say\" , \"arguments\" : {\"word\":\"}{\\\"\\\\\",\"times\":1} } } "},
		{"the method by an escape", `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"say","arguments":{"word":"}{\"\\","times":1}}}`},
		{"the member in other case", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","Arguments":{"word":"}{\"\\","times":1}}}`},
		{"arguments twice, the last one counts", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{},"arguments":{"word":"}{\"\\","times":1}}}`},
		{"params twice, the last one counts", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}},"params":{"name":"say","arguments":{"word":"}{\"\\","times":1}}}`},
	} {
		w := newFixture(t, nil)
		a := w.send(t, t.Context(), c.line)
		if a.Error != nil || string(read(t, a.Result).StructuredContent) != `{"said":"}{\"\\","parts":[]}` {
			t.Errorf("%s: %s %+v", c.what, a.Result, a.Error)
		}
	}
}

// A transport that calls mcp-go itself has no message to detach from.
func TestTheGuardsHoldWithoutHandleMessage(t *testing.T) {
	w := newFixture(t, nil)
	raw, _ := json.Marshal(w.MCP().HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"word":"a","word":"b"}}}`)))
	if !bytes.Contains(raw, []byte("stands twice")) || len(w.log.all()) != 1 {
		t.Errorf("%s %+v", raw, w.log.all())
	}
	for _, args := range []any{map[string]any{"word": "a"}, json.RawMessage(`{"word":"a"}`)} {
		tool := w.MCP().GetTool("say")
		r, err := tool.Handler(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "say", Arguments: args}})
		if err != nil || r.IsError {
			t.Errorf("%v: %+v %v", args, r, err)
		}
	}
}

func TestWhatIsNoMessageIsAnswered(t *testing.T) {
	w := newFixture(t, withResources)
	for _, line := range []string{
		``, `{`, `[]`, `null`, `"x"`, `{}`, `{"jsonrpc":"1.0","id":1}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":null}}`, `{"jsonrpc":"2.0","id":1,"method":"nothing"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}`,
	} {
		a := w.send(t, t.Context(), line)
		if a.Error == nil && line != `{}` {
			t.Errorf("%s: %s", line, a.Result)
		}
		if a.Error != nil && strings.Contains(a.Error.Message, "Go struct") {
			t.Errorf("%s: the answer tells what the server is made of: %s", line, a.Error.Message)
		}
	}
	if got := w.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); got != nil {
		t.Errorf("a notification was answered: %v", got)
	}
}

func TestAPanicInAMessageIsAnInternalError(t *testing.T) {
	w := newFixture(t, nil)
	w.MCP().GetHooks().AddBeforePing(func(context.Context, any, *mcp.PingRequest) { panic("hunter2") })
	a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if a.Error == nil || a.ID != "p" || a.Error.Code != mcp.INTERNAL_ERROR || strings.Contains(a.Error.Message, "hunter2") {
		t.Errorf("%+v", a)
	}
}

func TestSessionsAreRegisteredOnce(t *testing.T) {
	w := newFixture(t, nil)
	c := newClient("s")
	if err := w.RegisterSession(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := w.RegisterSession(t.Context(), c); !errors.Is(err, server.ErrSessionExists) {
		t.Errorf("%v", err)
	}
	w.UnregisterSession(t.Context(), "s")
	if err := w.RegisterSession(t.Context(), c); err != nil {
		t.Errorf("%v", err)
	}
}

func withResources(c *Config) {
	c.Resources = &Resources{
		URITemplate: "file:///{+path}", Name: "files", Title: "Files", Doc: "Any file.",
		Read: func(_ context.Context, uri string) ([]ResourceContent, error) {
			switch uri {
			case "file:///text":
				return []ResourceContent{{URI: uri, MIME: "text/plain", Text: "hello"}}, nil
			case "file:///blob":
				return []ResourceContent{{URI: uri, MIME: "image/png", Blob: []byte{0, 1}}}, nil
			case "file:///panic":
				panic("hunter2")
			case "file:///odd":
				return nil, errors.New("hunter2")
			case "file:///secret":
				return nil, fault.New(fault.OutsideAllowed, "that is outside", "Stay inside").Because(errors.New("hunter2"))
			case "file:///empty":
				return nil, nil
			}
			return nil, fault.New(fault.NotFound, "there is no such file", "Look in the directory")
		},
		Complete: func(_ context.Context, prefix string) ([]string, int, bool, error) {
			if prefix == "fail" {
				return nil, 0, false, fault.New(fault.OutsideAllowed, "that is outside", "")
			}
			var all []string
			for i := range 150 {
				all = append(all, fmt.Sprintf("%s%d", prefix, i))
			}
			return all, 150, false, nil
		},
	}
}
