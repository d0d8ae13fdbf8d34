package fault_test

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestTheNearestWordIsFewSlipsAway(t *testing.T) {
	for _, c := range []struct {
		what, a, b string
		limit      int
		want       int
	}{
		{"the same word", "path", "path", 9, 0},
		{"a letter more", "path", "paths", 9, 1},
		{"a letter less", "path", "pat", 9, 1},
		{"another letter", "path", "bath", 9, 1},
		{"neighbours swapped are one slip", "path", "paht", 9, 1},
		{"two pairs swapped are two", "abcd", "badc", 9, 2},
		{"slips of several kinds add up", "kitten", "sitting", 9, 3},
		{"nothing and something", "", "abc", 9, 3},
		{"characters are counted, not bytes", "日本語", "日本", 9, 1},
		{"no more than the limit is told", "abcdef", "uvwxyz", 3, 3},
		{"lengths too far apart are not compared", "a", "abcdefgh", 4, 4},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if pair[1] == "" {
				continue // no word is ever meant to be that
			}
			near := fault.Nearest(pair[0], []string{pair[1]}, min(c.limit, c.want+1), nil) != ""
			nearer := fault.Nearest(pair[0], []string{pair[1]}, c.want, nil) != ""
			if near != (c.want < c.limit) || nearer {
				t.Errorf("%s: %q is not %d slips away from %q", c.what, pair[0], c.want, pair[1])
			}
		}
	}
	known := []string{"max_results", "path", "paths"}
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for word, want := range map[string]string{"MaxResult": "max_results", "pahts": "paths", "path": "path", "other": ""} {
		if got := fault.Nearest(word, known, 3, fold); got != want {
			t.Errorf("%q was taken for %q, want %q", word, got, want)
		}
	}
}
