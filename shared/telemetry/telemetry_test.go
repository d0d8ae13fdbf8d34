package telemetry_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

const (
	parent  = `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`
	ambient = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`
)

func TestACallIsOneSpanWithTheNamesOfTheConventions(t *testing.T) {
	collector := mcptest.NewCollector(t)
	w := newFixture(t, collector.URL)
	w.send(call("greet", "Ada", ""), nil)
	w.send(call("greet", "nobody", ""), nil)
	w.send(call("no_such_tool", "", ""), nil)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`, nil)
	w.server.Call(t.Context(), "greet", json.RawMessage(`{"name":"Bo"}`))
	want := []struct {
		name  string
		attrs map[string]string
	}{
		{"tools/call greet", map[string]string{"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "greet", "mcp.protocol.version": "2026-07-28", "network.transport": "pipe", "mcp_server.outcome": "ok", "mcp_server.bytes": "9", "error.type": ""}},
		{"tools/call greet", map[string]string{"error.type": "tool_error", "mcp_server.error.code": "SECURITY_002", "mcp_server.outcome": "refused", "mcp_server.bytes": "0"}},
		{"tools/call", map[string]string{"gen_ai.tool.name": "", "error.type": "PARAM_002", "mcp_server.error.code": "PARAM_002"}},
		{"tools/list", map[string]string{"mcp.method.name": "tools/list", "gen_ai.operation.name": "", "mcp.protocol.version": "", "error.type": ""}},
		{"tools/call greet", map[string]string{"mcp_server.outcome": "ok", "mcp_server.bytes": "8"}},
	}
	got := w.told(t, collector)
	if len(got) != len(want) {
		t.Fatalf("%d spans came, want %d: %+v", len(got), len(want), got)
	}
	for i, span := range got {
		if span.Name != want[i].name {
			t.Errorf("span %d is %q, want %q", i, span.Name, want[i].name)
		}
		for key, value := range want[i].attrs {
			if span.Attributes[key] != value {
				t.Errorf("%s of span %d is %q, want %q", key, i, span.Attributes[key], value)
			}
		}
		if failed := span.Attributes["error.type"] != ""; failed != (span.Status.Code == 2) {
			t.Errorf("the status of span %d is %d", i, span.Status.Code)
		}
	}
}

func TestNothingOfWhatAClientSentLeaves(t *testing.T) {
	collector := mcptest.NewCollector(t)
	w := newFixture(t, collector.URL)
	messages := []string{
		call("greet", secret, ""),
		call("greet", "nobody "+secret, ""),
		call(secret, secret, `,"`+secret+`":"`+secret+`","baggage":"user=`+secret+`","traceparent":"`+secret+`"`),
		strings.Replace(call("greet", secret, ""), `"name":"`+secret+`"}`, `"`+secret+`":1}`, 1),
		`{"jsonrpc":"2.0","id":"` + secret + `","method":"` + secret + `","params":{"name":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + secret + `","capabilities":{},"clientInfo":{"name":"` + secret + `","version":"` + secret + `"}}}`,
		strings.Replace(call("greet", secret, ""), "2026-07-28", secret, 1),
		`{"jsonrpc":"2.0","method":"notifications/` + secret + `"}`,
	}
	headers := http.Header{"Baggage": {"user=" + secret}, "Mcp-Protocol-Version": {secret}, "Traceparent": {secret}, "User-Agent": {secret}}
	for _, message := range messages {
		w.send(message, headers)
	}
	if got := w.told(t, collector); len(got) < len(messages)-2 {
		t.Errorf("only %d spans came of %d messages: the others prove nothing", len(got), len(messages))
	}
	collector.HoldsNothingOf(t, secret)
}

func TestTheTraceOfTheCallerIsContinued(t *testing.T) {
	meta := func(header string) string { return `,"traceparent":"` + header + `"` }
	for _, w := range []struct {
		what           string
		meta, header   string
		trace, span    string // of the parent; empty: the span begins a trace
		linked, silent bool
	}{
		{"a message says it", meta(parent), "", parent[3:35], parent[36:52], false, false},
		{"the request says it", "", parent, parent[3:35], parent[36:52], false, false},
		{"both do, and the message counts", meta(parent), ambient, parent[3:35], parent[36:52], true, false},
		{"both say the same", meta(parent), parent, parent[3:35], parent[36:52], false, false},
		{"nobody does", "", "", "", "", false, false},
		{"what is no trace is none", meta("00-0-0-00"), "x", "", "", false, false},
		{"a trace that is not recorded is not", meta(strings.TrimSuffix(parent, "1") + "0"), "", "", "", false, true},
	} {
		t.Run(w.what, func(t *testing.T) {
			collector := mcptest.NewCollector(t)
			fixture := newFixture(t, collector.URL)
			fixture.send(call("greet", "Ada", w.meta), http.Header{"Traceparent": {w.header}})
			got := fixture.told(t, collector)
			if w.silent {
				if len(got) != 0 || len(collector.Bodies("/v1/metrics")) == 0 {
					t.Errorf("%d spans came, want the metrics alone", len(got))
				}
				return
			}
			if len(got) != 1 || got[0].ParentSpanID != w.span || w.trace != "" && got[0].TraceID != w.trace {
				t.Fatalf("the spans are %+v", got)
			}
			if linked := strings.Contains(string(collector.Bodies("/v1/traces")[0]), ambient[3:35]); linked != w.linked {
				t.Errorf("linked is %v", linked)
			}
		})
	}
}

func TestACollectorThatNeverAnswersHoldsUpNothing(t *testing.T) {
	over := make(chan struct{})
	var asked atomic.Int32
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1); <-over }))
	defer silent.Close()
	defer close(over) // after Close has come back
	w := newFixture(t, silent.URL)
	for range 3000 { // more than the memory for spans holds
		w.send(call("greet", "Ada", ""), nil)
	}
	must(t, w.telemetry.Close())
	if asked.Load() == 0 {
		t.Error("the collector was never asked, so this proves nothing")
	}
}

