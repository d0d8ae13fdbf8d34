package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// asksRoots is a tool that tells what the client says its roots are.
func asksRoots(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	roots, err := server.ClientSessionFromContext(ctx).(server.SessionWithRoots).ListRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		return mcp.NewToolResultText("error: " + err.Error()), nil
	}
	var uris []string
	for _, r := range roots.Roots {
		uris = append(uris, r.URI)
	}
	return mcp.NewToolResultText(strings.Join(uris, " ")), nil
}

func asksPerson(mode string) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := server.ClientSessionFromContext(ctx).(server.SessionWithElicitation).RequestElicitation(ctx,
			mcp.ElicitationRequest{Params: mcp.ElicitationParams{Mode: mode, Message: "sure?"}})
		if err != nil {
			return mcp.NewToolResultText("error: " + err.Error()), nil
		}
		return mcp.NewToolResultText(string(r.Action)), nil
	}
}

func TestTheClientIsAskedOnlyForWhatItDeclared(t *testing.T) {
	for _, w := range []struct {
		what, capabilities, tool string
		asked                    bool
	}{
		{"roots, not declared", `{}`, "roots", false},
		{"roots, declared", `{"roots":{}}`, "roots", true},
		{"roots, something else declared", `{"elicitation":{}}`, "roots", false},
		{"a form, not declared", `{"roots":{}}`, "form", false},
		{"a form, declared", `{"elicitation":{}}`, "form", true},
		{"a form, only URLs declared", `{"elicitation":{"url":{}}}`, "form", false},
		{"a form, both declared", `{"elicitation":{"form":{},"url":{}}}`, "form", true},
		{"a URL, only forms declared", `{"elicitation":{"form":{}}}`, "url", false},
		{"a URL, declared", `{"elicitation":{"url":{}}}`, "url", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, mcpServer(mcpTools{"roots": asksRoots, "form": asksPerson(""), "url": asksPerson("url")}), StdioOptions{})
			c.handshake(w.capabilities)
			c.send(toolCall(1, w.tool))
			if h := c.next(); (h.Method != "") != w.asked {
				t.Errorf("%s: %v", w.what, h)
			}
		})
	}
}

func TestWhatTheHandshakeAgreedOnStays(t *testing.T) {
	const again = `"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"other","version":"2"}}}`
	for what, line := range map[string]string{
		"once more":         `{"jsonrpc":"2.0","id":"x",` + fmt.Sprintf(again, "2025-11-25"),
		"another version":   `{"jsonrpc":"2.0","id":"x",` + fmt.Sprintf(again, "2025-06-18"),
		"a version of none": `{"jsonrpc":"2.0","id":"x",` + fmt.Sprintf(again, "2026-07-28"),
		"as a notification": `{"jsonrpc":"2.0",` + fmt.Sprintf(again, "2025-11-25"),
		"as another's message": `{"jsonrpc":"2.0","id":"x","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"other","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}}}`,
		"without a version": `{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, mcpServer(mcpTools{"form": asksPerson("")}), StdioOptions{})
			c.send(`{"jsonrpc":"2.0","id":"bad","method":"initialize","params":{"protocolVersion":5}}`)
			if h := c.next(); h.Error == nil {
				t.Errorf("a broken handshake is answered %v", h)
			}
			c.handshake(`{}`)
			c.send(line)
			if strings.Contains(line, `"id"`) {
				if h := c.next(); strings.Contains(line, `"initialize"`) && (h.Error == nil || h.Error.Code != mcp.INVALID_REQUEST || string(h.ID) != `"x"`) {
					t.Errorf("%s: it is answered %v", what, h)
				}
			}
			c.send(toolCall(1, "form"))
			if h := c.next(); h.Method != "" || !strings.Contains(text(h), "error") {
				t.Errorf("%s: the client is asked: %v", what, h)
			}
		})
	}
}

func TestAnswersFindTheirQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"roots": asksRoots, "form": asksPerson("")}), StdioOptions{})
		c.handshake(`{"roots":{},"elicitation":{}}`)
		var asked []heard
		for id := range 10 {
			c.send(toolCall(id, "roots"))
			asked = append(asked, c.next())
		}
		for id := 9; id >= 0; id-- { // the other way round
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///%d"}]}}`, asked[id].ID, id))
			if h := c.next(); string(h.ID) != fmt.Sprint(id) || text(h) != fmt.Sprintf("file:///%d", id) {
				t.Errorf("call %d: %v", id, h)
			}
		}
		c.send(toolCall(11, "form"))
		h := c.next()
		if h.Method != "elicitation/create" || h.Params["message"] != "sure?" {
			t.Fatalf("asked %v", h)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, h.ID))
		if h := c.next(); text(h) != "decline" {
			t.Errorf("answered %v", h)
		}
	})
}

