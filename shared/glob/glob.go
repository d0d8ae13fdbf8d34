// Package glob decides whether a slash-separated path has the shape that a
// pattern describes.
//
//	?        one character, not a slash
//	*        any run of characters within one component, also none, also a leading dot
//	**       as a whole component: any number of components, also none; at the end at least one
//	[a-z]    one character of a class; [!a] and [^a] one that is not in it; never a slash
//	{a,b}    either; may be nested and may hold slashes
//	\x       the character x itself
//
// It refuses to look at files, to read a pattern without a slash as "at any
// depth" (that is the caller's rule), and to take more
// than linear time in the path: what is not a plain comparison is matched by RE2,
// which does not backtrack, so that *a*a*a*b on a long row of a is harmless.
package glob

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	// MaxPattern is the longest pattern in bytes.
	MaxPattern = 4096
	// maxExpanded limits the text that the braces of one pattern stand for, in
	// bytes: {a,b}{a,b}… doubles with every pair.
	maxExpanded = 16 << 10
)

// Pattern is a compiled pattern. The zero Pattern matches nothing.
type Pattern struct {
	text  string
	fold  bool
	plain []plain        // alternatives that are a comparison
	rest  *regexp.Regexp // the other alternatives, or nil
	whole *regexp.Regexp // all alternatives, for names that may fold to ASCII; or nil
	ruins bool           // an alternative holds U+FFFD, which RE2 takes for any invalid byte
}

// Compile reads a pattern. Its errors are fault.ParamInvalid.
func Compile(pattern string) (Pattern, error) { return compile(false, pattern) }

// CompileFold is Compile for names whose case does not matter (simple Unicode
// folding).
func CompileFold(pattern string) (Pattern, error) { return compile(true, pattern) }

// CompileFoldAny is one Pattern that matches what any of the patterns matches,
// whatever the case, and costs little more than one of them. Of no patterns, it is
// the zero Pattern.
func CompileFoldAny(patterns ...string) (Pattern, error) { return compile(true, patterns...) }

// Quote is text as a pattern that matches itself only.
func Quote(text string) string { return quoted.Replace(text) }

var quoted = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `}`, `\}`)

// String is the pattern as it was given.
func (p Pattern) String() string { return p.text }

// Match says whether the whole of rel has the shape of the pattern.
func (p Pattern) Match(rel string) bool {
	for i := range p.plain {
		if p.plain[i].match(rel, p.fold) {
			return true
		}
	}
	// The Kelvin sign and the long s are equal to an ASCII letter when case does not matter.
	// Without them a comparison of bytes is enough for a plain ASCII pattern.
	if p.whole != nil && (strings.Contains(rel, "\u212a") || strings.Contains(rel, "\u017f")) {
		return p.search(p.whole, rel)
	}
	return p.rest != nil && p.search(p.rest, rel)
}

func (p Pattern) search(expr *regexp.Regexp, rel string) bool {
	if p.ruins && !utf8.ValidString(rel) {
		return false
	}
	return expr.MatchString(rel)
}

func compile(fold bool, patterns ...string) (Pattern, error) {
	text := strings.Join(patterns, ",")
	p := Pattern{text: text, fold: fold, ruins: strings.ContainsRune(text, utf8.RuneError)}
	var alternatives []string
	for _, pattern := range patterns {
		expanded, err := expand(pattern)
		if err != nil {
			return Pattern{}, fault.From(err).With("pattern", pattern)
		}
		alternatives = append(alternatives, expanded...)
	}
	// What is a comparison needs no expression.
	var all, rest []string
	for _, a := range alternatives {
		expr, err := translate(a)
		if err != nil {
			return Pattern{}, fault.From(err).With("pattern", text)
		}
		all = append(all, expr)
		isASCII := !strings.ContainsFunc(a, func(r rune) bool { return r >= utf8.RuneSelf })
		if pl, ok := plainOf(a); ok && (!fold || isASCII) {
			p.plain = append(p.plain, pl)
			continue
		}
		rest = append(rest, expr)
	}
	if len(rest) > 0 {
		p.rest = anchored(rest, fold)
	}
	if fold && len(p.plain) > 0 {
		p.whole = anchored(all, fold)
	}
	return p, nil
}

func bad(msg, do string) error { return fault.New(fault.ParamInvalid, msg, do) }

// anchored compiles what translate made; translate only makes valid RE2, so that
// MustCompile panicking would be a fault of translate.
func anchored(alternatives []string, fold bool) *regexp.Regexp {
	flags := "(?s)"
	if fold {
		flags = "(?si)"
	}
	return regexp.MustCompile(flags + `\A(?:` + strings.Join(alternatives, "|") + `)\z`)
}

// plain is an alternative with at most one star and nothing else special, after
// an optional leading **/. Most patterns are of this kind, and a comparison of
// strings is many times faster than a regular expression.
type plain struct {
	anyDepth bool // began with **/
	slashes  int  // in head and tail
	head     string
	star     bool
	tail     string
}

func plainOf(alternative string) (plain, bool) {
	text, anyDepth := strings.CutPrefix(alternative, "**/")
	if strings.ContainsAny(text, `?[\`) || strings.Contains(text, "**") || strings.Count(text, "*") > 1 {
		return plain{}, false
	}
	head, tail, star := strings.Cut(text, "*")
	return plain{
		anyDepth: anyDepth,
		slashes:  strings.Count(text, "/"),
		head:     head,
		star:     star,
		tail:     tail,
	}, true
}

// match compares. With fold, the pattern is ASCII; a part of rel that holds other
// characters never has the length and the letters of a part of the pattern.
func (p *plain) match(rel string, fold bool) bool {
	if len(rel) < len(p.head)+len(p.tail) {
		return false
	}
	end := p.tail
	if !p.star {
		end = p.head
	}
	if end != "" && (end[len(end)-1]^rel[len(rel)-1])&^0x20 != 0 { // the last byte, in either case, decides for most names
		return false
	}
	if p.anyDepth {
		if rel = lastComponents(rel, p.slashes+1); len(rel) < len(p.head)+len(p.tail) {
			return false
		}
	}
	if !p.star {
		return same(rel, p.head, fold)
	}
	middle := len(rel) - len(p.tail)
	return same(rel[:len(p.head)], p.head, fold) &&
		same(rel[middle:], p.tail, fold) &&
		strings.IndexByte(rel[len(p.head):middle], '/') < 0
}

func same(a, b string, fold bool) bool {
	return a == b || fold && len(a) == len(b) && strings.EqualFold(a, b)
}

// lastComponents cuts rel down to its last n components.
func lastComponents(rel string, n int) string {
	for i := len(rel) - 1; i >= 0; i-- {
		if rel[i] != '/' {
			continue
		}
		if n--; n == 0 {
			return rel[i+1:]
		}
	}
	return rel
}
