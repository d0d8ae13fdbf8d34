package transport

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkAFewCallsAtOnce(b *testing.B) {
	s := mcpServer(mcpTools{"say": says(strings.Repeat("a line of text\n", 64))})
	in, w := io.Pipe()
	r, out := io.Pipe()
	go ServeStdio(b.Context(), s, in, out, StdioOptions{})
	line, buf := []byte(toolCall(1, "say")+"\n"), make([]byte, 64<<10)
	for b.Loop() {
		w.Write(line)
		r.Read(buf)
	}
	w.Close()
}
