package command_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/multiollama/mcp-server/shared/restrict"
)

func TestNothingIsSentUnlessTheFlagSaysSo(t *testing.T) {
	var asked atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "k" {
			asked.Add(1)
		}
	}))
	defer collector.Close()
	for _, c := range []struct {
		what string
		args []string
		want bool
	}{
		{"the variables alone mean nothing", nil, false},
		{"off is off", []string{"--otlp-endpoint", "off"}, false},
		{"env takes the variables", []string{"--otlp-endpoint", "env"}, true},
		{"an address is taken with the headers of the variables", []string{"--otlp-endpoint", collector.URL}, true},
	} {
		asked.Store(0)
		w := newFixture(t)
		w.environ = append(w.environ, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k")
		w.must(t, 0, append([]string{"call", "greet", "name=Ada"}, c.args...)...)
		if got := asked.Load() > 0; got != c.want {
			t.Errorf("%s: it was asked %d times", c.what, asked.Load())
		}
	}
}

func TestOnlyWhatWatchersTakeIsKept(t *testing.T) {
	w := newFixture(t)
	var got restrict.Rules
	w.restrict = func(r restrict.Rules) (restrict.Report, error) { got = r; return holds(r) }
	w.must(t, 0, "call", "greet", "name=Ada")
	if got.Network || len(got.Connect)+len(got.Sockets) > 0 {
		t.Errorf("without a watcher it keeps %+v", got)
	}
	w.must(t, 0, "call", "greet", "name=Ada", "--otlp-endpoint", "http://127.0.0.1:1")
	if got.Network || !slices.Equal(got.Connect, []uint16{1}) || len(got.Read) != 2 {
		t.Errorf("for a collector it keeps %+v", got)
	}
}

func TestAWatcherThatCannotBeUsedIsToldBeforeAnythingIsServed(t *testing.T) {
	for _, args := range [][]string{
		{"--otlp-endpoint", "localhost:4318"},
		{"--otlp-endpoint", "env"},
		{"--audit-also", "eventlog"},
	} {
		r := newFixture(t).must(t, 2, append([]string{"call", "greet", "name=Ada"}, args...)...)
		contains(t, strings.Join(args, " "), r.errors, "SYSTEM_003")
	}
}

func TestDoctorSaysWhoLearnsOfCalls(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w := newFixture(t)
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "none").out, "telemetry     is off")
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "none", "--otlp-endpoint", collector.URL).out,
		"ok    telemetry     names of tools, codes, sizes and times of calls go to "+collector.URL)
	collector.Close()
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "none", "--otlp-endpoint", collector.URL).out, "warn  telemetry", "does not take them")
	missing := filepath.Join(t.TempDir(), "socket")
	contains(t, "doctor", w.must(t, 1, "doctor", "--host", "none", "--audit-also", "journald:"+missing, "--otlp-endpoint", "x").out,
		"bad   audit copy", "bad   telemetry")
}