func TestACollectorThatIsNotThereIsToldOnce(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w := newFixture(t, gone.URL)
	w.send(call("greet", "Ada", ""), nil)
	must(t, w.telemetry.Close())
	if n := strings.Count(w.log.String(), "cannot be reached"); n != 1 {
		t.Errorf("it was told %d times: %s", n, w.log)
	}
}

func TestWhatACollectorCannotTakeNowIsSentAgainAndWhatItRefusesIsNot(t *testing.T) {
	for status, want := range map[int]int32{http.StatusServiceUnavailable: 2, http.StatusBadRequest: 1} {
		var asked atomic.Int32
		busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/traces" && asked.Add(1) == 1 {
				w.WriteHeader(status)
			}
		}))
		w := newFixture(t, busy.URL)
		w.send(call("greet", "Ada", ""), nil)
		must(t, w.telemetry.Close())
		busy.Close()
		if got := asked.Load(); got != want {
			t.Errorf("after %d it was asked %d times, want %d", status, got, want)
		}
	}
}

func TestTheHeadersGoToTheCollectorAndNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirection was followed") }))
	defer elsewhere.Close()
	var got http.Header
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer collector.Close()
	to := collectorAt(t, collector.URL+"/base", "authorization=Bearer%20x%2Cy, x-tenant=t")
	if err := to.Try(context.Background()); err == nil {
		t.Error("a redirection counts as success")
	}
	if got.Get("Authorization") != "Bearer x,y" || got.Get("X-Tenant") != "t" {
		t.Errorf("the headers are %v", got)
	}
}

func BenchmarkCall(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	w := newFixture(b, collector.URL)
	for name, s := range map[string]*toolkit.Server{"told": w.server, "not told": greeter(b, nil)} {
		b.Run(name, func(b *testing.B) {
			message := json.RawMessage(call("greet", "Ada", ""))
			for b.Loop() {
				s.HandleMessage(b.Context(), message)
			}
		})
	}
	must(b, w.telemetry.Close())
}
