package guard

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

// Protected refuses what the table protects. The zero value refuses all of it.
type Protected struct{ opened []opening }

// opening is one thing that is not protected after all.
type opening struct {
	pattern glob.Pattern
	byName  bool // against the name of what is protected rather than a path
}

// NewProtected lets through what the globs in allow match, case aside: one
// without a slash is matched against the name of what is protected, at any depth, one
// with a slash against the path, from the allowed directory, of that or of something
// beneath it. What lies beneath an opened directory is open with it, except what is
// protected for itself: .vscode does not open .vscode/.git, though .vscode/** does,
// since that matches it. A glob that cannot be read, or could match nothing, is
// fault.Misconfigured.
func NewProtected(allow []string) (Protected, error) {
	var g Protected
	for _, given := range allow {
		o, err := newOpening(given)
		if err != nil {
			return Protected{}, fault.New(fault.Misconfigured, "the pattern "+shown(given, longestPath)+" cannot be used: "+fault.From(err).Msg,
				"Correct --allow-protected").With("pattern", given).Because(err)
		}
		g.opened = append(g.opened, o)
	}
	return g, nil
}

func newOpening(given string) (opening, error) {
	pattern := strings.TrimPrefix(norm.NFC.String(given), "./")
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~/") || slices.Contains(strings.Split(pattern, "/"), "..") {
		return opening{}, fault.New(fault.ParamInvalid, "it is not relative to the allowed directory", "")
	}
	pattern = strings.TrimRight(pattern, "/")
	compiled, err := glob.CompileFold(pattern)
	return opening{pattern: compiled, byName: !strings.Contains(pattern, "/")}, err
}

// Judge looks at a path with slashes, relative to the allowed directory, and at every
// directory on its way: none of them needs to exist. Case, normal forms, short names
// of Windows (GIT~1), streams, and dots and spaces at the end are seen through. A
// refusal is fault.Forbidden with the path, and under protected the pattern and why,
// in its details.
//
// What stands above the allowed directory is not in rel and so not looked at: who
// allows ~/.config has allowed ~/.config/autostart, unless the caller passes a path
// that begins further up.
func (g Protected) Judge(rel string) error {
	way := components(rel)
	for end := 1; end <= len(way); end++ {
		for _, r := range rules() {
			if r.match(way[:end]) && !g.opens(way, end) {
				return refusal(rel, r.Path)
			}
		}
	}
	return nil
}

// opens says whether the protected thing that ends before end was opened by its name
// or path, or something beneath it on the way by its path. A name opens nothing beneath
// what is protected: .vscode must not open .git/.vscode. Only what is spelled out is
// open: a short name may mean another file.
func (g Protected) opens(way []string, end int) bool {
	for _, o := range g.opened {
		if o.byName {
			if o.pattern.Match(way[end-1]) {
				return true
			}
			continue
		}
		for e := end; e <= len(way); e++ {
			if o.pattern.Match(strings.Join(way[:e], "/")) {
				return true
			}
		}
	}
	return false
}

func refusal(rel string, r Path) error {
	return fault.New(fault.Forbidden, "the path "+shown(rel, longestPath)+" is protected, since "+r.Why,
		"Leave it to the person who runs this server, or ask them for --allow-protected with a pattern that names it").
		With("path", rel).With("protected", map[string]any{"pattern": r.Pattern, "why": r.Why})
}

// components are the names on the way, in their plain form. A backslash separates
// too: some system may take it for that.
func components(rel string) []string {
	var way []string
	for name := range strings.SplitSeq(strings.ReplaceAll(rel, `\`, "/"), "/") {
		if name != "" && name != "." {
			way = append(way, Plain(name))
		}
	}
	return way
}

// rule is a row of the table, ready to be matched.
type rule struct {
	Path
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
	for _, row := range Paths() {
		r := rule{Path: row}
		for text := range strings.SplitSeq(row.Pattern, "/") {
			p := part{name: Plain(text)}
			if strings.ContainsAny(text, `*?[{\`) {
				shape, err := glob.CompileFold(text)
				if err != nil { // only the table could hold such a pattern
					panic("protected: " + text + ": " + err.Error())
				}
				p = part{shape: shape}
			}
			r.parts = append(r.parts, p)
		}
		all = append(all, r)
	}
	return all
})

// match reports whether way ends in what the rule names. A short name counts as the name
// that it may have been made of. Of a name that is only known by its shape, the short name
// is not known.
func (r *rule) match(way []string) bool {
	if len(way) < len(r.parts) {
		return false
	}
	for i, name := range way[len(way)-len(r.parts):] {
		p := r.parts[i]
		if p.name == "" && !p.shape.Match(name) || p.name != "" && name != p.name && !IsShortOf(name, p.name) {
			return false
		}
	}
	return true
}
