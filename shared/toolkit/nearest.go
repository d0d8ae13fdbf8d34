package toolkit

import "strings"

// nearest is the known name that given was most likely meant to be, or "" when
// none is close: models write filePath for path and max_result for max_results.
func nearest(given string, known []string) string {
	if len(given) > 128 {
		return ""
	}
	word := plain(given)
	best, distance := "", len(word)/3+2
	for _, k := range known {
		if d := edits(word, plain(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return containing(word, known)
	}
	return best
}

// plain takes away what spellings of one name differ in.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}

// containing is the longest known name that word holds, or that holds word.
func containing(word string, known []string) string {
	best := ""
	for _, k := range known {
		p := plain(k)
		if len(word) > 2 && len(k) > len(best) && (strings.Contains(word, p) || strings.Contains(p, word)) {
			best = k
		}
	}
	return best
}

// edits is the number of bytes to insert, delete, replace or swap with their
// neighbour to get from a to b.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
