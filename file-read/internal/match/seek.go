package match

import (
	"bytes"
	"slices"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
	"github.com/multiollama/mcp-server/file-read/internal/scan"
)

// seeker finds the places that a match cannot do without, many times faster
// than running the expression. One of its fields is set, or none where nothing
// rare is known.
type seeker struct {
	single *Literal   // by its three rarest bytes
	trio   *scan.Trio // which are these; nil where it is one byte
	many   *manyOf
	window *scan.Window // three bytes in a row that each are one of a set
}

// How rare something must be, in bits, for it to be worth looking for first.
const (
	rareLiteral = 9
	rareWindow  = 9
)

// seekerFor chooses what to look for. Literals that are matches need no rarity.
func seekerFor(literals []Literal, exact bool, prog *dfa.Program) seeker {
	if len(literals) > 0 && (exact || prog == nil || rarity(literals) >= rareLiteral) {
		return seekerOf(literals)
	}
	if prog == nil {
		return seeker{}
	}
	if w, bits := rarestWindow(prog.Prefix(maxPrefix)); bits >= rareWindow {
		return seeker{window: w}
	}
	return seeker{}
}

func seekerOf(literals []Literal) seeker {
	if len(literals) > 1 {
		return seeker{many: newManyOf(literals)}
	}
	l := &literals[0]
	if len(l.Text) == 1 && !l.Fold {
		return seeker{single: l}
	}
	return seeker{single: l, trio: trioOf(l)}
}

// trioOf are the three rarest bytes of a literal, which may have less.
func trioOf(l *Literal) *scan.Trio {
	byRank := make([]int, len(l.Text))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return l.rankOf(a) - l.rankOf(b) })
	t := new(scan.Trio)
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

// rarestWindow is the rarest three sets in a row of those that the bytes of a
// match are in.
func rarestWindow(sets []*[256]bool) (*scan.Window, float64) {
	best, bits := [3]*[256]bool{}, -1.0
	every := new([256]bool)
	for c := range every {
		every[c] = true
	}
	for i := range sets {
		w, sum := [3]*[256]bool{every, every, every}, 0.0
		for k := range min(3, len(sets)-i) {
			w[k] = sets[i+k]
			if bits := rarityOf(w[k]); k > 0 && *w[k] == *w[k-1] {
				sum += bits / 3 // digits come in numbers, letters in words
			} else {
				sum += bits
			}
		}
		if sum > bits {
			best, bits = w, sum
		}
	}
	if bits < 0 {
		return nil, bits
	}
	return scan.NewWindow(best), bits
}

// none says that there is nothing to look for.
func (s *seeker) none() bool { return s.single == nil && s.many == nil && s.window == nil }

// next is a place of the first match at or after from, or before it; or -1 where
// there is none. A literal is there; misses counts where it only seemed so.
func (s *seeker) next(b []byte, from int, misses *int) int {
	switch {
	case s.trio != nil:
		return s.nextSingle(b, from, misses)
	case s.many != nil:
		return s.many.next(b, from, misses)
	case s.window != nil:
		return s.window.Next(b, from)
	}
	if i := bytes.IndexByte(b[from:], s.single.Text[0]); i >= 0 {
		return from + i
	}
	return -1
}

func (s *seeker) nextSingle(b []byte, from int, misses *int) int {
	for {
		at := s.trio.Next(b, from)
		if at < 0 || at+len(s.single.Text) > len(b) {
			return -1
		}
		if s.single.at(b, at) {
			return at
		}
		*misses++
		from = at + 1
	}
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
	teddy  scan.Teddy
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
			group = i * 8 / len(literals) // neighbours often begin alike
		}
		c := cored{l, rarestCore(l)}
		m.groups[group] = append(m.groups[group], c)
		for k := range 3 {
			at := c.core + k
			if at >= len(l.Text) {
				m.teddy.Free(group, k)
				continue
			}
			m.teddy.Add(group, k, l.Text[at])
			if l.Fold && isLetter(rune(l.Text[at])) {
				m.teddy.Add(group, k, l.Text[at]-'a'+'A')
			}
		}
	}
	return m
}

func rarestCore(l Literal) int {
	best, least := 0, 1<<30
	for i := 0; i+3 <= len(l.Text); i++ {
		if r := l.rankOf(i) + l.rankOf(i+1) + l.rankOf(i+2); r < least {
			best, least = i, r
		}
	}
	return best
}

func (m *manyOf) next(b []byte, from int, misses *int) int {
	for at := from; ; at++ {
		var groups byte
		if at, groups = m.teddy.Next(b, at); at < 0 {
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
