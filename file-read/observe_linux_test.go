package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// private stands in what clients send and what files hold.
const private = "pr1vate-marker"

func TestARestrictedServerTellsACollectorOfEveryCallAndOfNothingElse(t *testing.T) {
	collector := mcptest.NewCollector(t)
	mode := "required"
	if rules := (restrict.Rules{Connect: []uint16{1}}); !rules.Probe().Holds() {
		t.Log("SKIPPED: this kernel cannot limit connections to a port; the server keeps more than it needs")
		mode = "auto"
	}
	for _, era := range mcptest.Eras() {
		before := len(collector.Spans(t))
		c := mcptest.Options{Era: era}.Start(t, "file-read", "--allow-path", mcptest.Tree(t, private+".txt="+private),
			"--audit-log", "off", "--restrict", mode, "--otlp-endpoint", collector.URL)
		c.Call("file_read", map[string]any{"path": private + ".txt"})
		c.Call("file_read", map[string]any{"path": "no-" + private})
		c.Call("search_content_in_files", map[string]any{"search_path": ".", "regex_pattern": private})
		c.Request("tools/call", map[string]any{"name": private, "arguments": map[string]any{}})
		c.Close()
		var got []string
		for _, s := range collector.Spans(t)[before:] {
			if s.Attributes["mcp.method.name"] == "tools/call" {
				got = append(got, s.Name+" "+s.Attributes["mcp_server.outcome"]+" "+s.Attributes["mcp_server.error.code"])
			}
			if era == mcptest.Modern && s.Attributes["mcp.protocol.version"] != "2026-07-28" {
				t.Errorf("the version of %s is %q", s.Name, s.Attributes["mcp.protocol.version"])
			}
		}
		want := "tools/call file_read ok |tools/call file_read error RESOURCE_003|tools/call search_content_in_files ok |tools/call  PARAM_002"
		if strings.Join(got, "|") != want {
			t.Errorf("%s: the calls are %q\n%s", era, got, c.Stderr())
		}
		if n := len(collector.Bodies("/v1/metrics")); n == 0 {
			t.Errorf("%s: no measures came", era)
		}
	}
	for _, path := range []string{"/v1/traces", "/v1/metrics"} {
		for _, body := range collector.Bodies(path) {
			if strings.Contains(string(body), private) {
				t.Errorf("%s got %s", path, body)
			}
		}
	}
}

func TestARestrictedServerSendsItsEventsToTheLogsOfTheSystem(t *testing.T) {
	mode := "required"
	if !restrict.Probe().Holds() {
		t.Log("SKIPPED: this kernel cannot restrict a process wholly")
		mode = "auto"
	}
	dir := t.TempDir()
	journal, syslog := mcptest.Listen(t, filepath.Join(dir, "journal")), mcptest.Listen(t, filepath.Join(dir, "log"))
	c := mcptest.Start(t, "file-read", "--allow-path", mcptest.Tree(t, "a.txt=a"), "--audit-log", filepath.Join(t.TempDir(), "x.jsonl"),
		"--restrict", mode, "--audit-also", "journald:"+journal.Path+",syslog:"+syslog.Path)
	read := func(path, outcome string) {
		t.Helper()
		c.Call("file_read", map[string]any{"path": path})
		for _, log := range []*mcptest.Datagrams{journal, syslog} {
			if got := string(log.Next()); !strings.Contains(got, `"outcome":"`+outcome+`"`) {
				t.Errorf("%s got %s", log.Path, got)
			}
		}
	}
	read("a.txt", "ok")
	for _, log := range []*mcptest.Datagrams{journal, syslog} { // they are started again
		log.Stop()
	}
	journal, syslog = mcptest.Listen(t, journal.Path), mcptest.Listen(t, syslog.Path)
	read("b.txt", "error")
}
