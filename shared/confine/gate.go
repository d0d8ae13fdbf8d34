package confine

import (
	"path"

	"github.com/multiollama/mcp-server/shared/fault"
)

// OpenParent opens the directory in which p is an entry, whether or not p exists
// yet, and returns the entry's name there, as the file system spells it. It is for
// package replace alone: what is changed is an entry of a directory that is open,
// so that nothing swapped on the way to it can lead the change elsewhere.
//
// A link on the way or under the name itself is treated as in Open, an allowed
// directory is fault.ParamInvalid because its own name is not under it, and a
// directory that is missing is fault.NotFound. That the entry is no link holds only
// for the moment: whoever opens it must refuse to follow one (O_NOFOLLOW).
func (p Path) OpenParent() (*Dir, string, error) { return p.openParent(true) }

// OpenParentOfLink is OpenParent for an entry that is moved or removed as it is: links
// on the way are treated as in Open, the entry itself is never followed. Whoever calls
// it looks at what kind the entry is. It is for package replace alone.
func (p Path) OpenParentOfLink() (*Dir, string, error) { return p.openParent(false) }

func (p Path) openParent(follow bool) (*Dir, string, error) {
	for tries := 0; ; tries++ {
		d, entry, err := p.openAbove()
		if err != nil {
			return nil, "", err
		}
		// The entry may be a link that may be followed, or only be there in its other
		// Unicode normal form: then another path is tried.
		info, err := d.info(path.Base(entry.rel))
		next, moved := entry, false
		switch {
		case problemOf(err) == missing:
			next, moved = entry.respelled()
			err = nil
		case err != nil:
			err = entry.explain(err)
		case follow && info.Type == Symlink:
			next, err = entry.follow(fault.Forbidden)
			moved = true
		}
		if err == nil && !moved {
			return d, path.Base(entry.rel), nil
		}
		_ = d.Close() // nothing was written through it
		switch {
		case err != nil:
			return nil, "", err
		case tries >= maxLinks:
			return nil, "", p.tooManyLinks(nil)
		}
		p = next
	}
}

// ChildAs is the path of an entry of the directory p, whatever characters its name has.
// It is judged by the deny rules as what it is (kind), which for a directory makes a
// difference, and an allowed directory within another is fault.Forbidden: nothing may
// be moved or removed together with it.
func (p Path) ChildAs(name string, kind Type) (Path, error) {
	if p.root == nil {
		return Path{}, fault.New(fault.Internal, "the path was never parsed", "")
	}
	d := Dir{path: p}
	e, err := d.entry(name)
	switch {
	case err != nil:
		return Path{}, err
	case kind != Directory:
		return e, nil
	case e.fileOnly || p.fileOnly:
		return Path{}, e.denied()
	}
	real := path.Join(e.root.base, e.full())
	for _, one := range e.roots.list {
		if sameHostName(one.real, real) {
			return Path{}, fault.New(fault.Forbidden, shown(e.words)+" is an allowed directory of its own",
				"Leave it and what it is in where they are").
				With("path", e.words)
		}
	}
	return e, nil
}

// LendDir is the descriptor of the directory, which stays open until giveBack is called,
// once. It is for package replace alone.
func (d *Dir) LendDir() (fd uintptr, giveBack func(), err error) {
	own, err := d.self.hold()
	if err != nil {
		return 0, nil, err
	}
	return uintptr(own), d.self.let, nil
}

// openAbove opens the directory above p and judges p again by where that is: a link on
// the way may lead to where another rule applies. entry is p as it is called from there: the
// way to the directory may have led through a link or another normal form.
func (p Path) openAbove() (d *Dir, entry Path, err error) {
	up := p
	if p.root != nil && p.refused == nil {
		if p.rel == "." {
			return nil, p, p.wrongKind(Directory, nil)
		}
		up.rel = path.Dir(p.rel)
		up.fileOnly = false // p was judged with all that is above it
		if !p.followed {
			up.words = p.wordsUpTo(1)
		}
	}
	fd, above, err := up.reach(request{want: wantDirectory, above: true})
	if err != nil {
		return nil, p, err
	}
	d = newDir(above, fd, unknown)
	entry = above
	entry.rel, entry.words = path.Join(above.rel, path.Base(p.rel)), p.words
	if err := entry.judge(); err != nil {
		_ = d.Close() // nothing was written through it
		return nil, p, err
	}
	return d, entry, nil
}
