package toolkit

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkCall is the overhead of a call without the log.
func BenchmarkCall(b *testing.B) {
	w := newFixture(b, func(c *Config) { c.Audit = nil })
	args := json.RawMessage(`{"word":"a","times":1}`)
	b.ReportAllocs()
	for b.Loop() {
		w.Call(b.Context(), "say", args)
	}
}

// BenchmarkMessage adds JSON-RPC, by mcp-go.
func BenchmarkMessage(b *testing.B) {
	w := newFixture(b, func(c *Config) { c.Audit = nil })
	for name, meta := range map[string]string{"legacy": "", "modern": "," + modern} {
		b.Run(name, func(b *testing.B) {
			line := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"word":"a","times":1}` + meta + `}}`)
			b.ReportAllocs()
			for b.Loop() {
				w.HandleMessage(b.Context(), line)
			}
		})
	}
}

// BenchmarkLargeArguments is how fast a megabyte of content comes through.
func BenchmarkLargeArguments(b *testing.B) {
	w := newFixture(b, func(c *Config) { c.Audit = nil })
	content := string(mustJSON(strings.Repeat("a line of text\n", 1<<16)))
	line := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"store","arguments":{"path":"p","content":` + content + `}}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		w.HandleMessage(b.Context(), line)
		w.stored = nil
	}
}
