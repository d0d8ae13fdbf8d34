package edit

import (
	"iter"
	"strings"
)

// automaton finds a needle in a stream, one element at a time, after Knuth,
// Morris and Pratt (1977): no input makes it slower than linear, which the
// search of the standard library, fast as it is, does not promise for long
// needles.
type automaton[E comparable] struct {
	needle []E
	back   []int32 // back[k]: the longest border of the first k elements
	steps  int     // comparisons so far: what tests of its time look at
}

func newAutomaton[E comparable](needle []E) *automaton[E] {
	a := &automaton[E]{needle: needle, back: make([]int32, len(needle)+1)}
	for i := 1; i < len(needle); i++ {
		a.back[i+1] = a.step(a.back[i], needle[i])
	}
	return a
}

// step is how many elements of the needle are matched behind e when k, fewer
// than all, were matched before it.
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

// finder finds a text, which is not empty, in others.
type finder struct {
	needle string
	auto   *automaton[byte]
}

func newFinder(needle string) *finder { return &finder{needle: needle} }

// each is where the needle begins in s, from left to right. Matches that share
// bytes with the one before count only where overlapping is set.
func (f *finder) each(s string, overlapping bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(f.needle) > len(s) {
			return
		}
		if f.auto == nil {
			f.auto = newAutomaton([]byte(f.needle))
		}
		all := int32(len(f.needle))
		k := int32(0)
		for i := 0; i < len(s); i++ {
			if k == 0 {
				skip := strings.IndexByte(s[i:], f.needle[0])
				if skip < 0 {
					return
				}
				i += skip
			}
			if k = f.auto.step(k, s[i]); k < all {
				continue
			}
			if !yield(i + 1 - len(f.needle)) {
				return
			}
			k = 0
			if overlapping {
				k = f.auto.back[all]
			}
		}
	}
}
