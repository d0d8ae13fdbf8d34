// Package dfa tells which lines of a text match an expression, at one table
// lookup per byte.
//
// It refuses to say where in a line a match is, to look over the end of a line,
// and to grow without bound: a [Machine] makes its states while it meets them,
// forgets them when they become many, and gives up where making them costs more
// than it buys. It starts from nothing but memory and starts no goroutines.
//
// Expressions are over characters, a machine is over bytes: every class becomes
// the sequences of bytes that spell its characters in UTF-8.
package dfa

import (
	"regexp/syntax"
	"slices"
	"unicode"
)

// A Program is an expression as instructions over bytes. Any number of machines
// may run it at once.
type Program struct {
	inst  []inst
	start int32
	wide  bool // a match may be told where there is none: see Approximate

	class   [256]uint8 // bytes that no instruction tells apart are one class
	sample  []byte     // a byte of each class
	newline uint8      // the class of the line feed
}

type op uint8

const (
	opFail  op = iota
	opByte     // a byte from lo to hi, then out
	opFork     // out or other
	opEmpty    // nothing, where empty holds, then out
	opMatch
)

type inst struct {
	op         op
	lo, hi     byte
	empty      syntax.EmptyOp
	out, other int32
}

// maxInstructions bounds what a program holds and what a step may cost.
const maxInstructions = 20_000

// Compile makes a program of an expression that matches within a line: no part
// of it matches a line feed, and the text's begin and end are the line's. It is
// nil where the program would be too large.
func Compile(tree *syntax.Regexp) *Program {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	c := compiler{p: &Program{inst: make([]inst, len(prog.Inst)), start: int32(prog.Start)}, known: map[inst]int32{}}
	for i := range prog.Inst {
		c.p.inst[i] = c.translate(&prog.Inst[i])
		if len(c.p.inst) > maxInstructions {
			return nil
		}
	}

	// Bytes that no instruction tells apart are one class.
	p := c.p
	var border [257]bool // a class begins here
	mark := func(lo, hi byte) { border[lo], border[int(hi)+1] = true, true }
	border[0] = true
	mark('\n', '\n')
	for _, in := range p.inst {
		switch {
		case in.op == opByte:
			mark(in.lo, in.hi)
		case in.op == opEmpty && in.empty&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0:
			mark('0', '9')
			mark('A', 'Z')
			mark('_', '_')
			mark('a', 'z')
		}
	}
	for b := range 256 {
		if border[b] {
			p.sample = append(p.sample, byte(b))
		}
		p.class[b] = uint8(len(p.sample) - 1)
	}
	p.newline = p.class['\n']
	return p
}

// Approximate says that a line with bytes that are not ASCII may be told though
// it does not match: invalid bytes stand for U+FFFD one by one, which a machine
// does not tell from parts of characters, and neither what lies between two
// characters from what lies within one. Other lines are told exactly, and no
// line that matches is left out.
func (p *Program) Approximate() bool { return p.wide }

type compiler struct {
	p     *Program
	known map[inst]int32
}

func (c *compiler) translate(in *syntax.Inst) inst {
	out := int32(in.Out)
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return inst{op: opFork, out: out, other: int32(in.Arg)}
	case syntax.InstCapture, syntax.InstNop:
		return inst{op: opEmpty, out: out}
	case syntax.InstEmptyWidth:
		empty := syntax.EmptyOp(in.Arg)
		c.p.wide = c.p.wide || empty&syntax.EmptyNoWordBoundary != 0
		return inst{op: opEmpty, empty: empty, out: out}
	case syntax.InstMatch:
		return inst{op: opMatch}
	case syntax.InstRune1, syntax.InstRune:
		return c.oneOf(c.spellings(ranges(in), out))
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return c.oneOf(c.spellings([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, out))
	}
	return inst{op: opFail}
}

// ranges are the characters of an instruction, first and last by turns.
func ranges(in *syntax.Inst) []rune {
	if len(in.Rune) != 1 {
		return in.Rune
	}
	r := in.Rune[0]
	all := []rune{r, r}
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			all = append(all, f, f)
		}
	}
	return all
}

// spellings are the instructions that match any of the characters, and then go
// on at out.
func (c *compiler) spellings(ranges []rune, out int32) []int32 {
	var starts []int32
	for i := 0; i+1 < len(ranges) && len(c.p.inst) <= maxInstructions; i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		sequences(lo, hi, func(s []span) {
			at := out
			for _, b := range slices.Backward(s) {
				at = c.add(inst{op: opByte, lo: b.lo, hi: b.hi, out: at})
			}
			starts = append(starts, at)
		})
		if lo <= unicode.ReplacementChar && unicode.ReplacementChar <= hi {
			c.p.wide = true
			starts = append(starts, c.add(inst{op: opByte, lo: 0x80, hi: 0xFF, out: out}))
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// add is the number of an instruction. The same one is there only once, so that
// sequences share their ends.
func (c *compiler) add(in inst) int32 {
	if at, ok := c.known[in]; ok {
		return at
	}
	at := int32(len(c.p.inst))
	c.p.inst = append(c.p.inst, in)
	c.known[in] = at
	return at
}

func (c *compiler) oneOf(starts []int32) inst {
	if len(starts) == 0 {
		return inst{op: opFail}
	}
	last := len(starts) - 1
	rest := inst{op: opEmpty, out: starts[last]}
	for _, s := range slices.Backward(starts[:last]) {
		at := int32(len(c.p.inst))
		c.p.inst = append(c.p.inst, rest)
		rest = inst{op: opFork, out: s, other: at}
	}
	return rest
}

// Prefix is the bytes that a match may have at its first, second, … place, up
// to the length of the shortest match, and at most limit.
func (p *Program) Prefix(limit int) []*[256]bool {
	var sets []*[256]bool
	m := p.Machine()
	at := []int32{p.start}
	for len(sets) < limit {
		at = m.reach(at, ^syntax.EmptyOp(0))
		set := new([256]bool)
		var next []int32
		for _, i := range at {
			in := &p.inst[i]
			if in.op == opMatch {
				return sets
			}
			for b := int(in.lo); b <= int(in.hi); b++ {
				set[b] = true
			}
			next = append(next, in.out)
		}
		sets, at = append(sets, set), next
	}
	return sets
}
