package edit

import (
	"iter"
	"strings"
)

// automaton finds a needle, which is not empty, in a stream, one element at a time, after
// Knuth, Morris and Pratt (1977): no input makes it slower than linear, which the search
// of the standard library, fast as it is, does not promise for long needles.
type automaton[E comparable] struct {
	needle []E
	back   []int32 // back[k]: the longest border of the first k elements
	steps  int     // comparisons so far: tests of its time count them
}

func newAutomaton[E comparable](needle []E) *automaton[E] {
	a := &automaton[E]{needle: needle, back: make([]int32, len(needle)+1)}
	for i := 1; i < len(needle); i++ {
		a.back[i+1] = a.step(a.back[i], needle[i])
	}
	return a
}

// step returns how many elements of the needle are matched after e when k, fewer than all,
// were matched before it.
func (a *automaton[E]) step(k int32, e E) int32 {
	for {
		a.steps++
		if a.needle[k] == e {
			return k + 1
		}
		if k == 0 {
			return 0
		}
		k = a.back[k]
	}
}

// matches yields where the needle begins in s, from left to right. Matches that share
// bytes with the one before count only where overlapping is set.
func matches(a *automaton[byte], s string, overlapping bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		all := int32(len(a.needle))
		k := int32(0)
		for i := 0; i < len(s); i++ {
			if k == 0 {
				skip := strings.IndexByte(s[i:], a.needle[0])
				if skip < 0 {
					return
				}
				i += skip
			}
			if k = a.step(k, s[i]); k < all {
				continue
			}
			if !yield(i + 1 - len(a.needle)) {
				return
			}
			k = 0
			if overlapping {
				k = a.back[all]
			}
		}
	}
}
