package match

import (
	"bytes"
	"slices"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
)

// seeker finds the places that a match cannot do without, many times faster
// than running the expression. One of its fields is set, or none where nothing
// rare is known.
type seeker struct {
	single *Literal // by its three rarest bytes
	trio   *trio    // which are these; nil where it is one byte
	many   *manyOf
	window *byteWindow // three bytes in a row that each are one of a set
}

// How rare something must be, in bits, for it to be worth looking for first.
const (
	rareLiteral = 9
	rareWindow  = 9
)

// seekerFor chooses what to look for. Literals that are matches need no rarity.
func seekerFor(literals []Literal, exact bool, prog *dfa.Program) seeker {
	if len(literals) > 0 && (exact || prog == nil || rarity(literals) >= rareLiteral) {
		l := &literals[0]
		switch {
		case len(literals) > 1:
			return seeker{many: newManyOf(literals)}
		case len(l.Text) == 1 && !l.Fold:
			return seeker{single: l}
		}
		return seeker{single: l, trio: trioOf(l)}
	}
	if prog == nil {
		return seeker{}
	}

	// The rarest three sets in a row of those that the first bytes of a match are in.
	var rarest [3]*[256]bool
	most := -1.0
	every := new([256]bool)
	for c := range every {
		every[c] = true
	}
	sets := prog.Prefix(maxPrefix)
	for i := range sets {
		w, sum := [3]*[256]bool{every, every, every}, 0.0
		for k := range min(3, len(sets)-i) {
			w[k] = sets[i+k]
			if bits := byteRarity(w[k]); k > 0 && *w[k] == *w[k-1] {
				sum += bits / 3 // digits come in numbers, letters in words
			} else {
				sum += bits
			}
		}
		if sum > most {
			rarest, most = w, sum
		}
	}
	if most < rareWindow {
		return seeker{}
	}
	return seeker{window: newByteWindow(rarest)}
}

// trioOf is the three rarest bytes of a literal, which may be shorter.
func trioOf(l *Literal) *trio {
	byRank := make([]int, len(l.Text))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return l.rankOf(a) - l.rankOf(b) })
	t := new(trio)
	for i := range t.At {
		at := byRank[i%len(byRank)]
		t.At[i], t.Byte[i] = at, l.Text[at]
		if l.Fold && isLetter(rune(l.Text[at])) {
			t.Either[i] = 0x20
		}
	}
	return t
}

// maxPrefix is how far into a match its bytes are looked at.
const maxPrefix = 16

// none says that there is nothing to look for.
func (s *seeker) none() bool { return s.single == nil && s.many == nil && s.window == nil }

// next is a place of the first match at or after from, or before it; or -1 if there is
// none. A literal is at that place; misses counts the places that only looked like one.
func (s *seeker) next(b []byte, from int, misses *int) int {
	switch {
	case s.trio != nil:
		for {
			at := s.trio.next(b, from)
			if at < 0 || at+len(s.single.Text) > len(b) {
				return -1
			}
			if s.single.at(b, at) {
				return at
			}
			*misses++
			from = at + 1
		}
	case s.many != nil:
		return s.many.next(b, from, misses)
	case s.window != nil:
		return s.window.next(b, from)
	}
	if i := bytes.IndexByte(b[from:], s.single.Text[0]); i >= 0 {
		return from + i
	}
	return -1
}

// at says that the literal stands at a place.
func (l *Literal) at(b []byte, at int) bool {
	if at < 0 || len(b)-at < len(l.Text) {
		return false
	}
	b = b[at : at+len(l.Text)]
	if !l.Fold {
		return string(b) == string(l.Text)
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != l.Text[i] {
			return false
		}
	}
	return true
}

// manyOf looks for several literals by three bytes of each, its core.
type manyOf struct {
	teddy  teddy
	groups [8][]cored
}

type cored struct {
	Literal
	core int // where in the literal its three bytes begin
}

func newManyOf(literals []Literal) *manyOf {
	m := new(manyOf)
	for i, l := range literals {
		group := i % 8
		if len(literals) > 8 {
			group = i * 8 / len(literals) // neighbors often begin alike
		}
		core, least := 0, 1<<30 // the rarest three bytes in a row
		for i := 0; i+3 <= len(l.Text); i++ {
			if r := l.rankOf(i) + l.rankOf(i+1) + l.rankOf(i+2); r < least {
				core, least = i, r
			}
		}
		m.groups[group] = append(m.groups[group], cored{l, core})
		for k := range 3 {
			at := core + k
			if at >= len(l.Text) {
				m.teddy.free(group, k)
				continue
			}
			m.teddy.add(group, k, l.Text[at])
			if l.Fold && isLetter(rune(l.Text[at])) {
				m.teddy.add(group, k, l.Text[at]-'a'+'A')
			}
		}
	}
	return m
}

func (m *manyOf) next(b []byte, from int, misses *int) int {
	for at := from; ; at++ {
		var groups byte
		if at, groups = m.teddy.next(b, at); at < 0 {
			return -1
		}
		for g := range m.groups {
			if groups>>g&1 == 0 {
				continue
			}
			for i := range m.groups[g] {
				if l := &m.groups[g][i]; at-l.core >= from && l.at(b, at-l.core) {
					return at - l.core
				}
			}
		}
		*misses++
	}
}
