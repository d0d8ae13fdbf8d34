package telemetry_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/telemetry"
)

func collectorAt(t *testing.T, endpoint, headers string) *telemetry.Collector {
	t.Helper()
	c, err := telemetry.CollectorAt(endpoint, headers)
	must(t, err)
	return c
}

func TestWhatIsNoAddressOfACollectorIsRefused(t *testing.T) {
	for _, w := range []struct{ what, endpoint, headers string }{
		{"a scheme is missing", "localhost:4318", ""},
		{"a scheme is another", "grpc://localhost:4317", ""},
		{"a host is missing", "http://", ""},
		{"a user stands in it", "http://user:" + secret + "@localhost:4318", ""},
		{"a query stands in it", "http://localhost:4318?token=" + secret, ""},
		{"headers are no pairs", "http://localhost:4318", secret},
		{"a header would be two", "http://localhost:4318", "a=" + secret + "%0d%0ab: c"},
		{"a header has no name", "http://localhost:4318", "=" + secret},
	} {
		_, err := telemetry.CollectorAt(w.endpoint, w.headers)
		if !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%s: %v", w.what, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the fault tells a credential: %v", w.what, err)
		}
	}
}

func TestOnlyWhatSendingTakesIsKept(t *testing.T) {
	for _, w := range []struct {
		endpoint string
		ports    []uint16
		lookup   bool
		open     bool
	}{
		{"http://localhost:4318", []uint16{4318}, false, false},
		{"http://127.0.0.1:4318/base", []uint16{4318}, false, false},
		{"http://[::1]", []uint16{80}, false, false},
		{"http://192.0.2.1:4318", []uint16{4318}, false, true},
		{"https://collector.example", []uint16{443, 53}, true, false},
		{"http://collector.example:4318", []uint16{4318, 53}, true, true},
	} {
		c := collectorAt(t, w.endpoint, "")
		if got := c.Ports(); !slices.Equal(got, w.ports) {
			t.Errorf("%s takes the ports %v, want %v", w.endpoint, got, w.ports)
		}
		if got := c.Files(); len(got) > 0 != w.lookup {
			t.Errorf("%s takes the files %q", w.endpoint, got)
		}
		if c.Open() != w.open {
			t.Errorf("%s can be read on its way: %v", w.endpoint, c.Open())
		}
	}
}
