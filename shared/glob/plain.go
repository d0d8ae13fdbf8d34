package glob

import "strings"

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
	if len(rel) < len(p.head)+len(p.tail) || !p.endsLike(rel) {
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

// endsLike compares the last byte, whatever its case: most names end here.
func (p *plain) endsLike(rel string) bool {
	end := p.tail
	if !p.star {
		end = p.head
	}
	return end == "" || (end[len(end)-1]^rel[len(rel)-1])&^0x20 == 0
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
