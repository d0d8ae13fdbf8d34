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

// restriction is how far this kernel lets a server be restricted that keeps these rights.
func restriction(t *testing.T, keep restrict.Rules) (mode string) {
	t.Helper()
	if !keep.Probe().Holds() {
		t.Logf("SKIPPED: this kernel cannot restrict a process to %+v; the server keeps more than it needs", keep)
		return "auto"
	}
	return "required"
}

func TestARestrictedServerTellsACollectorOfEveryCallAndOfNothingElse(t *testing.T) {
	mode := restriction(t, restrict.Rules{Connect: []uint16{1}})
	for _, start := range []func(testing.TB) *mcptest.Collector{mcptest.NewCollector, mcptest.NewTLSCollector} {
		for _, era := range mcptest.Eras() {
			collector := start(t)
			c := mcptest.Options{Era: era, Env: []string{"SSL_CERT_FILE=" + collector.Certificate}}.Start(t, "file-read",
				"--allow-path", mcptest.Tree(t, private+".txt="+private), "--audit-log", "off", "--restrict", mode, "--otlp-endpoint", collector.URL)
			c.Call("file_read", map[string]any{"path": private + ".txt"})
			c.Call("file_read", map[string]any{"path": "no-" + private})
			c.Call("search_content_in_files", map[string]any{"search_path": ".", "regex_pattern": private})
			c.Request("tools/call", map[string]any{"name": private, "arguments": map[string]any{}})
			c.Close()
			want := "tools/call file_read ok |tools/call file_read error RESOURCE_003|tools/call search_content_in_files ok |tools/call  PARAM_002"
			if got := toldOf(collector.Spans(t)); got != want {
				t.Errorf("%s: the calls are %q\n%s", era, got, c.Stderr())
			}
			collector.HoldsNothingOf(t, private)
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
	dir := t.TempDir()
	journal, syslog := mcptest.Listen(t, filepath.Join(dir, "journal")), mcptest.Listen(t, filepath.Join(dir, "log"))
	c := mcptest.Start(t, "file-read", "--allow-path", mcptest.Tree(t, "a.txt=a"), "--audit-log", filepath.Join(t.TempDir(), "x.jsonl"),
		"--restrict", restriction(t, restrict.Rules{}), "--audit-also", "journald:"+journal.Path+",syslog:"+syslog.Path)
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
