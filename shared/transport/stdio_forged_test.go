package transport

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// An answer counts for a question that is open, once, under exactly its id.
func TestForgedAnswersCountForNothing(t *testing.T) {
	accept := func(id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"agree":true}}}`, id)
	}
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"form": asksPerson("")}), StdioOptions{})
		c.handshake(`{"elicitation":{}}`)
		c.send(accept("1")) // before it is asked
		c.send(toolCall(1, "form"))
		first := c.next()
		if first.Method != "elicitation/create" {
			t.Fatalf("asked %v", first)
		}
		own := string(first.ID)
		for _, id := range []string{"0", "-1", "2", "99", `"` + own + `"`, own + ".5", own + "e1", "null"} {
			c.send(accept(id))
			synctest.Wait()
		}
		c.send(toolCall(7, "form"))
		var second heard
		for second.Method != "elicitation/create" { // errors about ids that are not valid come in between
			if second = c.next(); string(second.ID) == "1" && second.Method == "" {
				t.Fatalf("a forged answer counted: %v", second)
			}
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, own))
		if h := c.next(); string(h.ID) != "1" || text(h) != "decline" {
			t.Errorf("the first call: %v", h)
		}
		c.send(accept(own)) // a second answer to the first question
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`, second.ID))
		if h := c.next(); string(h.ID) != "7" || text(h) != "cancel" {
			t.Errorf("the second call: %v", h)
		}
		// a call that is cancelled leaves no question behind
		c.send(toolCall(8, "form"))
		third := c.next()
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
		synctest.Wait()
		if h := c.next(); h.Method != "notifications/cancelled" {
			t.Errorf("withdrawn: %v", h)
		}
		c.send(accept(string(third.ID)))
		c.send(toolCall(9, "form"))
		if h := c.next(); h.Method != "elicitation/create" || string(h.ID) == string(third.ID) {
			t.Errorf("after the end: %v", h)
		}
	})
}
