package transport

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// send posts a message and reads the answer.
func send(b *testing.B, by *http.Client, url, token, message string) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := by.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != 200 {
		b.Fatal(a.StatusCode, err)
	}
	a.Body.Close()
}

// large is a call whose answer says 1 MB twice.
func large() string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("a line\\n", 1<<20/7) + `"}}}`
}

func BenchmarkACall(b *testing.B) {
	for what, message := range map[string]string{"small": callMessage(1, "echo", ""), "1MB": large()} {
		b.Run(what, func(b *testing.B) {
			w := serve(b, HTTPSettings{TokenFile: tokenFile(b, secret)}, HTTPOptions{}, toolkit.Rate{})
			for b.Loop() {
				send(b, http.DefaultClient, w.listener.URL(), secret, message)
			}
		})
		b.Run(what+" by mcp-go's transport, without a guard", func(b *testing.B) {
			h, err := toolkit.NewServer(toolkit.Config{Name: "test", Version: "1", Audit: &events{}, Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: httpTools(&hooks{})}})
			if err != nil {
				b.Fatal(err)
			}
			s := httptest.NewServer(server.NewStreamableHTTPServer(h.MCP(), server.WithStateLess(true), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))))
			defer s.Close()
			for b.Loop() {
				send(b, http.DefaultClient, s.URL, secret, message)
			}
		})
	}
}
