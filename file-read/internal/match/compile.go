package match

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Compile reads an expression. What it cannot read is [fault.ParamInvalid] in
// words that say where the fault is and what to write instead.
func Compile(expr string, o Options) (*Pattern, error) {
	if len(expr) > MaxExpr {
		return nil, tooLarge().With("limit_bytes", MaxExpr)
	}
	tree, err := syntax.Parse(expr, flagsOf(o))
	if err != nil {
		return nil, explain(expr, err)
	}
	tree = edit(tree, dropCapture)
	p := &Pattern{sizes: defaultSizes, keepCR: names(tree, '\r'), spans: o.Multiline && crosses(tree), buffers: cmp.Or(o.Buffers, new(Buffers))}
	if !p.spans {
		if names(tree, '\n') {
			return nil, fault.New(fault.ParamInvalid, "the pattern names a line break, but every line is matched by itself", "Ask for multiline, or leave the line break out")
		}
		tree = edit(tree, withinLine)
	}
	if p.utf8, err = text.Lookup("utf-8"); err != nil {
		return nil, err
	}
	if err := p.build(tree); err != nil {
		return nil, err
	}
	return p, nil
}

// flagsOf makes ^ and $ match at line borders in every mode.
func flagsOf(o Options) syntax.Flags {
	flags := syntax.Perl &^ syntax.OneLine
	if o.Fixed {
		flags = syntax.Literal
	}
	if o.FoldCase {
		flags |= syntax.FoldCase
	}
	return flags
}

func tooLarge() *fault.Error {
	return fault.New(fault.ParamInvalid, "the pattern is too large", "Use a shorter pattern, fewer alternatives, or smaller repeat counts")
}

// build compiles the tree in every form a search needs.
func (p *Pattern) build(tree *syntax.Regexp) error {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return tooLarge().Because(err)
	}
	p.pace(len(prog.Inst))
	p.literals, p.exact = required(tree)
	if p.whole, err = regexp.Compile(tree.String()); err != nil {
		return tooLarge().Because(err)
	}
	if !p.spans {
		p.prog = dfa.Compile(tree)
	}
	p.seek = seekerFor(p.literals, p.exact, p.prog)
	if p.spans {
		p.onward, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`)
	} else {
		err = p.buildPieces(tree)
	}
	if err != nil {
		return tooLarge().Because(err)
	}
	return nil
}

// pace bounds the time between two looks at the context: at worst the regexp
// package spends some ten nanoseconds per byte and instruction. Texts so small
// that it can backtrack (256,000 pairs of byte and instruction, in Go 1.26) take
// it half the time.
func (p *Pattern) pace(instructions int) {
	const most, patient, small, few = 256 << 10, 2 << 20, 250_000, 500
	p.patience = min(most, max(64, patient/instructions))
	p.step = p.patience
	if instructions <= few {
		p.step = min(p.patience, small/instructions)
	}
}

// pieceOf is the index in Pattern.pieces for a part of a line that begins or
// ends at the line's own border.
func pieceOf(begins, ends bool) int {
	i := 0
	if begins {
		i |= 1
	}
	if ends {
		i |= 2
	}
	return i
}

// buildPieces compiles the forms in which ^ or $ cannot match at the border of
// a window that is no border of the line.
func (p *Pattern) buildPieces(tree *syntax.Regexp) error {
	for i := range p.pieces {
		begins, ends := i&1 != 0, i&2 != 0
		if begins && ends || !anchored(tree) {
			p.pieces[i] = p.whole
			continue
		}
		re, err := regexp.Compile(edit(tree, unanchor(!begins, !ends)).String())
		if err != nil {
			return err
		}
		p.pieces[i] = re
	}
	return nil
}

// edit is a copy of a tree with every node changed by f, leaves first.
func edit(re *syntax.Regexp, f func(*syntax.Regexp)) *syntax.Regexp {
	c := *re
	c.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		c.Sub[i] = edit(sub, f)
	}
	f(&c)
	return &c
}

func dropCapture(re *syntax.Regexp) {
	if re.Op == syntax.OpCapture {
		*re = *re.Sub[0]
	}
}

// withinLine keeps a node from matching a line feed, and takes a line for the
// whole text, so that a block of lines can be searched at once: a match is one
// of a single line, exactly as if the line stood alone.
func withinLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
		re.Flags &^= syntax.WasDollar
	case syntax.OpCharClass:
		re.Rune = without(re.Rune, '\n')
	}
}

// without is a list of ranges, first and last rune by turns, less one rune.
func without(ranges []rune, r rune) []rune {
	var out []rune
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

func unanchor(begin, end bool) func(*syntax.Regexp) {
	return func(re *syntax.Regexp) {
		if begin && re.Op == syntax.OpBeginLine || end && re.Op == syntax.OpEndLine {
			re.Op = syntax.OpNoMatch
		}
	}
}

// some says that f holds for a node of the tree.
func some(re *syntax.Regexp, f func(*syntax.Regexp) bool) bool {
	if f(re) {
		return true
	}
	for _, sub := range re.Sub {
		if some(sub, f) {
			return true
		}
	}
	return false
}

func anchored(re *syntax.Regexp) bool {
	return some(re, func(re *syntax.Regexp) bool {
		return re.Op == syntax.OpBeginLine || re.Op == syntax.OpEndLine
	})
}

// names says that the expression spells out a rune, other than in a class.
func names(re *syntax.Regexp, r rune) bool {
	return some(re, func(re *syntax.Regexp) bool {
		return re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), r)
	})
}

// crosses says that a match may contain a line feed, or depends on where the
// whole text begins or ends.
func crosses(re *syntax.Regexp) bool {
	return names(re, '\n') || some(re, func(re *syntax.Regexp) bool {
		switch re.Op {
		case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
			return true
		case syntax.OpCharClass:
			return holds(re.Rune, '\n')
		}
		return false
	})
}

func holds(ranges []rune, r rune) bool {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}
