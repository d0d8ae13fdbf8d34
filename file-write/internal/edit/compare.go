package edit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// comparison is of two texts that fold to the same runes, the one given and the
// one that stands in the file from start.
type comparison struct {
	*nearest
	start int
	kinds []string // what was told already; each kind of difference is told once
	told  []string
}

// edge says where white space stands: around the text, where the file may have
// more of it, or within.
type edge int

const (
	within edge = iota
	leading
	trailing
)

// spot goes over the runes of both texts together. Between two of them may stand
// skipped characters (the gap), and the characters they came from may differ.
func (c *comparison) spot(runes int) spot {
	a, b := c.fold(c.given), c.fold(c.file[c.start:])
	endA, endB := 0, 0
	for i := range runes {
		a.next()
		b.next()
		if i == 0 {
			c.gap(c.given[:a.from], c.file[max(0, c.start-gapTold):c.start], leading)
		} else if a.from >= endA && b.from >= endB {
			c.gap(c.given[endA:a.from], b.s[endB:b.from], within)
		}
		if a.from >= endA && b.from >= endB {
			c.character(c.given[a.from:a.at], b.s[b.from:b.at])
		}
		endA, endB = a.at, b.at
	}
	tail := blankHead(b.s[endB:])
	c.gap(c.given[endA:], tail, trailing)
	accents := len(tail) - len(strings.TrimLeftFunc(tail, func(r rune) bool { return unicode.Is(unicode.Mn, r) }))
	if there := b.s[:endB+accents]; c.given != there && norm.NFC.String(c.given) == norm.NFC.String(there) {
		c.told = []string{"Unicode normal form (letters and their accents are one character in one of them, two in the other)"}
	}
	return c.at(c.start + endB)
}

// at describes the lines from the start to an end.
func (c *comparison) at(end int) spot {
	begin := 1 + strings.LastIndexByte(c.file[:c.start], '\n')
	if i := strings.IndexByte(c.file[end:], '\n'); i >= 0 {
		end += i
	} else {
		end = len(c.file)
	}
	s := spot{line: 1 + strings.Count(c.file[:begin], "\n"), there: c.file[begin:end], differences: c.told}
	if len(s.differences) == 0 {
		s.differences = []string{"the text is there, but begins or ends within a character of the file's encoding"}
	}
	return s
}

// blankHead is the skipped characters that s begins with.
func blankHead(s string) string {
	s = s[:min(len(s), gapTold)]
	end := strings.IndexFunc(s, func(r rune) bool { _, shown := folded(r); return shown })
	if end < 0 {
		return s
	}
	return s[:end]
}

// tell adds a difference, one of each kind.
func (c *comparison) tell(kind, difference string) {
	if !slices.Contains(c.kinds, kind) {
		c.kinds = append(c.kinds, kind)
		c.told = append(c.told, kind+" ("+difference+")")
	}
}

func (c *comparison) contrast(kind, given, there string) {
	c.tell(kind, "the file has "+there+", the text given "+given)
}

// character compares one character of each.
func (c *comparison) character(given, there string) {
	if given == there {
		return
	}
	kind := "look-alike characters"
	g, _ := utf8.DecodeRuneInString(given)
	t, _ := utf8.DecodeRuneInString(there)
	switch like, _ := folded(g); {
	case like == '\'' || like == '"':
		kind = "quotes"
	case unicode.ToLower(g) == unicode.ToLower(t):
		kind = "upper and lower case"
	}
	c.contrast(kind, named(given), named(there))
}

// named is a character with its code point.
func named(s string) string {
	r, _ := utf8.DecodeRuneInString(s)
	if skipped(r) || r < ' ' {
		return fmt.Sprintf("%U", r)
	}
	if r < utf8.RuneSelf {
		return s
	}
	return fmt.Sprintf("%s (%U)", s, r)
}

// gap compares what is skipped between two runes.
func (c *comparison) gap(given, there string, e edge) {
	if given == there {
		return
	}
	g, t := strings.Split(given, "\n"), strings.Split(there, "\n")
	switch {
	case e == leading && len(t) > len(g):
		t = t[len(t)-len(g):]
	case e == trailing && len(t) > len(g):
		t = t[:len(g)]
	}
	if len(g) != len(t) {
		c.breaks(g, t, given, there)
		return
	}
	for i := range g {
		switch {
		case g[i] == t[i],
			e == leading && i == 0 && strings.HasSuffix(t[i], g[i]),
			e == trailing && i == len(g)-1 && strings.HasPrefix(t[i], g[i]):
		default:
			c.blanks(g[i], t[i], i == len(g)-1 && (i > 0 || e == leading), i < len(g)-1 || e == trailing)
		}
	}
}

// breaks tells of gaps with a different number of line ends.
func (c *comparison) breaks(g, t []string, given, there string) {
	const others = "\r\u0085\u2028\u2029"
	if strings.ContainsAny(given+there, others) {
		c.tell("line ends", "one of them has a CR or another separator alone where the other has a line end")
		return
	}
	c.contrast("line ends", counted(len(g)-1, "line end"), counted(len(t)-1, "line end"))
}

// blanks tells of gaps within one line.
func (c *comparison) blanks(given, there string, first, last bool) {
	odd := func(r rune) bool { return r != ' ' && r != '\t' }
	if strings.ContainsFunc(given+there, odd) {
		c.contrast("invisible or unusual blank characters", measured(given), measured(there))
		return
	}
	kind := "spaces within the line"
	switch {
	case first && strings.Contains(given, "\t") != strings.Contains(there, "\t"):
		kind = "indentation, tabs against spaces"
	case first:
		kind = "indentation"
	case last:
		kind = "trailing spaces"
	case strings.Contains(given, "\t") != strings.Contains(there, "\t"):
		kind = "tabs against spaces"
	}
	c.contrast(kind, measured(given), measured(there))
}

// measured is "2 tabs and 3 spaces", with other characters by code point.
func measured(s string) string {
	var parts []string
	if n := strings.Count(s, "\t"); n > 0 {
		parts = append(parts, counted(n, "tab"))
	}
	if n := strings.Count(s, " "); n > 0 {
		parts = append(parts, counted(n, "space"))
	}
	for _, r := range s {
		if name := fmt.Sprintf("%U", r); r != ' ' && r != '\t' && len(parts) < 5 && !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " and ")
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
