//go:build !race

package match_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/match"
)

// The race detector has pools forget at random.

func TestASmallFileWithoutAHitCostsNoMemory(t *testing.T) {
	r := strings.NewReader("")
	for _, expr := range []string{"needle", "(?i)needle", "needle|thread", `\p{Cyrillic}{3}`, `\w{5}\s+\w{5}\s+\w{9}`} {
		p := compile(t, expr, match.Options{})
		text := strings.Repeat("a line of text, with some words\r\n", 100)
		n := testing.AllocsPerRun(100, func() {
			r.Reset(text)
			if res, err := p.Search(t.Context(), r, match.Want{}); err != nil || res.Lines != 0 {
				t.Fatal(res, err)
			}
		})
		if n >= 1 {
			t.Errorf("%q: %v allocations", expr, n)
		}
	}
}

func TestAPatternUsesTheBuffersOfOthers(t *testing.T) {
	var shared match.Buffers
	searched := func(o match.Options) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		search(t, compile(t, "needle", o), "text\n", match.Want{})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	first := searched(match.Options{Buffers: &shared})
	if again := searched(match.Options{Buffers: &shared}); again > first/2 {
		t.Errorf("the first search took %d bytes, and the next pattern %d", first, again)
	}
}
