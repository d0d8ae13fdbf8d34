package command_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestEventsAreSentOnAlsoWhereNoFileIsKept(t *testing.T) {
	journal := mcptest.Listen(t, filepath.Join(t.TempDir(), "journal"))
	w := newFixture(t)
	for _, log := range []string{"auto", "stderr", "off"} {
		w.must(t, 0, "call", "greet", "name=Ada", "--audit-log", log, "--audit-also", "journald:"+journal.Path)
		contains(t, log, string(journal.Next()), "MCP_TOOL=greet\n", `"outcome":"ok"`)
	}
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "none", "--audit-also", "journald:"+journal.Path).out, "ok    audit copy    goes to journald:")
}

func TestACallOverHTTPContinuesTheTraceOfItsRequest(t *testing.T) {
	collector := mcptest.NewCollector(t)
	url, stop := mcptest.Listening(t, server(t, "--restrict", "off", "--transport", "http", "--listen", "127.0.0.1:0", "--otlp-endpoint", collector.URL))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(calling("greet", `{"name":"Ada"}`)))
	must(t, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
	stop()
	spans := collector.Spans(t)
	if len(spans) != 1 || spans[0].TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || spans[0].ParentSpanID != "00f067aa0ba902b7" || spans[0].Attributes["network.transport"] != "tcp" {
		t.Errorf("the spans are %+v", spans)
	}
}
