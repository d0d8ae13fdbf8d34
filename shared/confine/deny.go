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
	any     bool         // there are rules at all
	byPlace bool         // some need more than the last component
	names   glob.Pattern // patterns without a slash: against each component
	inside  glob.Pattern // others: against the way from the root …
	hosts   glob.Pattern // … and against the absolute path in both spellings
	secrets glob.Pattern // the table of secrets, against each component …
	places  glob.Pattern // … and against the absolute path;
	except  glob.Pattern // its exceptions, which do not lift the rules above
	sieves  *sieves      // what spares most entries all this
}

// newRules compiles the deny globs. A pattern without a slash is matched against
// every component, one with a slash against the way from the allowed directory and
// against the absolute path; what lies under a denied directory is denied too. A
// pattern that cannot be read is fault.Misconfigured: it must not be left out.
func newRules(o Options, home string) (rules, error) {
	var d denyTexts
	for _, text := range o.Deny {
		if err := d.add(text, home); err != nil {
			f := fault.From(err)
			return rules{}, fault.New(fault.Misconfigured, "the deny pattern "+shown(text)+" cannot be read: "+f.Msg,
				"Correct --deny-path").With("pattern", text).Because(f)
		}
	}
	for _, s := range secretTable {
		switch {
		case !o.DenySecrets:
		case s.readable:
			d.except = append(d.except, s.pattern)
		case strings.Contains(s.pattern, "/"):
			d.places = append(d.places, s.pattern)
		default:
			d.secrets = append(d.secrets, s.pattern)
		}
	}
	r := rules{
		any:     len(d.names)+len(d.inside)+len(d.hosts)+len(d.secrets)+len(d.places) > 0,
		byPlace: len(d.inside)+len(d.hosts)+len(d.places) > 0,
	}
	for _, set := range []struct {
		into *glob.Pattern
		from []string
	}{
		{&r.names, d.names}, {&r.inside, d.inside}, {&r.hosts, d.hosts},
		{&r.secrets, d.secrets}, {&r.places, d.places}, {&r.except, d.except},
	} {
		p, err := glob.CompileFoldAny(set.from...)
		if err != nil {
			return rules{}, fault.New(fault.Misconfigured, "the deny patterns cannot be read", "Correct --deny-path").Because(err)
		}
		*set.into = p
	}
	var err error
	r.sieves, err = newSieves(slices.Concat(d.names, d.secrets), slices.Concat(d.inside, d.hosts, d.places))
	return r, err
}

// denyTexts is the patterns of the rules of the same names.
type denyTexts struct{ names, inside, hosts, secrets, places, except []string }

