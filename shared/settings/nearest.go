package settings

// Nearest is the element of known that word was probably meant to be: the one
// that the fewest edits turn it into, when these are at most a third of its
// letters. Empty: none is near.
func Nearest(word string, known []string) string {
	best, least := "", len([]rune(word))/3+1
	for _, candidate := range known {
		if d := edits([]rune(word), []rune(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b.
func edits(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
