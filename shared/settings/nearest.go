package settings

import (
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/typo"
)

// Nearest is the element of known that word was probably meant to be: the one
// that the fewest slips turn it into, when these are at most a third of its
// letters. Empty: none is near.
func Nearest(word string, known []string) string {
	best, least := "", utf8.RuneCountInString(word)/3+1
	for _, candidate := range known {
		if d := typo.Distance(word, candidate, least); d < least {
			best, least = candidate, d
		}
	}
	return best
}
