// Package typo measures how far a word is from the one that was probably meant.
//
// It refuses to decide: which words are known, and how near is near enough, is
// for those who suggest something.
package typo

// Distance counts the characters to insert, delete, replace or swap with their
// neighbour to get from a to b (optimal string alignment distance). limit or more
// is limit; words whose lengths differ by as much are not compared. The time is
// the product of their lengths, which the caller bounds.
func Distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) >= limit {
		return limit
	}
	before, above, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+differ(x[i], y[j]))
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return min(above[len(y)], limit)
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
