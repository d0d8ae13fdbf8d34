package transport

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestMarkingANotificationLeavesTheOriginalAsItIs(t *testing.T) {
	n := mcp.JSONRPCNotification{}
	n.Params.Meta = map[string]any{"a": 1}
	m := marked(n, json.RawMessage("7"))
	if len(n.Params.Meta) != 1 || len(m.Params.Meta) != 2 || m.Params.Meta["a"] != 1 {
		t.Errorf("%v became %v", n.Params.Meta, m.Params.Meta)
	}
}

func TestTheClientSetsTheLogLevel(t *testing.T) {
	p := &peer{}
	if p.GetLogLevel() != mcp.LoggingLevelError {
		t.Errorf("without a word from the client: %s", p.GetLogLevel())
	}
	p.SetLogLevel(mcp.LoggingLevelDebug)
	if p.GetLogLevel() != mcp.LoggingLevelDebug {
		t.Errorf("asked for debug: %s", p.GetLogLevel())
	}
}
