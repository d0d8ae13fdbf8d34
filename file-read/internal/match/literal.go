package match

import (
	"bytes"
	"regexp/syntax"
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

// required are the rarest literals one of which stands in every match, and
// whether each of them is a match.
func required(re *syntax.Regexp) (some []Literal, exact bool) {
	f := factsOf(re)
	if f.ends && f.bare && solid(f.all) {
		return f.all, true
	}
	return f.rarest(), false
}

// solid says that none of the texts is empty.
func solid(set []Literal) bool {
	for _, l := range set {
		if len(l.Text) == 0 {
			return false
		}
	}
	return len(set) > 0
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
		return spelled(re)
	case syntax.OpCharClass:
		return ofClass(re.Rune)
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

// spelled is what is known of a literal. U+FFFD stands for bytes that are not
// UTF-8 too, so nothing is known of it.
func spelled(re *syntax.Regexp) facts {
	if re.Flags&syntax.FoldCase == 0 {
		return within(re.Rune, func(r rune) []Literal { return []Literal{{Text: utf8.AppendRune(nil, r)}} })
	}
	return within(re.Rune, cases)
}

// within joins what is known of each rune of a literal.
func within(runes []rune, of func(rune) []Literal) facts {
	var j joiner
	j.begin()
	for _, r := range runes {
		if r == utf8.RuneError {
			j.part(facts{})
			continue
		}
		j.part(facts{all: of(r), ends: true, bare: true})
	}
	return j.end()
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

func ofClass(ranges []rune) facts {
	var set []Literal
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(set) == maxClass || r == utf8.RuneError {
				return facts{}
			}
			set = append(set, Literal{Text: utf8.AppendRune(nil, r)})
		}
	}
	return facts{all: set, ends: len(set) > 0, bare: true}
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
	var j joiner
	j.begin()
	for _, sub := range subs {
		switch sub.Op {
		case syntax.OpPlus:
			j.repeat(factsOf(sub.Sub[0]), 1, false)
		case syntax.OpRepeat:
			j.repeat(factsOf(sub.Sub[0]), sub.Min, sub.Min == sub.Max)
		default:
			j.part(factsOf(sub))
		}
	}
	return j.end()
}

// joiner takes in parts one after the other. It knows all of the texts of the
// parts since it last met one of which it does not.
type joiner struct {
	run  facts
	some []Literal // the rarest so far
	cut  bool      // the run is not all of it
}

func (j *joiner) begin() { j.run = facts{all: []Literal{{}}, ends: true, bare: true} }

func (j *joiner) part(f facts) {
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
	j.begin()
	if f.ends {
		j.run.all = f.all
	}
}

// repeat takes in a part that stands there at least so often, or so many
// times exactly.
func (j *joiner) repeat(f facts, least int, exactly bool) {
	const often = 8
	for range min(least, often) {
		j.part(f)
	}
	if exactly && least <= often {
		return
	}
	j.part(facts{})
	if least > 0 {
		j.part(f)
	}
}

func (j *joiner) end() facts {
	if !j.cut {
		f := j.run
		f.some = j.some
		return f
	}
	return facts{some: rarer(j.some, j.run.rarest())}
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
