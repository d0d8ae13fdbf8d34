package glob_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/glob"
)

// FuzzGlob holds three properties: nothing panics; a pattern of letters matches only
// itself; and on short inputs Match agrees with a reference that expands braces,
// splits at slashes and backtracks.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"a/**/b", "a/x/b"}, {"{a,b{c,d}}", "bd"}, {"[!a-c]*", "xyz"}, {`\*?`, "*x"}, {"**", ""},
		{"**/x*", "a//x"}, {"a/**", "a/"}, {"{*,a}*/b", "x/y/b"}, {"[]-a]", "]"}, {"[a-]b]", "a"}, {"[", "["}, {"{", "{"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, rel string) {
		p, err := glob.Compile(pattern)
		if folded, foldErr := glob.CompileFold(pattern); err == nil {
			if foldErr != nil {
				t.Fatalf("%q compiles, but not folded: %v", pattern, foldErr)
			}
			negates := strings.Contains(pattern, "[!") || strings.Contains(pattern, "[^")
			if !negates && p.Match(rel) && !folded.Match(rel) {
				t.Fatalf("%q matches %q, but not when case does not matter", pattern, rel)
			}
		}
		if err != nil {
			return
		}
		if isLiteral(pattern) && p.Match(rel) != (pattern == rel) {
			t.Fatalf("the literal %q and %q: %v", pattern, rel, p.Match(rel))
		}
		if len(pattern) > 24 || len(rel) > 24 || !utf8.ValidString(rel) {
			return
		}
		if got, want := p.Match(rel), reference(pattern, rel); got != want {
			t.Fatalf("%q on %q is %v, the reference says %v", pattern, rel, got, want)
		}
	})
}

func isLiteral(pattern string) bool { return !strings.ContainsAny(pattern, `*?[{\`) }

// reference matches a valid pattern by definition rather than by translation.
func reference(pattern, rel string) bool {
	for _, p := range braces(pattern) {
		if components(splitPattern(p), strings.Split(rel, "/")) {
			return true
		}
	}
	return false
}

// braces expands the first group of a pattern and recurses.
func braces(p string) []string {
	open := indexOutsideClass(p, 0, "{")
	if open < 0 {
		return []string{p}
	}
	var cuts []int
	depth, end := 0, -1
	for i := open; end < 0; i++ {
		i = indexOutsideClass(p, i, "{,}")
		switch {
		case p[i] == '{':
			depth++
		case p[i] == '}':
			if depth--; depth == 0 {
				end = i
			}
		case depth == 1:
			cuts = append(cuts, i)
		}
	}
	var out []string
	start := open + 1
	for _, cut := range append(cuts, end) {
		out = append(out, braces(p[:open]+p[start:cut]+p[end+1:])...)
		start = cut + 1
	}
	return out
}

// indexOutsideClass finds the first of chars from i on that is neither escaped nor in a class.
func indexOutsideClass(p string, i int, chars string) int {
	for i < len(p) {
		switch {
		case strings.IndexByte(chars, p[i]) >= 0:
			return i
		case p[i] == '\\':
			i += 2
		case p[i] == '[':
			i += len(classOf(p[i:]))
		default:
			i++
		}
	}
	return -1
}

// classOf is the class that p begins with.
func classOf(p string) string {
	i := 1
	if p[i] == '!' || p[i] == '^' {
		i++
	}
	for first := true; first || p[i] != ']'; first = false {
		if p[i] == '\\' {
			i++
		}
		i++
	}
	return p[:i+1]
}

// splitPattern cuts a pattern without braces at the slashes outside classes.
func splitPattern(p string) []string {
	var out []string
	start := 0
	for {
		i := indexOutsideClass(p, start, "/")
		if i < 0 {
			if out != nil && p[start:] == "**" { // a/** is what is under a: at least one component
				return append(out, "**", "*")
			}
			return append(out, p[start:])
		}
		out = append(out, p[start:i])
		start = i + 1
	}
}

func components(pattern, rel []string) bool {
	switch {
	case len(pattern) == 0:
		return len(rel) == 0
	case pattern[0] == "**":
		return components(pattern[1:], rel) || len(rel) > 0 && components(pattern, rel[1:])
	}
	return len(rel) > 0 && component([]rune(pattern[0]), []rune(rel[0])) && components(pattern[1:], rel[1:])
}

func component(p, s []rune) bool {
	switch {
	case len(p) == 0:
		return len(s) == 0
	case p[0] == '*':
		return component(p[1:], s) || len(s) > 0 && component(p, s[1:])
	case len(s) == 0:
		return false
	case p[0] == '?':
		return component(p[1:], s[1:])
	case p[0] == '[':
		class := []rune(classOf(string(p)))
		return inClass(class[1:len(class)-1], s[0]) && component(p[len(class):], s[1:])
	case p[0] == '\\':
		return p[1] == s[0] && component(p[2:], s[1:])
	}
	return p[0] == s[0] && component(p[1:], s[1:])
}

func inClass(body []rune, r rune) bool {
	negated := body[0] == '!' || body[0] == '^'
	if negated {
		body = body[1:]
	}
	found := false
	next := func() (c rune) {
		if body[0] == '\\' && len(body) > 1 {
			body = body[1:]
		}
		c, body = body[0], body[1:]
		return c
	}
	for len(body) > 0 {
		low := next()
		high := low
		if len(body) > 1 && body[0] == '-' {
			body = body[1:]
			high = next()
		}
		found = found || low <= r && r <= high
	}
	return found != negated
}
