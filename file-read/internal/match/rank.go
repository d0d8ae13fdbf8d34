package match

import "math"

// rank is how often each byte stands in source code and prose, in sixteenths of
// a power of two: two bytes are sixteen apart where one is twice as common.
// Counted over the sources of Go and its documents.
var rank = [256]uint8{
	0, 0, 0, 0, 0, 0, 0, 0, 0, 158, 170, 0, 0, 35, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	211, 88, 140, 113, 82, 77, 95, 115, 148, 148, 141, 93, 165, 135, 152, 151,
	150, 139, 133, 121, 122, 114, 121, 106, 116, 109, 135, 135, 105, 136, 106, 79,
	79, 170, 126, 153, 130, 149, 126, 125, 110, 143, 79, 111, 133, 133, 136, 137,
	134, 100, 135, 149, 142, 120, 115, 101, 105, 101, 88, 112, 120, 111, 51, 162,
	103, 175, 140, 164, 162, 189, 156, 148, 150, 176, 99, 129, 163, 153, 178, 173,
	157, 95, 176, 175, 183, 157, 134, 126, 141, 140, 102, 128, 99, 128, 28, 0,
	62, 36, 44, 31, 18, 26, 21, 38, 26, 18, 18, 20, 25, 53, 19, 60,
	17, 36, 23, 17, 35, 27, 19, 22, 22, 50, 27, 20, 24, 20, 13, 76,
	13, 16, 11, 16, 47, 26, 29, 32, 29, 27, 28, 18, 17, 16, 42, 29,
	29, 24, 21, 21, 20, 27, 15, 48, 44, 27, 19, 29, 35, 33, 37, 31,
	0, 0, 44, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0,
	44, 21, 0, 0, 0, 0, 0, 11, 20, 17, 0, 0, 0, 0, 0, 0,
	58, 0, 67, 36, 9, 51, 51, 48, 48, 45, 0, 0, 0, 0, 0, 31,
	74, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
}

// share is the part of all bytes that are c.
func share(c byte) float64 { return math.Exp2((float64(rank[c]) - 254) / 16) }

// rankOf is the rank of a byte of a literal.
func (l Literal) rankOf(i int) int {
	c := l.Text[i]
	if l.Fold && isLetter(rune(c)) {
		return 4 + int(max(rank[c], rank[c-'a'+'A']))
	}
	return int(rank[c])
}

// rarity is about how many bits of luck it takes to meet one of the literals at
// a place, less what it costs to look for several; less than none for a set that
// says nothing.
func rarity(set []Literal) float64 {
	const several = 3
	if len(set) == 0 {
		return -1
	}
	var chance float64
	for _, l := range set {
		bits := 0
		for i := range l.Text {
			bits += 254 - l.rankOf(i)
		}
		chance += math.Exp2(-float64(bits) / 16)
	}
	if len(set) > 1 {
		return -math.Log2(chance) - several
	}
	return -math.Log2(chance)
}

// rarityOf is about how many bits of luck it takes to meet a byte of a set.
func rarityOf(set *[256]bool) float64 {
	var chance float64
	for c, in := range set {
		if in {
			chance += share(byte(c))
		}
	}
	return -math.Log2(min(chance, 1))
}
