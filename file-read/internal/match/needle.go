package match

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// needle is text that stands in every match; looking for it alone is many times
// faster than running the expression. An empty needle says nothing.
type needle struct {
	text []byte
	fold bool // ASCII letters of text, which are lower case, match both cases
}

// required is the longest needle of a tree, and whether a match is the needle
// and nothing else.
func required(re *syntax.Regexp) (needle, bool) {
	n := literalOf(re)
	if n.exact && !n.run.fold {
		return n.run, len(n.run.text) > 0
	}
	return n.longest(), false
}

// literals is what is known of a part of an expression.
type literals struct {
	run   needle // with exact: every match is this text
	exact bool
	best  needle // every match contains this text
}

func (l literals) longest() needle {
	if l.exact && len(l.run.text) > len(l.best.text) {
		return l.run
	}
	return l.best
}

func literalOf(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpLiteral:
		return spelled(re)
	case syntax.OpConcat:
		return joined(re.Sub)
	case syntax.OpCapture:
		return literalOf(re.Sub[0])
	case syntax.OpPlus:
		return literals{best: literalOf(re.Sub[0]).longest()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals{best: literalOf(re.Sub[0]).longest()}
		}
	}
	return literals{}
}

// joined looks for the longest text among neighbours that are spelled out.
func joined(subs []*syntax.Regexp) literals {
	all := literals{exact: true}
	var run needle
	for _, sub := range subs {
		l := literalOf(sub)
		all.exact = all.exact && l.exact && run.joins(l.run)
		if l.exact && run.joins(l.run) {
			run = needle{append(run.text, l.run.text...), l.run.fold}
		} else {
			run = l.run
		}
		all.best = longer(all.best, longer(run, l.best))
	}
	all.run = run
	return all
}

func (n needle) joins(next needle) bool {
	return len(n.text) == 0 || n.fold == next.fold
}

func longer(a, b needle) needle {
	if len(b.text) > len(a.text) {
		return needle{bytes.Clone(b.text), b.fold}
	}
	return a
}

// spelled is the text of a literal. U+FFFD is left out, because it also matches
// bytes that are not UTF-8; in folded text so is everything but ASCII, and k and
// s, which match U+212A and U+017F.
func spelled(re *syntax.Regexp) literals {
	fold := re.Flags&syntax.FoldCase != 0
	l := literals{exact: true, run: needle{fold: fold}}
	for _, r := range re.Rune {
		if r == utf8.RuneError || fold && !foldsInASCII(r) {
			l.exact = false
			l.best = longer(l.best, l.run)
			l.run.text = nil
			continue
		}
		if fold && 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		l.run.text = utf8.AppendRune(l.run.text, r)
	}
	l.best = longer(l.best, l.run)
	if !l.exact {
		l.run = needle{}
	}
	return l
}

func foldsInASCII(r rune) bool {
	switch r {
	case 'k', 'K', 's', 'S':
		return false
	}
	return r < utf8.RuneSelf
}

// finder goes through the occurrences of a needle in one block, in order.
type finder struct {
	needle
	block        []byte
	at           int // byte of the needle that is looked for, with fold
	lower, upper either
}

func (n needle) in(block []byte) *finder {
	f := &finder{needle: n, block: block}
	if n.fold {
		f.at = n.rarest()
		f.lower.c, f.upper.c = n.text[f.at], upperOf(n.text[f.at])
	}
	return f
}

// next is where the needle first stands at or after from, or -1.
func (f *finder) next(from int) int {
	if f.fold {
		return f.nextFold(from)
	}
	i := bytes.Index(f.block[from:], f.text)
	if i < 0 {
		return -1
	}
	return from + i
}

// nextFold goes from one occurrence of the rarest letter, in either case, to
// the next.
func (f *finder) nextFold(from int) int {
	for i := from + f.at; i < len(f.block); i++ {
		i = min(f.lower.next(f.block, i), f.upper.next(f.block, i))
		start := i - f.at
		end := start + len(f.text)
		if end > len(f.block) {
			return -1
		}
		if foldEqual(f.block[start:end], f.text) {
			return start
		}
	}
	return -1
}

// either remembers where a byte stands next, so that the rarer case of a letter
// is not looked for again and again.
type either struct {
	c    byte
	at   int
	done bool
}

// next is the first place of the byte at or after from; len(b) if there is none.
// Calls for one block come with ascending from.
func (e *either) next(b []byte, from int) int {
	if e.done && e.at >= from {
		return e.at
	}
	e.at, e.done = len(b), true
	if i := bytes.IndexByte(b[from:], e.c); i >= 0 {
		e.at = from + i
	}
	return e.at
}

// rarest is the index of the byte of the needle that is least common in text.
func (n needle) rarest() int {
	const byFrequency = " etaoinsrhldcumfpgwybvkxjqz"
	best, rank := 0, -1
	for i, c := range n.text {
		r := strings.IndexByte(byFrequency, c)
		if r < 0 {
			r = len(byFrequency)
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

func upperOf(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// foldEqual compares b with text in lower case, of the same length.
func foldEqual(b, text []byte) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != text[i] {
			return false
		}
	}
	return true
}
