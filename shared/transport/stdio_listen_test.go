package transport

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const subscription = "io.modelcontextprotocol/subscriptionId"

func listen(id any, notifications string) string {
	return modern(id, "subscriptions/listen", `{}`, `"notifications":`+notifications)
}

func stream(h heard) any {
	meta, _ := h.Params["_meta"].(map[string]any)
	return meta[subscription]
}

func TestASubscriptionHearsWhatItAskedForAndBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpServer(mcpTools{"say": says("hi")})
		c := dial(t, s, StdioOptions{MaxInFlight: 1})
		c.send(listen(1, `{"toolsListChanged":true}`))
		if h := c.next(); h.Method != "notifications/subscriptions/acknowledged" || stream(h) != float64(1) {
			t.Fatalf("first came %v", h)
		}
		c.send(listen(`"two"`, `{"resourcesListChanged":true}`))
		if h := c.next(); stream(h) != "two" {
			t.Fatalf("first came %v", h)
		}
		c.send(modern(3, "tools/call", `{}`, `"name":"say"`))
		if h := c.next(); text(h) != "hi" {
			t.Errorf("a call while listening: %v", h)
		}
		s.SendNotificationToAllClients("notifications/tools/list_changed", nil)
		if h := c.next(); h.Method != "notifications/tools/list_changed" || stream(h) != float64(1) {
			t.Errorf("tools changed: %v", h)
		}
		s.SendNotificationToAllClients("notifications/resources/list_changed", nil)
		if h := c.next(); h.Method != "notifications/resources/list_changed" || stream(h) != "two" {
			t.Errorf("resources changed: %v", h)
		}
		s.SendNotificationToAllClients("notifications/prompts/list_changed", nil)
		c.quiet()
	})
}

func TestASubscriptionEndsWithCancelAndIsAnsweredNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpServer(nil)
		c := dial(t, s, StdioOptions{})
		c.send(listen(1, `{"toolsListChanged":true}`))
		c.next()
		c.send(cancelled(1))
		synctest.Wait()
		s.SendNotificationToAllClients("notifications/tools/list_changed", nil)
		c.quiet()
		c.send(listen(1, `{}`)) // the id is free, and nothing to listen to ends at once
		if h := c.next(); h.Method != "notifications/subscriptions/acknowledged" {
			t.Errorf("first came %v", h)
		}
		if h := c.next(); string(h.ID) != "1" || h.Result == nil {
			t.Errorf("then came %v", h)
		}
	})
}

func TestASubscriptionEndsWithTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(nil), StdioOptions{})
		c.send(listen(1, `{"toolsListChanged":true}`))
		c.next()
		began := time.Now()
		all, err := c.rest()
		if err != nil || len(all) != 1 || string(all[0].ID) != "1" || all[0].Result == nil || time.Since(began) != 0 {
			t.Errorf("%v %v after %v", all, err, time.Since(began))
		}
	})
}

func TestAResourceSubscriptionIsKeptByTheSessionThatServesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sessions []server.ClientSession
		h := &registering{MCPServer: mcpServer(nil), seen: &sessions}
		c := dial(t, h, StdioOptions{})
		c.send(listen(1, `{"resourceSubscriptions":["file:///a"]}`))
		c.next()
		if len(sessions) != 2 {
			t.Fatalf("%d sessions", len(sessions))
		}
		watching := sessions[1].(server.SessionWithResourceSubscriptions)
		if got := watching.SubscribedResources(); fmt.Sprint(got) != "[file:///a]" || !watching.IsSubscribedToResource("file:///a") {
			t.Errorf("subscribed to %v", got)
		}
		h.SendNotificationToSpecificClient(watching.SessionID(), "notifications/resources/updated", map[string]any{"uri": "file:///a"})
		if h := c.next(); h.Params["uri"] != "file:///a" || stream(h) != float64(1) {
			t.Errorf("heard %v", h)
		}
		c.send(cancelled(1))
		synctest.Wait()
		if len(watching.SubscribedResources()) != 0 {
			t.Error("still subscribed")
		}
		if err := h.SendNotificationToSpecificClient(watching.SessionID(), "x", nil); !errors.Is(err, server.ErrSessionNotFound) {
			t.Errorf("the session is still registered: %v", err)
		}
	})
}

func TestBeforeItTheWholeSessionIsSubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sessions []server.ClientSession
		c := dial(t, &registering{MCPServer: mcpServer(nil), seen: &sessions}, StdioOptions{})
		c.handshake(`{}`)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`)
		c.next()
		watching := sessions[0].(server.SessionWithResourceSubscriptions)
		if !watching.IsSubscribedToResource("file:///a") {
			t.Error("not subscribed")
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`)
		c.next()
		if watching.IsSubscribedToResource("file:///a") {
			t.Error("still subscribed")
		}
	})
}

func TestABroadcastReachesAClientOfTheHandshakeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpServer(nil)
		c := dial(t, s, StdioOptions{})
		c.handshake(`{}`)
		s.SendNotificationToAllClients("notifications/tools/list_changed", nil)
		if h := c.next(); h.Method != "notifications/tools/list_changed" || stream(h) != nil {
			t.Errorf("heard %v", h)
		}
		c.quiet()
	})
}
