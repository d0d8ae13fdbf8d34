package match

import (
	"bytes"
	"math"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Literal is text, one byte of it at least.
type Literal struct {
	Text []byte
	Fold bool // ASCII letters of Text, which are lower case, match both cases
}

// Required are literals one of which stands in the lines of every match, as
// UTF-8; nil says that nothing is known.
func (p *Pattern) Required() []Literal {
	for _, l := range p.literals {
		if bytes.IndexByte(l.Text, '\n') >= 0 {
			return nil // in the file it may be CRLF
		}
	}
	return p.literals
}

// What is kept of an expression. More literals than maxSet, or of a class more
// than maxClass, say little and cost much.
const (
	maxSet   = 64
	maxClass = 8
)

// facts are what is known of the matches of a part of an expression.
type facts struct {
	all  []Literal // with ends, they are the only texts it matches; some may be empty
	ends bool
	bare bool      // and it matches them wherever they are
	some []Literal // every match contains one of them; nil says nothing
}

// solid reports whether there are texts and none of them is empty.
func solid(set []Literal) bool {
	return len(set) > 0 && !slices.ContainsFunc(set, func(l Literal) bool { return len(l.Text) == 0 })
}

func (f facts) rarest() []Literal {
	if f.ends && solid(f.all) {
		return rarer(f.all, f.some)
	}
	return f.some
}

func rarer(a, b []Literal) []Literal {
	if rarity(a) >= rarity(b) {
		return a
	}
	return b
}

func factsOf(re *syntax.Regexp) facts {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return facts{all: []Literal{{}}, ends: true, bare: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return facts{all: []Literal{{}}, ends: true}
	case syntax.OpLiteral:
		j := newJoiner()
		for _, r := range re.Rune {
			switch {
			case r == utf8.RuneError: // also matches bytes that are not UTF-8
				j.add(facts{})
			case re.Flags&syntax.FoldCase != 0:
				j.add(facts{all: cases(r), ends: true, bare: true})
			default:
				j.add(facts{all: []Literal{{Text: utf8.AppendRune(nil, r)}}, ends: true, bare: true})
			}
		}
		return j.facts()
	case syntax.OpCharClass:
		var set []Literal
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if len(set) == maxClass || r == utf8.RuneError {
					return facts{}
				}
				set = append(set, Literal{Text: utf8.AppendRune(nil, r)})
			}
		}
		return facts{all: set, ends: len(set) > 0, bare: true}
	case syntax.OpConcat:
		return joined(re.Sub)
	case syntax.OpAlternate:
		return either(re.Sub)
	case syntax.OpQuest:
		return either([]*syntax.Regexp{re.Sub[0], {Op: syntax.OpEmptyMatch}})
	case syntax.OpPlus, syntax.OpRepeat:
		return joined([]*syntax.Regexp{re})
	}
	return facts{}
}

// cases are the spellings of a rune in all of its cases.
func cases(r rune) []Literal {
	var set []Literal
	for f := unicode.SimpleFold(r); ; f = unicode.SimpleFold(f) {
		switch {
		case 'A' <= f && f <= 'Z':
		case f < utf8.RuneSelf:
			set = append(set, Literal{[]byte{byte(f)}, true})
		default:
			set = append(set, Literal{utf8.AppendRune(nil, f), true})
		}
		if f == r {
			return set
		}
	}
}

// either is what is known where one of several parts matches.
func either(subs []*syntax.Regexp) facts {
	f := facts{ends: true, bare: true}
	known := true
	for _, sub := range subs {
		s := factsOf(sub)
		f.all, f.ends, f.bare = append(f.all, s.all...), f.ends && s.ends, f.bare && s.bare
		rarest := s.rarest()
		f.some, known = append(f.some, rarest...), known && rarest != nil
	}
	if !f.ends || len(f.all) > maxSet {
		f.all, f.ends = nil, false
	}
	if !known || len(f.some) > maxSet {
		f.some = nil
	}
	return f
}

// joined is what is known of parts one after the other.
func joined(subs []*syntax.Regexp) facts {
	j := newJoiner()
	for _, sub := range subs {
		switch sub.Op {
		case syntax.OpPlus:
			j.repeat(factsOf(sub.Sub[0]), 1, false)
		case syntax.OpRepeat:
			j.repeat(factsOf(sub.Sub[0]), sub.Min, sub.Min == sub.Max)
		default:
			j.add(factsOf(sub))
		}
	}
	return j.facts()
}

// joiner takes parts one after the other. It knows all texts of the parts since the last
// one whose texts are not known.
type joiner struct {
	run  facts
	some []Literal // the rarest so far
	cut  bool      // the run is not all of it
}

func newJoiner() *joiner { return &joiner{run: facts{all: []Literal{{}}, ends: true, bare: true}} }

func (j *joiner) add(f facts) {
	if len(f.all) > 1 || len(j.run.all) > 1 {
		j.some = rarer(j.some, rarer(j.run.rarest(), f.rarest())) // one text may be worth more than many that are longer
	}
	if next, ok := product(j.run.all, f.all); ok && f.ends {
		j.run.all, j.run.bare = next, j.run.bare && f.bare
		j.some = rarer(j.some, f.some)
		return
	}
	j.some = rarer(j.some, rarer(j.run.rarest(), f.rarest()))
	j.cut = true
	j.run = facts{all: []Literal{{}}, ends: true, bare: true}
	if f.ends {
		j.run.all = f.all
	}
}

// repeat adds a part that is repeated at least so often, or exactly so often.
func (j *joiner) repeat(f facts, least int, exactly bool) {
	const often = 8
	for range min(least, often) {
		j.add(f)
	}
	if exactly && least <= often {
		return
	}
	j.add(facts{})
	if least > 0 {
		j.add(f)
	}
}

func (j *joiner) facts() facts {
	if j.cut {
		return facts{some: rarer(j.some, j.run.rarest())}
	}
	j.run.some = j.some
	return j.run
}

// product is every text of a before every text of b, if they are few enough and
// mind case alike.
func product(a, b []Literal) ([]Literal, bool) {
	if len(a)*len(b) > maxSet {
		return nil, false
	}
	set := make([]Literal, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if x.Fold != y.Fold && hasLetter(x.Text) && hasLetter(y.Text) {
				return nil, false
			}
			text := append(bytes.Clone(x.Text), y.Text...)
			set = append(set, Literal{text, x.Fold && hasLetter(x.Text) || y.Fold && hasLetter(y.Text)})
		}
	}
	return set, true
}

func hasLetter(text []byte) bool { return bytes.ContainsFunc(text, isLetter) }

func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

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

// byteRarity is about how many bits of luck it takes to meet a byte of a set.
func byteRarity(set *[256]bool) float64 {
	var chance float64
	for c, in := range set {
		if in {
			chance += math.Exp2((float64(rank[c]) - 254) / 16)
		}
	}
	return -math.Log2(min(chance, 1))
}
