package confine

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

// rules are the deny rules. They are matched whatever the case of a name and in
// Unicode normal form C, so that .ENV or a decomposed name is no way round them.
type rules struct {
	names   []glob.Pattern // patterns without a slash: against each component
	inside  []glob.Pattern // others: against the way from the root …
	hosts   []glob.Pattern // … and against the absolute path in both spellings
	secrets []glob.Pattern // the same for the table of secrets, whose exceptions
	places  []glob.Pattern // do not lift the rules above
	except  []glob.Pattern
}

// newRules compiles the deny globs. A pattern without a slash is matched against
// every component, one with a slash against the way from the allowed directory and
// against the absolute path; what lies beneath a denied directory is denied too. A
// pattern that cannot be read is fault.Misconfigured: it must not be left out.
func newRules(o Options, home string) (rules, error) {
	var r rules
	for _, text := range o.Deny {
		if err := r.add(text, home); err != nil {
			return rules{}, fault.New(fault.Misconfigured, "the deny pattern "+shown(text)+" cannot be read: "+err.Msg,
				"Correct --deny-path").With("pattern", text).Because(err)
		}
	}
	if o.DenySecrets {
		if err := r.addSecrets(); err != nil {
			return rules{}, err
		}
	}
	return r, nil
}

// meta is what makes a pattern more than a name.
const meta = `*?[{\`

func (r *rules) add(text, home string) *fault.Error {
	text = norm.NFC.String(denySpelling(text))
	if text == "~" || strings.HasPrefix(text, "~/") && home != "" {
		text = literal(home) + text[1:]
	}
	switch {
	case hasDotDot(text):
		return fault.New(fault.ParamInvalid, "a pattern with .. matches nothing", "")
	case text != "" && !strings.ContainsAny(text, meta):
		text = path.Clean(text) // "./private/" means the directory: it must not match nothing
	case len(text) > 1:
		text = strings.TrimRight(strings.TrimPrefix(text, "./"), "/")
	}
	p, err := glob.CompileFold(text)
	if err != nil {
		return fault.From(err)
	}
	switch {
	case !strings.Contains(text, "/"):
		r.names = append(r.names, p)
	case strings.HasPrefix(text, "**/"):
		r.hosts = append(r.hosts, p)
	case isAbsolute(text):
		r.hosts = append(r.hosts, p)
		return r.addReal(text)
	default:
		r.inside = append(r.inside, p)
		r.hosts = append(r.hosts, p)
	}
	return nil
}

// addReal adds an absolute pattern a second time where the directory that it begins
// with is reached through a link: with /private/tmp allowed, /tmp/x must still deny.
func (r *rules) addReal(text string) *fault.Error {
	dir, rest := text, ""
	for strings.ContainsAny(dir, meta) || realName(dir) == dir {
		up := path.Dir(dir)
		if up == dir {
			return nil
		}
		dir, rest = up, "/"+path.Base(dir)+rest
	}
	p, err := glob.CompileFold(norm.NFC.String(literal(strings.TrimSuffix(realName(dir), "/")) + rest))
	if err != nil {
		return fault.From(err)
	}
	r.hosts = append(r.hosts, p)
	return nil
}

// literal is text as a pattern that matches itself only.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `}`, `\}`).Replace(text)
}

func (r *rules) addSecrets() error {
	for _, s := range secretTable {
		p, err := glob.CompileFold(s.pattern)
		if err != nil {
			return fault.From(err)
		}
		switch {
		case s.readable:
			r.except = append(r.except, p)
		case strings.Contains(s.pattern, "/"):
			r.places = append(r.places, p)
		default:
			r.secrets = append(r.secrets, p)
		}
	}
	return nil
}

func (r *rules) empty() bool {
	return len(r.names)+len(r.inside)+len(r.hosts)+len(r.secrets)+len(r.places) == 0
}

// byPlace says whether any rule needs more than the last component.
func (r *rules) byPlace() bool { return len(r.inside)+len(r.hosts)+len(r.places) > 0 }

// verdict is what the rules say about one name, regardless of what is above it.
type verdict int

const (
	clear    verdict = iota
	fileOnly         // a secret's name with an exception, which is for files
	denied
)

// spot is one name in all the spellings that rules may speak of.
type spot struct {
	name string   // last component
	rel  string   // from the allowed directory
	host []string // absolute: as configured, and without links where that differs
}

func (r *rules) judge(s spot) verdict {
	inside := s.rel != "." // the allowed directory itself has no name that rules speak of
	if inside && (anyMatch(r.names, s.name) || anyMatch(r.inside, s.rel)) || anyMatch(r.hosts, s.host...) {
		return denied
	}
	if inside && anyMatch(r.secrets, s.name) || anyMatch(r.places, s.host...) {
		if anyMatch(r.except, s.name) {
			return fileOnly
		}
		return denied
	}
	return clear
}

func anyMatch(patterns []glob.Pattern, spellings ...string) bool {
	for _, p := range patterns {
		if slices.ContainsFunc(spellings, p.Match) {
			return true
		}
	}
	return false
}

// spot is p in all spellings, in normal form C.
func (p Path) spot() spot {
	full := norm.NFC.String(p.full())
	s := spot{name: path.Base(full), rel: full}
	if !p.roots.rules.byPlace() {
		return s
	}
	name := norm.NFC.String(path.Join(p.root.name, p.rel))
	s.host = append(s.host, name)
	if real := norm.NFC.String(path.Join(p.root.real, p.rel)); real != name {
		s.host = append(s.host, real)
	}
	return s
}

// parent is the spot one up. Above the allowed directory only the absolute
// spellings still mean anything.
func (s spot) parent() (spot, bool) {
	up := spot{rel: path.Dir(s.rel), name: path.Base(path.Dir(s.rel))}
	for _, h := range s.host {
		if dir := path.Dir(h); dir != h {
			up.host = append(up.host, dir)
		}
	}
	return up, s.rel != "." || len(up.host) > 0
}

// judge applies the deny rules to p and to everything above it.
func (p *Path) judge() error {
	if p.roots.rules.empty() {
		return nil
	}
	s := p.spot()
	v := p.roots.rules.judge(s)
	for up, more := s.parent(); more && v != denied; up, more = up.parent() {
		if p.roots.rules.judge(up) != clear {
			v = denied
		}
	}
	p.fileOnly = v == fileOnly
	if v == denied {
		return p.denied()
	}
	return nil
}

// judgeLast applies the deny rules to p alone; what is above was judged before.
func (p *Path) judgeLast() *fault.Error {
	if p.roots.rules.empty() {
		return nil
	}
	v := p.roots.rules.judge(p.spot())
	p.fileOnly = v == fileOnly
	if v == denied {
		return p.denied()
	}
	return nil
}
