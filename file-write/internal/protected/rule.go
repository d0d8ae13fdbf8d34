package protected

import (
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/file-write/internal/spelling"
	"github.com/multiollama/mcp-server/shared/glob"
)

// rule is a row of the table, ready to be matched.
type rule struct {
	Row
	parts []part
}

// part is one component of a pattern.
type part struct {
	name  string       // in its plain form, or ""
	shape glob.Pattern // where it is more than a name
}

// rules is the table, compiled once; it never changes.
var rules = sync.OnceValue(func() []rule {
	var all []rule
	for _, row := range Table() {
		r := rule{Row: row}
		for text := range strings.SplitSeq(row.Pattern, "/") {
			r.parts = append(r.parts, newPart(text))
		}
		all = append(all, r)
	}
	return all
})

// newPart panics at a pattern that cannot be read, which only the table could hold.
func newPart(text string) part {
	if !strings.ContainsAny(text, `*?[{\`) {
		return part{name: spelling.Plain(text)}
	}
	shape, err := glob.CompileFold(text)
	if err != nil {
		panic("protected: " + text + ": " + err.Error())
	}
	return part{shape: shape}
}

// match says whether way ends in what the rule names.
func (r *rule) match(way []string) bool {
	if len(way) < len(r.parts) {
		return false
	}
	for i, name := range way[len(way)-len(r.parts):] {
		if !r.parts[i].match(name) {
			return false
		}
	}
	return true
}

// match takes a short name for the name that it may have been made of. Of a name that
// is only known by its shape, the short name is not known.
func (p *part) match(plain string) bool {
	if p.name == "" {
		return p.shape.Match(plain)
	}
	return plain == p.name || spelling.IsShortOf(plain, p.name)
}
