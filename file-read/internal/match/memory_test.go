//go:build !race

package match_test

import (
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
