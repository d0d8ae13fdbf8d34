package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

func TestWhatARestrictedServerTellsOfAChangeIsNotWhatItWrote(t *testing.T) {
	const private = "pr1vate-marker"
	mode := "required"
	if rules := (restrict.Rules{Connect: []uint16{1}}); !rules.Probe().Holds() {
		t.Log("SKIPPED: this kernel cannot limit connections to a port; the server keeps more than it needs")
		mode = "auto"
	}
	collector, journal := mcptest.NewCollector(t), mcptest.Listen(t, filepath.Join(t.TempDir(), "journal"))
	c := mcptest.Start(t, "file-write", "--allow-path", mcptest.Tree(t), "--audit-log", filepath.Join(t.TempDir(), "x.jsonl"),
		"--restrict", mode, "--otlp-endpoint", collector.URL, "--audit-also", "journald:"+journal.Path)
	if r := c.Call("file_write", map[string]any{"path": "a.txt", "content": private}); r.IsError {
		t.Fatal(r.Text)
	}
	for _, outcome := range []string{"begin", "ok"} {
		if got := string(journal.Next()); !strings.Contains(got, "MCP_OUTCOME="+outcome+"\n") || strings.Contains(got, private) {
			t.Errorf("the journal got %s", got)
		}
	}
	c.Close()
	collector.HoldsNothingOf(t, private, "a.txt")
	spans := collector.Spans(t)
	last := spans[len(spans)-1]
	if last.Name != "tools/call file_write" || last.Attributes["mcp_server.outcome"] != "ok" || last.Attributes["mcp_server.bytes"] != "14" {
		t.Errorf("the last span is %+v", last)
	}
}
