package guard

import (
	"bytes"
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
// in it. What is in an opened directory is open with it, except what is protected for
// itself: .vscode does not open .vscode/.git, though .vscode/** does, since that matches
// it. A glob that cannot be read, or could match nothing, is fault.Misconfigured.
func NewProtected(allow []string) (Protected, error) {
	var g Protected
	for _, given := range allow {
		pattern := strings.TrimPrefix(norm.NFC.String(given), "./")
		absolute := strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~/") || slices.Contains(strings.Split(pattern, "/"), "..")
		pattern = strings.TrimRight(pattern, "/")
		compiled, err := glob.CompileFold(pattern)
		if absolute {
			err = fault.New(fault.ParamInvalid, "it is not relative to the allowed directory", "")
		}
		if err != nil {
			return Protected{}, fault.New(fault.Misconfigured, "the pattern "+shown(given, maxPath)+" cannot be used: "+fault.From(err).Msg,
				"Correct --allow-protected").With("pattern", given).Because(err)
		}
		g.opened = append(g.opened, opening{pattern: compiled, byName: !strings.Contains(pattern, "/")})
	}
	return g, nil
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
// or path, or something under it on the way by its path. A name opens nothing under
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
	return fault.New(fault.Forbidden, "the path "+shown(rel, maxPath)+" is protected, since "+r.Why,
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

// Git takes a directory of any name for a repository, and runs the programs that its
// config and hooks name, if it has a valid HEAD and the directories objects and refs, its
// own or those that commondir leads to. All that git asks of HEAD is its first bytes. So
// no file with these bytes comes to be called HEAD, in whatever order the other parts
// were made; and beside a HEAD that is there already none of the parts is changed.

// repositoryParts are what makes a repository, in their plain form.
var repositoryParts = []string{"head", "config", "config.worktree", "hooks", "commondir", "objects", "refs"}

// Repository is the row of the table for [Protected.JudgeHead] and [Protected.JudgePart].
var Repository = Path{
	Pattern: "HEAD config config.worktree hooks commondir objects refs, in a directory with a valid HEAD",
	Why:     "git takes a directory with a valid HEAD for a repository, and runs its hooks and the commands of its config",
}

// IsHead reports whether git would take content for that of a HEAD: a reference, or the
// hash of a commit.
func IsHead(content []byte) bool {
	if bytes.HasPrefix(content, []byte("ref:")) {
		return true
	}
	const hash = 40 // digits of SHA-1; SHA-256 has more
	return len(content) >= hash && len(bytes.TrimLeft(content[:hash], "0123456789abcdefABCDEF")) == 0
}

// JudgeHead refuses to let content be that of the file rel, relative as for Judge, if git
// would take it for the HEAD of a repository.
func (g Protected) JudgeHead(rel string, content []byte) error {
	way := components(rel)
	if len(way) == 0 || way[len(way)-1] != "head" || !IsHead(content) || g.opens(way, len(way)) {
		return nil
	}
	return refusal(rel, Repository)
}

// JudgePart refuses a path on whose way something is, or would be, a part of a repository.
// headed says whether the directory so many levels above rel has a valid HEAD; it is asked
// only about directories of something that is called like a part.
func (g Protected) JudgePart(rel string, headed func(up int) bool) error {
	names := strings.Split(rel, "/")
	for i, name := range names {
		plain := Plain(name)
		isPart := func(part string) bool { return plain == part || IsShortOf(plain, part) }
		if !slices.ContainsFunc(repositoryParts, isPart) || !headed(len(names)-i) {
			continue
		}
		if !g.opens(components(rel), len(components(strings.Join(names[:i+1], "/")))) {
			return refusal(rel, Repository)
		}
	}
	return nil
}
