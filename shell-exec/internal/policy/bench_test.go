package policy_test

import (
	"strings"
	"testing"
)

func BenchmarkEverydayCommands(b *testing.B) {
	p := preset(b, "development")
	lines := corpus(b, "development.tsv", 0, 1, 2)
	for i := 0; b.Loop(); i++ {
		p.Judge(script(lines[i%len(lines)].text))
	}
}

func BenchmarkAScriptOf100KB(b *testing.B) {
	p := preset(b, "development")
	text := longScript(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.Judge(script(text))
	}
}

// longScript is everyday commands, again and again, to 100 KB. They do not depend on each other.
func longScript(t testing.TB) string {
	var s strings.Builder
	for s.Len() < 100<<10 {
		for _, l := range corpus(t, "development.tsv", 0, 1, 2) {
			if l.expected == "allow" && strings.Contains("git go npm cargo grep find sed awk curl", l.class) && !strings.Contains(l.text, "cd ") {
				s.WriteString(l.text + "\n")
			}
		}
	}
	text := s.String()
	return text[:strings.LastIndexByte(text[:100<<10], '\n')]
}
