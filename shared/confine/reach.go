package confine

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/shared/fault"
)

// maxLinks is how many links one path may go through, as in the kernel
// (path_resolution(7)).
const maxLinks = 40

// reach tries use on p and, where that fails on a link or on a missing name, on the
// path that the options allow instead. Whatever path it ends at, use opens it
// strictly: what was learned on the way only chose the next name to try.
func (p Path) reach(use func(descriptor, Path) error) (Path, error) {
	switch {
	case p.root == nil && p.refused == nil:
		return p, fault.New(fault.Internal, "the path was never parsed", "")
	case p.refused != nil:
		return p, p.refused
	}
	at := p
	for tries := 0; ; tries++ { // bounded also against a tree that changes all the time
		err := at.attempt(use)
		switch problemOf(err) {
		case none:
			return at, nil
		case missing:
			next, ok := at.respelled()
			if !ok || tries >= maxLinks {
				return at, at.notFound(err)
			}
			at = next
		case throughLink:
			if tries >= maxLinks {
				return at, p.tooManyLinks(err)
			}
			next, refusal := at.follow(err)
			if refusal != nil {
				return at, refusal
			}
			at = next
		default:
			return at, at.explain(err)
		}
	}
}

// follow is the path that the first link on the way of p leads to.
func (p Path) follow(cause error) (Path, error) {
	o := p.survey()
	if p.roots.opts.Symlinks != Within {
		return p, p.linkRefused(o, cause)
	}
	if o.kind != throughLink {
		return p, nil // the link is gone again: the next attempt counts too
	}
	target, ok := p.targetOf(o)
	if !ok {
		return p, p.linkRefused(o, cause)
	}
	in, rel, ok := p.roots.find(target)
	if !ok {
		return p, p.leadsOutside(o)
	}
	next := Path{roots: p.roots, root: in, rel: rel, words: p.words, followed: true}
	if err := next.judge(); err != nil {
		return p, err
	}
	return next, nil
}

// targetOf is the absolute name that the link of o stands for, with what follows
// the link in p. A target in which .. follows a name is refused: if that name were
// a link itself, the kernel and a lexical reading would not mean the same file.
func (p Path) targetOf(o obstacle) (string, bool) {
	text, err := hostSpelling(o.target)
	if err != nil || text == "" || hasControl(text) || dotDotAfterName(text) {
		return "", false
	}
	way := strings.Split(p.full(), "/")
	if !isAbsolute(text) {
		text = path.Join(p.root.base, path.Join(way[:o.at]...), text)
	}
	return cleanHost(path.Join(append([]string{text}, way[o.at+1:]...)...)), true
}

func dotDotAfterName(text string) bool {
	name := false
	for _, c := range strings.Split(text, "/") {
		switch c {
		case "", ".":
		case "..":
			if name {
				return true
			}
		default:
			name = true
		}
	}
	return false
}

// obstacle is the first component on the way that is a link or missing.
type obstacle struct {
	kind   problem // throughLink, missing or none
	at     int     // which component of full
	target string  // of a link
}

func (p Path) survey() (o obstacle) {
	_ = p.attempt(func(d descriptor, at Path) error {
		o = survey(d, at.root.base, at.full())
		return nil
	})
	return o
}

// respelled is p with every missing component in its other Unicode normal form
// (NFC or NFD, UAX #15) where exactly one such form is there.
func (p Path) respelled() (Path, bool) {
	changed := false
	for range strings.Count(p.full(), "/") + 1 {
		o := p.survey()
		if o.kind != missing {
			break
		}
		next, ok := p.otherForm(o.at)
		if !ok {
			return p, false
		}
		p, changed = next, true
	}
	return p, changed
}

func (p Path) otherForm(i int) (Path, bool) {
	i -= len(strings.Split(p.full(), "/")) - len(strings.Split(p.rel, "/")) // from kept to rel
	way := strings.Split(p.rel, "/")
	if i < 0 {
		return p, false
	}
	var found []Path
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		if other := form.String(way[i]); other != way[i] {
			if next := p.withComponent(i, other); next.present(i) {
				found = append(found, next)
			}
		}
	}
	if len(found) != 1 {
		return p, false
	}
	return found[0], true
}

// present says whether the way is free of missing names up to component i of rel.
func (p Path) present(i int) bool {
	p.rel = strings.Join(strings.Split(p.rel, "/")[:i+1], "/")
	return p.survey().kind != missing
}

// withComponent is p with another spelling of component i of rel, in its words too
// as far as they are parallel.
func (p Path) withComponent(i int, name string) Path {
	way := strings.Split(p.rel, "/")
	words := strings.Split(p.words, "/")
	if j := i - len(way) + len(words); !p.followed && j >= 0 && words[j] == way[i] {
		words = slices.Clone(words)
		words[j] = name
		p.words = strings.Join(words, "/")
	}
	way[i] = name
	p.rel = strings.Join(way, "/")
	return p
}
