package match

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Compile compiles an expression. An expression that is not valid is
// [fault.ParamInvalid], with the place of the mistake and what to write instead.
func Compile(expr string, o Options) (*Pattern, error) {
	tooLarge := fault.New(fault.ParamInvalid, "the pattern is too large",
		"Use a shorter pattern, fewer alternatives, or smaller repeat counts")
	if len(expr) > MaxExpr {
		return nil, tooLarge.With("limit_bytes", MaxExpr)
	}
	flags := syntax.Perl &^ syntax.OneLine // ^ and $ match at line borders in every mode
	if o.Fixed {
		flags = syntax.Literal
	}
	if o.FoldCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, explain(expr, err)
	}
	tree = edit(tree, func(re *syntax.Regexp) {
		if re.Op == syntax.OpCapture {
			*re = *re.Sub[0]
		}
	})
	p := &Pattern{
		sizes:   defaultSizes,
		keepCR:  names(tree, '\r'),
		spans:   o.Multiline && crosses(tree),
		buffers: cmp.Or(o.Buffers, new(Buffers)),
	}
	if !p.spans {
		if names(tree, '\n') {
			return nil, fault.New(fault.ParamInvalid, "the pattern names a line break, but every line is matched by itself",
				"Ask for multiline, or leave the line break out")
		}
		tree = edit(tree, withinLine)
	}
	if p.utf8, err = text.Lookup("utf-8"); err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return nil, tooLarge.Because(err)
	}

	// patience and step bound the time between two looks at the context. At worst the
	// regexp package spends some ten nanoseconds per byte and instruction, and half of
	// that on texts so small that it can backtrack (256,000 pairs of byte and
	// instruction, in Go 1.26).
	p.patience = min(256<<10, max(64, 2<<20/len(prog.Inst)))
	p.step = p.patience
	if len(prog.Inst) <= 500 {
		p.step = min(p.patience, 250_000/len(prog.Inst))
	}

	if p.whole, err = regexp.Compile(tree.String()); err != nil {
		return nil, tooLarge.Because(err)
	}
	if p.spans {
		p.onward, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`)
	} else {
		p.prog = dfa.Compile(tree)
		err = p.compilePieces(tree)
	}
	if err != nil {
		return nil, tooLarge.Because(err)
	}
	f := factsOf(tree)
	p.literals = f.rarest()
	if f.ends && f.bare && solid(f.all) {
		p.literals, p.exact = f.all, true
	}
	p.seek = seekerFor(p.literals, p.exact, p.prog)
	return p, nil
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

// compilePieces compiles the forms in which ^ or $ cannot match at the border of
// a window that is not a border of the line.
func (p *Pattern) compilePieces(tree *syntax.Regexp) error {
	anchored := some(tree, func(re *syntax.Regexp) bool { return re.Op == syntax.OpBeginLine || re.Op == syntax.OpEndLine })
	for i := range p.pieces {
		p.pieces[i] = p.whole
		begins, ends := i&1 != 0, i&2 != 0
		if begins && ends || !anchored {
			continue
		}
		piece := edit(tree, func(re *syntax.Regexp) {
			if !begins && re.Op == syntax.OpBeginLine || !ends && re.Op == syntax.OpEndLine {
				re.Op = syntax.OpNoMatch
			}
		})
		var err error
		if p.pieces[i], err = regexp.Compile(piece.String()); err != nil {
			return err
		}
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

// withinLine keeps a node from matching a line feed, and takes a line for the
// whole text, so that a block of lines can be searched at once: a match is one
// of a single line, exactly as if the line were searched alone.
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
		var ranges []rune // without the line feed
		for i := 0; i < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			if '\n' < lo || '\n' > hi {
				ranges = append(ranges, lo, hi)
				continue
			}
			if lo < '\n' {
				ranges = append(ranges, lo, '\n'-1)
			}
			if '\n' < hi {
				ranges = append(ranges, '\n'+1, hi)
			}
		}
		re.Rune = ranges
	}
}

// some reports whether f is true of a node of the tree.
func some(re *syntax.Regexp, f func(*syntax.Regexp) bool) bool {
	return f(re) || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return some(sub, f) })
}

// names reports whether the expression spells out a rune, other than in a class.
func names(re *syntax.Regexp, r rune) bool {
	return some(re, func(re *syntax.Regexp) bool {
		return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r)
	})
}

// crosses reports whether a match may contain a line feed, or depends on where the
// whole text begins or ends.
func crosses(re *syntax.Regexp) bool {
	return names(re, '\n') || some(re, func(re *syntax.Regexp) bool {
		switch re.Op {
		case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
			return true
		case syntax.OpCharClass:
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
					return true
				}
			}
		}
		return false
	})
}
