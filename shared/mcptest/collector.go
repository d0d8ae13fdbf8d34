package mcptest

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Collector is an OpenTelemetry collector on the loopback: it takes OTLP over HTTP as JSON,
// and keeps all of it.
type Collector struct {
	URL         string
	Certificate string // of TLS: a file; empty where there is none

	mu     sync.Mutex
	bodies map[string][][]byte // by path
}

// NewCollector starts a collector that ends with the test.
func NewCollector(t testing.TB) *Collector {
	t.Helper()
	c, _ := collect(t, httptest.NewServer)
	return c
}

// NewTLSCollector starts one that is reached by https.
func NewTLSCollector(t testing.TB) *Collector {
	t.Helper()
	c, s := collect(t, httptest.NewTLSServer)
	c.Certificate = filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(c.Certificate, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func collect(t testing.TB, start func(http.Handler) *httptest.Server) (*Collector, *httptest.Server) {
	c := &Collector{bodies: map[string][][]byte{}}
	s := start(c)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c, s
}

// ServeHTTP takes a message.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "this takes OTLP as JSON", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], body)
	io.WriteString(w, "{}") //nolint:errcheck // a client that is gone needs no answer
}

// Bodies are the messages that came for a path, as "/v1/traces".
func (c *Collector) Bodies(path string) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies[path]
}

// HoldsNothingOf fails the test where one of the texts came, or nothing to look for it in.
func (c *Collector) HoldsNothingOf(t testing.TB, texts ...string) {
	t.Helper()
	for _, path := range []string{"/v1/traces", "/v1/metrics"} {
		bodies := c.Bodies(path)
		if len(bodies) == 0 {
			t.Fatalf("nothing came for %s", path)
		}
		for _, body := range bodies {
			for _, text := range texts {
				if strings.Contains(string(body), text) {
					t.Errorf("%s got %s", path, body)
				}
			}
		}
	}
}

// Span is one that a server told.
type Span struct {
	TraceID, SpanID, ParentSpanID string
	Name                          string
	Attributes                    attributes
	Status                        struct{ Code int }
}

// Spans are all that came, in their order.
func (c *Collector) Spans(t testing.TB) (all []Span) {
	t.Helper()
	for _, body := range c.Bodies("/v1/traces") {
		var m struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []Span } }
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for _, r := range m.ResourceSpans {
			for _, s := range r.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	}
	return all
}

// attributes by name, each as text.
type attributes map[string]string

func (a *attributes) UnmarshalJSON(raw []byte) error {
	var list []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*a = attributes{}
	for _, pair := range list {
		(*a)[pair.Key] = pair.Value.StringValue + pair.Value.IntValue
	}
	return nil
}
