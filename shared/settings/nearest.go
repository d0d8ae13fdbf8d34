package settings

import (
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Nearest is the element of known that word was probably meant to be: the one
// that the fewest slips turn it into, when these are at most a third of its
// letters. Empty: none is near.
func Nearest(word string, known []string) string {
	return fault.Nearest(word, known, utf8.RuneCountInString(word)/3+1, nil)
}
