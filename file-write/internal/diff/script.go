package diff

import (
	"slices"
	"sort"
)

// comparison is the search for the fewest changed lines. Lines are numbers: the same
// line, the same number.
type comparison struct {
	a, b        []int32
	gone, fresh []bool // lines that only one of the texts has; the others come in the same order in both
	work        int    // steps that may still be taken to look for the shortest way
}

// The bounds of the search. maxDepth is how many changes one piece may have for
// the shortest way to be looked for, which takes maxDepth² numbers of memory.
const (
	maxDepth = 1000
	maxWork  = 20_000_000
)

func newComparison(old, new []string) *comparison {
	numbers := make(map[string]int32, len(old))
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, line := range lines {
			n, known := numbers[line]
			if !known {
				n = int32(len(numbers))
				numbers[line] = n
			}
			out[i] = n
		}
		return out
	}
	return &comparison{a: number(old), b: number(new), gone: make([]bool, len(old)), fresh: make([]bool, len(new)), work: maxWork}
}

// run looks for the shortest way through everything. If that takes too much, it looks
// between anchors, lines that are once in either text and come in the same order, with as
// much work again for all of them together: what is far apart is compared apart.
func (c *comparison) run() {
	whole := block{0, len(c.a), 0, len(c.b)}
	if c.shortest(whole) {
		return
	}
	c.work = maxWork
	whole = c.trimmed(whole)
	for _, at := range rising(c.unique(whole)) {
		c.piece(block{whole.a, at[0], whole.b, at[1]})
		whole.a, whole.b = at[0]+1, at[1]+1
	}
	c.piece(whole)
}

func (c *comparison) piece(k block) {
	if !c.shortest(k) {
		c.replaced(k)
	}
}

// block is lines a to aEnd of the old text against b to bEnd of the new.
type block struct{ a, aEnd, b, bEnd int }

// trimmed is a block without the lines it begins and ends with in common.
func (c *comparison) trimmed(k block) block {
	for k.a < k.aEnd && k.b < k.bEnd && c.a[k.a] == c.b[k.b] {
		k.a, k.b = k.a+1, k.b+1
	}
	for k.a < k.aEnd && k.b < k.bEnd && c.a[k.aEnd-1] == c.b[k.bEnd-1] {
		k.aEnd, k.bEnd = k.aEnd-1, k.bEnd-1
	}
	return k
}

// replaced marks a block as replaced whole.
func (c *comparison) replaced(k block) {
	k = c.trimmed(k)
	for i := k.a; i < k.aEnd; i++ {
		c.gone[i] = true
	}
	for j := k.b; j < k.bEnd; j++ {
		c.fresh[j] = true
	}
}

// shortest marks the fewest lines, after Myers, An O(ND) Difference Algorithm
// and Its Variations (1986), or nothing where that would take too much.
func (c *comparison) shortest(k block) bool {
	k = c.trimmed(k)
	n, m := k.aEnd-k.a, k.bEnd-k.b
	if n == 0 || m == 0 {
		c.replaced(k)
		return true
	}
	limit := min(maxDepth, n+m)
	reach := make([]int32, 2*limit+3) // by diagonal: how far into a
	var trace [][]int32               // reach before each round, as far as it was used
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(reach[limit+1-d:limit+2+d]))
		for diagonal := -d; diagonal <= d; diagonal += 2 {
			x := start(reach, limit+1, d, diagonal)
			y := x - diagonal
			for x < n && y < m && c.a[k.a+x] == c.b[k.b+y] {
				x, y = x+1, y+1
				c.work--
			}
			if c.work--; c.work < 0 {
				return false
			}
			reach[limit+1+diagonal] = int32(x)
			if x >= n && y >= m {
				c.mark(k, trace, n, m)
				return true
			}
		}
	}
	return false
}

// start is how far into a the d-th change on a diagonal begins; reach has
// diagonal 0 at middle.
func start(reach []int32, middle, d, diagonal int) int {
	if d == 0 {
		return 0
	}
	below, above := reach[middle+diagonal-1], reach[middle+diagonal+1]
	if diagonal == -d || diagonal != d && below < above {
		return int(above)
	}
	return int(below) + 1
}

// mark goes the way back from the ends of the block.
func (c *comparison) mark(k block, trace [][]int32, x, y int) {
	for d := len(trace) - 1; d > 0; d-- {
		reach, diagonal := trace[d], x-y
		from := diagonal - 1
		if diagonal == -d || diagonal != d && reach[d+diagonal-1] < reach[d+diagonal+1] {
			from = diagonal + 1
		}
		x = int(reach[d+from])
		if y = x - from; from < diagonal {
			c.gone[k.a+x] = true
		} else {
			c.fresh[k.b+y] = true
		}
	}
}

// unique is the places of lines that a block has once in either text, in the
// order of the old one.
func (c *comparison) unique(k block) [][2]int {
	type sight struct{ inA, inB, b int }
	seen := map[int32]sight{}
	for _, line := range c.a[k.a:k.aEnd] {
		s := seen[line]
		s.inA++
		seen[line] = s
	}
	for j := k.b; j < k.bEnd; j++ {
		s := seen[c.b[j]]
		s.inB, s.b = s.inB+1, j
		seen[c.b[j]] = s
	}
	var out [][2]int
	for i := k.a; i < k.aEnd; i++ {
		if s := seen[c.a[i]]; s.inA == 1 && s.inB == 1 {
			out = append(out, [2]int{i, s.b})
		}
	}
	return out
}

// rising is a longest selection of places that rise in the new text too, by
// patience sorting.
func rising(places [][2]int) [][2]int {
	var tops []int // by length: the place that ends the lowest selection
	before := make([]int, len(places))
	for i, p := range places {
		pile := sort.Search(len(tops), func(t int) bool { return places[tops[t]][1] >= p[1] })
		before[i] = -1
		if pile > 0 {
			before[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	var out [][2]int
	if len(tops) > 0 {
		for i := tops[len(tops)-1]; i >= 0; i = before[i] {
			out = append(out, places[i])
		}
	}
	slices.Reverse(out)
	return out
}

// hunkEnd is where a hunk that begins with the change at i and j ends, context
// included: before a run of lines in common that is longer than two contexts.
func (c *comparison) hunkEnd(i, j, context int) (int, int) {
	for {
		for i < len(c.a) && c.gone[i] {
			i++
		}
		for j < len(c.b) && c.fresh[j] {
			j++
		}
		n := 0
		for i+n < len(c.a) && j+n < len(c.b) && !c.gone[i+n] && !c.fresh[j+n] {
			n++
		}
		if n > 2*context || i+n == len(c.a) && j+n == len(c.b) {
			return i + min(n, context), j + min(n, context)
		}
		i, j = i+n, j+n
	}
}
