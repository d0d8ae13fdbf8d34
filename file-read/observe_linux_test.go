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

// limiting is how far this kernel lets a server be restricted that connects to a port.
func limiting(t *testing.T) (mode string) {
	t.Helper()
	if rules := (restrict.Rules{Connect: []uint16{1}}); !rules.Probe().Holds() {
		t.Log("SKIPPED: this kernel cannot limit connections to a port; the server keeps more than it needs")
		return "auto"
	}
	return "required"
}

func TestARestrictedServerTellsACollectorOfEveryCallAndOfNothingElse(t *testing.T) {
	for _, collector := range []*mcptest.Collector{mcptest.NewCollector(t), mcptest.NewTLSCollector(t)} {
		for _, era := range mcptest.Eras() {
			before := len(collector.Spans(t))
			c := mcptest.Options{Era: era, Env: []string{"SSL_CERT_FILE=" + collector.Certificate}}.Start(t, "file-read",
				"--allow-path", mcptest.Tree(t, private+".txt="+private), "--audit-log", "off", "--restrict", limiting(t), "--otlp-endpoint", collector.URL)
			c.Call("file_read", map[string]any{"path": private + ".txt"})
			c.Call("file_read", map[string]any{"path": "no-" + private})
			c.Call("search_content_in_files", map[string]any{"search_path": ".", "regex_pattern": private})
			c.Request("tools/call", map[string]any{"name": private, "arguments": map[string]any{}})
			c.Close()
			want := "tools/call file_read ok |tools/call file_read error RESOURCE_003|tools/call search_content_in_files ok |tools/call  PARAM_002"
			if got := toldOf(collector.Spans(t)[before:]); got != want {
				t.Errorf("%s: the calls are %q\n%s", era, got, c.Stderr())
			}
		}
		for _, path := range []string{"/v1/traces", "/v1/metrics"} {
			bodies := collector.Bodies(path)
			if len(bodies) == 0 {
				t.Errorf("nothing came for %s", path)
			}
			for _, body := range bodies {
				if strings.Contains(string(body), private) {
					t.Errorf("%s got %s", path, body)
				}
			}
		}
	}
}

// toldOf is what spans say of calls: their name, outcome and code.
func toldOf(spans []mcptest.Span) string {
	var all []string
	for _, s := range spans {
		if s.Attributes["mcp.method.name"] == "tools/call" {
			all = append(all, s.Name+" "+s.Attributes["mcp_server.outcome"]+" "+s.Attributes["mcp_server.error.code"])
		}
	}
	return strings.Join(all, "|")
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
