package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shared/transport"
)

// BenchmarkCall is a call from line to line over real pipes, recorded in a real
// log.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	for name, size := range map[string]int{"1k": 1 << 10, "100k": 100 << 10} {
		content := strings.Repeat("the quick brown fox jumps over\n", size/31)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%03d.txt", i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct{ what, tool, args string }{
		{"read 1 KB", "file_read", `{"path":"1k"}`},
		{"read 100 KB", "file_read", `{"path":"100k"}`},
		{"list 500", "list_directory", `{"dir_path":"."}`},
	} {
		b.Run(c.what, func(b *testing.B) { benchmarkCall(b, dir, c.tool, c.args) })
	}
}

func benchmarkCall(b *testing.B, dir, tool, args string) {
	log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	roots, err := confine.Open([]string{dir}, confine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer roots.Close()
	r := &reader{scope: confine.NewScope(roots, nil), maxBytes: 128 << 10, buffers: new(match.Buffers)}
	server, err := toolkit.NewServer(toolkit.Config{Name: "file-read", Version: "bench", Vocabulary: vocabularies(r)[0].Make(), Audit: log, Locate: roots.Locate})
	if err != nil {
		b.Fatal(err)
	}
	in, send := io.Pipe()
	receive, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- transport.ServeStdio(b.Context(), server, in, out, transport.StdioOptions{Context: toolkit.WithRequestID})
	}()
	answers := bufio.NewReaderSize(receive, 1<<20)
	call := func(id int, method, params string) {
		fmt.Fprintf(send, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			chunk, err := answers.ReadSlice('\n')
			if err == nil || err != bufio.ErrBufferFull {
				if strings.Contains(string(chunk), `"isError"`) || err != nil {
					b.Fatalf("%s %v", chunk, err)
				}
				return
			}
		}
	}
	call(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}`)
	id := 1
	for b.Loop() {
		id++
		call(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	}
	send.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
