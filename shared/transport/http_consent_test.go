package transport

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The state of a question belongs to the token that it was asked for.
func TestAnAnswerCountsForTheTokenThatWasAsked(t *testing.T) {
	other := strings.Repeat("f", 32)
	w := serve(t, HTTPSettings{TokenFile: tokenFile(t, "a "+secret, "b "+other)}, HTTPOptions{}, toolkit.Rate{})
	post := func(token, extra string) string {
		head := modernHead("tools/call", "ask")
		head["Authorization"] = "Bearer " + token
		_, body := w.post(t.Context(), callMessage(1, "ask", modernMeta+extra), head)
		return body
	}
	var asked struct {
		Result struct{ ResultType, RequestState string }
	}
	if body := post(secret, ""); json.Unmarshal([]byte(body), &asked) != nil || asked.Result.ResultType != "input_required" {
		t.Fatal(body)
	}
	answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"confirm":{"action":"accept","content":{"agree":true}}}`, asked.Result.RequestState)
	if body := post(other, answer); !strings.Contains(body, "SECURITY_003") {
		t.Errorf("another token: %s", body)
	}
	if body := post(secret, answer); !strings.Contains(body, `"agreed"`) {
		t.Errorf("its own token, afterwards: %s", body)
	}
}
