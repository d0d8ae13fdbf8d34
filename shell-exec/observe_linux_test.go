package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestWhatIsToldOfACommandIsNotTheCommand(t *testing.T) {
	const private = "pr1vate-marker"
	collector, journal := mcptest.NewCollector(t), mcptest.Listen(t, filepath.Join(t.TempDir(), "journal"))
	c := newHouse(t).start("--otlp-endpoint", collector.URL, "--audit-also", "journald:"+journal.Path)
	if r := c.Call("shell_exec", map[string]any{"command": "echo " + private}); r.IsError {
		t.Fatal(r.Text)
	}
	for _, outcome := range []string{"begin", "ok"} {
		if got := string(journal.Next()); !strings.Contains(got, "MCP_OUTCOME="+outcome+"\n") {
			t.Errorf("the journal got %s", got)
		}
	}
	c.Close()
	collector.HoldsNothingOf(t, private)
	spans := collector.Spans(t)
	if last := spans[len(spans)-1]; last.Name != "tools/call shell_exec" || last.Attributes["mcp_server.outcome"] != "ok" {
		t.Errorf("the last span is %+v", last)
	}
}
