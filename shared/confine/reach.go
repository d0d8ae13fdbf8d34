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

// request is what reach is to do with what it reaches.
type request struct {
	want  wanted // how it is opened
	info  *Info  // where set, it is described and not opened
	above bool   // it is the directory of an entry that is judged itself
}

// reach opens p and, where that fails on a link or on a missing name, the path that the
// options allow instead, which at is. Whatever path it ends at is opened strictly: what
// was learned on the way only chose the next name to try.
func (p Path) reach(r request) (fd descriptor, at Path, err error) {
	switch {
	case p.root == nil && p.refused == nil:
		return fd, p, fault.New(fault.Internal, "the path was never parsed", "")
	case p.refused != nil:
		return fd, p, p.refused
	}
	// Each round holds the allowed directory again, opens once, and only then asks why it
	// failed. The answer may be out of date by the time it comes; that costs a round or
	// gives a wrong explanation, but it opens nothing, for the next name goes through the
	// same open. The count bounds it against a tree that changes all the time.
	at = p
	for tries := 0; ; tries++ {
		d, err := at.root.kept.hold()
		switch {
		case err != nil:
			return fd, at, at.explain(err)
		case r.info != nil:
			*r.info, err = infoBeneath(d, at.full(), at.roots.by)
		case r.want == wantDirectory && at.fileOnly && !r.above:
			err = at.denied()
		default:
			fd, err = openBeneath(d, at.full(), r.want, at.roots.by)
		}
		at.root.kept.let()

		switch problemOf(err) {
		case none:
			return fd, at, nil
		case missing:
			next, ok := at.respelled()
			if !ok || tries >= maxLinks {
				return fd, at, at.notFound(err)
			}
			at = next
		case throughLink:
			if tries >= maxLinks {
				return fd, at, p.tooManyLinks(err)
			}
			next, refusal := at.follow(err)
			if refusal != nil {
				return fd, at, refusal
			}
			at = next
		default:
			return fd, at, at.explain(err)
		}
	}
}

// look describes what is under the very name of p.
func (p Path) look() (Info, error) {
	return use(p.root.kept, func(d descriptor) (Info, error) { return infoBeneath(d, p.full(), p.roots.by) })
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
	// From here on the link's target is only text. It is placed under an allowed
	// directory and judged by the deny rules like a name that a client wrote.
	target, ok := p.targetOf(o)
	if !ok {
		return p, p.linkRefused(o, cause)
	}
	in, rel, ok := p.roots.find(target)
	if !ok {
		link := p.linkWords(o)
		return p, fault.New(fault.OutsideAllowed, "the symbolic link "+shown(link)+" leads outside the allowed directories",
			p.roots.whereInstead()).With("link", link).With("path", p.words)
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
	if err != nil || text == "" || hasControl(text) {
		return "", false
	}
	name := false
	for _, c := range strings.Split(text, "/") {
		if name && c == ".." {
			return "", false
		}
		name = name || c != "" && c != "." && c != ".."
	}
	way := strings.Split(p.full(), "/")
	if !isAbsolute(text) {
		text = path.Join(p.root.base, path.Join(way[:o.at]...), text)
	}
	return cleanHost(path.Join(append([]string{text}, way[o.at+1:]...)...)), true
}

// obstacle is the first component on the way that is a link or missing.
type obstacle struct {
	kind   problem // throughLink, missing or none
	at     int     // which component of full
	target string  // of a link
}

func (p Path) survey() obstacle {
	o, _ := use(p.root.kept, func(d descriptor) (obstacle, error) { return survey(d, p.root.base, p.full()), nil })
	return o
}

// respelled is p with every missing component in its other Unicode normal form
// (NFC or NFD, UAX #15) where exactly one such form is there. Models write NFC and macOS
// writes NFD; without this, a file that a listing has just shown would not be found.
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

// otherForm is p with component i of full in its other normal form.
func (p Path) otherForm(i int) (Path, bool) {
	way := strings.Split(p.rel, "/")
	i -= len(strings.Split(p.full(), "/")) - len(way) // from kept to rel
	if i < 0 {
		return p, false
	}
	var found []Path
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		other := form.String(way[i])
		if other == way[i] {
			continue
		}
		next, upTo := p, p
		upTo.rel = strings.Join(append(slices.Clone(way[:i]), other), "/")
		next.rel = strings.Join(append([]string{upTo.rel}, way[i+1:]...), "/")
		words := strings.Split(p.words, "/")
		if j := i - len(way) + len(words); !p.followed && j >= 0 && words[j] == way[i] { // as far as they are parallel
			words[j] = other
			next.words = strings.Join(words, "/")
		}
		if upTo.survey().kind != missing {
			found = append(found, next)
		}
	}
	if len(found) != 1 {
		return p, false
	}
	return found[0], true
}
