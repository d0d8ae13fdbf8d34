package diff

// MostLines is the bound that a test of a large input goes beyond.
const MostLines = maxLines

// WorkLeft compares two texts and gives what is left of the work that one search
// may take; below zero by what the last run of lines in common took too much.
func WorkLeft(old, new string) int {
	c := newComparison(split(old), split(new))
	c.run()
	return c.work
}
