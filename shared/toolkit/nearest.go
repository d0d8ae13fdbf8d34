package toolkit

import (
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// nearest is the known name that given was most likely meant to be, or "" when
// none is close: models write filePath for path and max_result for max_results.
func nearest(given string, known []string) string {
	if len(given) > 128 {
		return ""
	}
	word := plain(given)
	if best := fault.Nearest(given, known, len(word)/3+2, plain); best != "" {
		return best
	}

	// Else the longest known name that word holds, or that holds word.
	best := ""
	for _, k := range known {
		p := plain(k)
		if len(word) > 2 && len(k) > len(best) && (strings.Contains(word, p) || strings.Contains(p, word)) {
			best = k
		}
	}
	return best
}

// plain takes away what spellings of one name differ in.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}