// meta is what makes a pattern more than a name.
const meta = `*?[{\`

func (d *denyTexts) add(text, home string) error {
	text = norm.NFC.String(denySpelling(text))
	if home != "" && (text == "~" || strings.HasPrefix(text, "~/")) {
		text = glob.Quote(home) + text[1:]
	}
	switch {
	case hasDotDot(text):
		return fault.New(fault.ParamInvalid, "a pattern with .. matches nothing", "")
	case text != "" && !strings.ContainsAny(text, meta):
		text = path.Clean(text) // "./private/" means the directory: it must not match nothing
	case len(text) > 1:
		text = strings.TrimRight(strings.TrimPrefix(text, "./"), "/")
	}
	anywhere := !strings.Contains(text, "/")
	// private/** must also deny a listing of private: else its names could be read.
	if dir, ok := strings.CutSuffix(text, "/**"); ok && dir != "" {
		text = dir // all that is under a directory is denied with the directory
	}
	if _, err := glob.CompileFold(text); err != nil {
		return err
	}
	switch {
	case anywhere:
		d.names = append(d.names, text)
	case strings.HasPrefix(text, "**/"):
		d.hosts = append(d.hosts, text)
	case isAbsolute(text):
		d.hosts = append(d.hosts, text)
		d.addReal(text)
	default:
		d.inside = append(d.inside, text)
		d.hosts = append(d.hosts, text)
	}
	return nil
}

// addReal adds an absolute pattern a second time where the directory that it begins
// with is reached through a link: with /private/tmp allowed, /tmp/x must still deny.
func (d *denyTexts) addReal(text string) {
	dir, rest := text, ""
	for strings.ContainsAny(dir, meta) || realName(dir) == dir {
		up := path.Dir(dir)
		if up == dir {
			return
		}
		dir, rest = up, "/"+path.Base(dir)+rest
	}
	real := strings.TrimSuffix(norm.NFC.String(realName(dir)), "/")
	d.hosts = append(d.hosts, glob.Quote(real)+rest)
}

// spares says that no rule can name an entry of this name in a directory. watched is
// a directory whose entries may be named by what is above them.
func (r *rules) spares(name string, watched bool) bool {
	switch {
	case !r.any:
		return true
	case watched || !ascii(name):
		return false
	case !r.sieves.entries.holds(name):
		return true
	}
	return !r.names.Match(name) && !r.secrets.Match(name) && !r.sieves.entries.last.Match(name)
}

// verdict is what the rules say about one name, regardless of what is above it.
type verdict int

const (
	clear    verdict = iota
	fileOnly         // a secret's name with an exception, which is for files
	denied
)

// spot is one name in all the spellings that rules may speak of.
type spot struct {
	name string    // last component
	rel  string    // from the allowed directory
	host [2]string // absolute: as configured, and without links; "" where there is none
}

func (r *rules) judge(s spot) verdict {
	inside := s.rel != "." // the allowed directory itself has no name that rules speak of
	if inside && (r.names.Match(s.name) || r.inside.Match(s.rel)) || s.hostMatches(&r.hosts) {
		return denied
	}
	if inside && r.secrets.Match(s.name) || s.hostMatches(&r.places) {
		if r.except.Match(s.name) {
			return fileOnly
		}
		return denied
	}
	return clear
}

func (s *spot) hostMatches(p *glob.Pattern) bool {
	return s.host[0] != "" && p.Match(s.host[0]) || s.host[1] != "" && p.Match(s.host[1])
}

// spot is p in all spellings, in normal form C.
func (p Path) spot() spot {
	full := norm.NFC.String(p.full())
	s := spot{name: path.Base(full), rel: full}
	if !p.roots.rules.byPlace {
		return s
	}
	s.host[0] = norm.NFC.String(path.Join(p.root.name, p.rel))
	if p.root.real != p.root.name {
		s.host[1] = norm.NFC.String(path.Join(p.root.real, p.rel))
	}
	return s
}

// parent is the spot one up. Above the allowed directory only the absolute
// spellings still mean anything.
func (s spot) parent() (up spot, more bool) {
	up.rel = path.Dir(s.rel)
	up.name = path.Base(up.rel)
	more = s.rel != "."
	for i, h := range s.host {
		if dir := path.Dir(h); h != "" && dir != h {
			up.host[i], more = dir, true
		}
	}
	return up, more
}

// judge applies the deny rules to p and to everything above it: what is in a denied
// directory is denied too, and no exception lifts that, since exceptions are for files.
func (p *Path) judge() error {
	if !p.roots.rules.any {
		return nil
	}
	s := p.spot()
	v := p.roots.rules.judge(s)
	for up, more := s.parent(); more && v != denied; up, more = up.parent() {
		if p.roots.rules.judge(up) != clear {
			v = denied
		}
	}
	return p.heed(v)
}

// judgeLast applies the deny rules to p alone; what is above was judged before.
func (p *Path) judgeLast() error {
	if !p.roots.rules.any {
		return nil
	}
	return p.heed(p.roots.rules.judge(p.spot()))
}

func (p *Path) heed(v verdict) error {
	p.fileOnly = v == fileOnly
	if v == denied {
		return p.denied()
	}
	return nil
}