func TestAnAnswerMayBeAnErrorOrNonsense(t *testing.T) {
	for answer, want := range map[string]string{
		`"error":{"code":-1,"message":"no"}`: "error: roots/list: the client refuses: no (-1)",
		`"error":5`:                          "error: roots/list: the client's error is malformed",
		`"result":5`:                         "error: roots/list: the client's answer is malformed",
		`"result":{"roots":[]}`:              "",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, mcpServer(mcpTools{"roots": asksRoots}), StdioOptions{})
			c.handshake(`{"roots":{}}`)
			c.send(toolCall(1, "roots"))
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, c.next().ID, answer))
			if got := text(c.next()); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q", answer, got)
			}
		})
	}
}

func TestAQuestionEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"roots": asksRoots}), StdioOptions{})
		c.handshake(`{"roots":{}}`)
		c.send(toolCall(1, "roots"))
		asked := c.next()
		c.send(cancelled(1))
		h := c.next()
		if h.Method != "notifications/cancelled" || fmt.Sprint(h.Params["requestId"]) != string(asked.ID) {
			t.Errorf("the question was not withdrawn: %v", h)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, asked.ID)) // too late
		c.quiet()
	})
}

func TestNoAnswerCanComeAfterTheEndOfTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"roots": asksRoots}), StdioOptions{})
		c.handshake(`{"roots":{}}`)
		c.send(toolCall(1, "roots"))
		c.next()
		began := time.Now()
		all, err := c.rest()
		if err != nil || len(all) != 1 || text(all[0]) != "error: "+errClosed.Error() || time.Since(began) != 0 {
			t.Errorf("%v %v after %v", all, err, time.Since(began))
		}
	})
}

func TestFrom20260728OnTheClientIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"roots": asksRoots, "form": asksPerson("")}), StdioOptions{})
		for id, tool := range []string{"roots", "form"} {
			c.send(modern(id, "tools/call", `{"roots":{},"elicitation":{}}`, `"name":"`+tool+`"`))
			if h := c.next(); h.Method != "" || !strings.Contains(text(h), server.ErrServerInitiatedRequestUnsupported.Error()) {
				t.Errorf("%s: %v", tool, h)
			}
		}
	})
}

func TestARequestOf20260728ChangesNothingForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		who := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
			return mcp.NewToolResultText(fmt.Sprint(s.GetClientInfo().Name, s.GetClientCapabilities().Roots != nil, s.SessionID())), nil
		}
		c := dial(t, mcpServer(mcpTools{"who": who, "roots": asksRoots}), StdioOptions{})
		c.handshake(`{"roots":{}}`)
		for _, w := range []struct{ line, want string }{
			{modern(1, "tools/call", `{}`, `"name":"who"`), "m false stdio"},
			{toolCall(2, "who"), "test true stdio"},
			{modern(3, "tools/call", `{"roots":{}}`, `"name":"who"`), "m true stdio"},
			{modern(1, "tools/call", `{}`, `"name":"who"`), "m false stdio"},
		} {
			c.send(w.line)
			if got := text(c.next()); got != strings.ReplaceAll(w.want, " ", "") && got != w.want {
				t.Errorf("%s\nsees %q, want %q", w.line, got, w.want)
			}
		}
	})
}

func TestWhatTheClientTellsCountsForWhatItAsksAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		s := mcpServer(mcpTools{"told": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint(told)), nil
		}})
		s.AddNotificationHandler("notifications/roots/list_changed", func(context.Context, mcp.JSONRPCNotification) { told++ })
		c := dial(t, s, StdioOptions{})
		c.send(fmt.Sprintf(stdioInitialize, `{}`))
		for range 10 {
			c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		}
		c.send(toolCall(1, "told"))
		c.next()
		if h := c.next(); text(h) != "10" {
			t.Errorf("told %s times", text(h))
		}
	})
}

func TestTheHandlerOfANotificationCannotAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		s := mcpServer(nil)
		s.AddNotificationHandler("notifications/roots/list_changed", func(ctx context.Context, _ mcp.JSONRPCNotification) {
			_, err = s.RequestRoots(ctx, mcp.ListRootsRequest{})
		})
		s.AddNotificationHandler("panic", func(context.Context, mcp.JSONRPCNotification) { panic("x") })
		c := dial(t, s, StdioOptions{})
		c.handshake(`{"roots":{}}`)
		c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","method":"panic"}`)
		if before := c.ping(); len(before) > 0 {
			t.Errorf("written: %v", before)
		}
		if !errors.Is(err, errInline) {
			t.Errorf("asked with %v", err)
		}
	})
}
