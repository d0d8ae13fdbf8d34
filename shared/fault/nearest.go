package fault

// Nearest is the element of known that word was probably meant to be: the one that
// fewer than limit slips of the hand turn it into, the first where several need as few.
// "" where none is near. fold takes away what words may differ in without a slip; nil
// takes away nothing. The time is the product of the lengths, which the caller bounds.
func Nearest(word string, known []string, limit int, fold func(string) string) string {
	if fold == nil {
		fold = func(s string) string { return s }
	}
	best, wanted := "", []rune(fold(word))
	for _, k := range known {
		if n := slips(wanted, []rune(fold(k)), limit); n < limit {
			best, limit = k, n
		}
	}
	return best
}

// slips counts the characters to insert, delete, replace or swap with their neighbour to
// get from x to y (optimal string alignment distance). limit or more is limit; words
// whose lengths differ by as much are not compared.
func slips(x, y []rune, limit int) int {
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
			differ := 1
			if x[i] == y[j] {
				differ = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+differ)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return min(above[len(y)], limit)
}
