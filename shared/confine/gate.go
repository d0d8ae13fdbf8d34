package confine

import (
	"path"

	"github.com/multiollama/mcp-server/shared/fault"
)

// OpenParent opens the directory in which p is an entry, whether or not p exists
// yet, and tells the entry's name there, as the file system spells it. It is for
// package replace alone: what is changed is an entry of a directory that is open,
// so that nothing swapped on the way to it can lead the change elsewhere.
//
// A link on the way or under the name itself is treated as in Open, an allowed
// directory is fault.ParamInvalid because its own name is not beneath it, and a
// directory that is missing is fault.NotFound. That the entry is no link holds only
// for the moment: whoever opens it must refuse to follow one (O_NOFOLLOW).
func (p Path) OpenParent() (*Dir, string, error) {
	for tries := 0; ; tries++ {
		d, entry, err := p.openAbove()
		if err != nil {
			return nil, "", err
		}
		next, moved, err := entry.elsewhere(d)
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

// Control runs use with the descriptor of the directory, which stays open
// meanwhile and is not for keeping. It is for package replace alone.
func (d *Dir) Control(use func(fd uintptr) error) error {
	return d.self.use(func(fd descriptor) error { return use(uintptr(fd)) })
}

// openAbove opens the directory above p. entry is p as it is called from there: the
// way to the directory may have led through a link or another normal form.
func (p Path) openAbove() (d *Dir, entry Path, err error) {
	var fd descriptor
	up := p
	if p.root != nil && p.refused == nil {
		if p.rel == "." {
			return nil, p, p.wrongKind(Directory)
		}
		up.rel = path.Dir(p.rel)
		up.fileOnly = false // p was judged with all that is above it
		if !p.followed {
			up.words = p.wordsUpTo(1)
		}
	}
	above, err := up.reach(func(at descriptor, way Path) (err error) {
		fd, err = openBeneath(at, way.full(), wantDirectory, way.roots.by)
		return err
	})
	if err != nil {
		return nil, p, err
	}
	d = newDir(above, fd)
	entry = above
	entry.rel, entry.words = path.Join(above.rel, path.Base(p.rel)), p.words
	if err := entry.judge(); err != nil {
		_ = d.Close() // nothing was written through it
		return nil, p, err
	}
	return d, entry, nil
}

// elsewhere is the path that p, an entry of d, stands for where it is a link that
// may be followed, or is only there in its other Unicode normal form.
func (p Path) elsewhere(d *Dir) (next Path, moved bool, err error) {
	var info Info
	err = d.self.use(func(fd descriptor) (err error) {
		info, err = infoOfEntry(fd, path.Base(p.rel))
		return err
	})
	switch {
	case problemOf(err) == missing:
		next, moved = p.respelled()
		return next, moved, nil
	case err != nil:
		return p, false, p.explain(err)
	case info.Type == Symlink:
		next, err = p.follow(fault.Forbidden)
		return next, true, err
	}
	return p, false, nil
}
