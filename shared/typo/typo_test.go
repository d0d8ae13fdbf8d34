package typo_test

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/typo"
)

func TestDistances(t *testing.T) {
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
		if got := typo.Distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("%s: %q and %q are %d apart, want %d", c.what, c.a, c.b, got, c.want)
		}
		if got := typo.Distance(c.b, c.a, c.limit); got != c.want {
			t.Errorf("%s, the other way: %d", c.what, got)
		}
	}
}
