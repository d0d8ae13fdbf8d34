package match_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/match"
)

// BenchmarkSearch counts lines in a text of some 8 MiB.
func BenchmarkSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	words := strings.Fields("func return the error context of a server where lines are found by what they contain 42 007 { } := if else for range")
	var text strings.Builder
	for text.Len() < 8<<20 {
		for range r.IntN(14) {
			text.WriteString(words[r.IntN(len(words))] + " ")
		}
		text.WriteString("\n")
	}
	data := text.String()
	for _, c := range []struct {
		name, expr string
		o          match.Options
	}{
		{"rare literal", "needle in hay", match.Options{}},
		{"common literal", "return", match.Options{}},
		{"folded literal", "Needle in Hay", match.Options{FoldCase: true}},
		{"literal within", `\w+ needle \d+`, match.Options{}},
		{"no literal", `[a-z]+[0-9][a-z]`, match.Options{}},
		{"over lines", `needle\s+[a-z]+`, match.Options{Multiline: true}},
		{"folded words", "context canceled", match.Options{FoldCase: true}},
		{"five words", `bytes\.Buffer|strings\.Builder|io\.Pipe|sync\.Once|atomic\.Bool`, match.Options{}},
		{"function", `\bfunc\s+\w+Handler\b`, match.Options{}},
		{"test file", `[A-Za-z]+_test\.go`, match.Options{}},
		{"three words", `\w{5}\s+\w{5}\s+\w{5}`, match.Options{}},
		{"script", `\p{Cyrillic}{3,}`, match.Options{}},
		{"number", `[0-9]{3}-[A-Z]{4}-[0-9]{3}`, match.Options{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := compile(b, c.expr, c.o)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				search(b, p, data, match.Want{CountOnly: true})
			}
		})
	}
}
