package confine

import (
	"os"
	"path"
	"path/filepath"
)

// Path is a name under an allowed directory. Only [Roots.Parse] and [Path.Child]
// make one that opens; the zero value refuses. That it lies under is a matter of
// its text: what is there is judged again by every open.
type Path struct {
	roots    *Roots
	root     *root
	rel      string // from root; clean, without "..", in slash form
	words    string // in the caller's own words
	fileOnly bool   // an exception of the deny rules: no directory may be opened here
	followed bool   // a link was followed: words and rel are no longer parallel
	refused  error  // what Child found wrong; every open returns it
}

// String is the path in the caller's own words, cleaned: "." or "src/a.go", and
// absolute where the caller was absolute.
func (p Path) String() string { return p.words }

// Abs is the path as the host knows it, under the allowed directory as it was
// configured. It is for people to read, not for opening.
func (p Path) Abs() string {
	if p.root == nil {
		return ""
	}
	return filepath.FromSlash(path.Join(p.root.name, p.rel))
}

// Rel is the path from its allowed directory, with slashes, links that were followed
// resolved; "." is the allowed directory itself. Like Abs it is not for opening.
func (p Path) Rel() string { return p.rel }

// Base is the last component.
func (p Path) Base() string {
	base := path.Base(p.words)
	if p.root != nil && (p.rel == "." && !p.followed || base == "." || base == "..") {
		return path.Base(p.root.name)
	}
	return base
}

// Parent is the directory that p is in, where that is still under the allowed
// directory; it is judged again like any path when it is opened.
func (p Path) Parent() (Path, bool) {
	if p.root == nil || p.refused != nil || p.fileOnly || p.rel == "." {
		return Path{}, false
	}
	up := p
	up.rel, up.words = path.Dir(p.rel), path.Join(p.words, "..")
	return up, true
}

// Child is the path of name in the directory p. A name that is not one component,
// has a control character, or is denied gives a Path whose opens say so.
func (p Path) Child(name string) Path {
	c := p
	if p.root == nil || p.refused != nil {
		return c
	}
	if name == "" || name == "." || name == ".." || separated(name) {
		c.refused = about(name, malformed("the name "+shown(name)+" is not a single component", "Name one entry of the directory"))
		return c
	}
	c.rel, c.words = joinRel(p.rel, name), joinWords(p.words, name)
	err := checkName(name)
	if err == nil {
		err = checkComponent(name)
	}
	switch {
	case err != nil:
		c.refused = about(c.words, err)
	case p.fileOnly:
		c.refused = c.denied()
	case p.spares(name):
		c.fileOnly = false
	default:
		c.refused = c.judgeLast()
	}
	return c
}

// spares says that no deny rule can name an entry of this name in the directory p. A
// search asks it of every file.
func (p Path) spares(name string) bool { return p.roots.rules.spares(name, p.watched()) }

// watched says whether the rules may name all that is in the directory p.
func (p Path) watched() bool {
	r := p.roots.rules
	return p.rel == "." || r.any && r.sieves.dirs.holds(path.Base(p.rel))
}

// joinRel is the way to name in the directory that rel, which is clean, leads to.
func joinRel(rel, name string) string {
	if rel == "." {
		return name
	}
	return rel + "/" + name
}

// Open opens a regular file for reading. It never waits: a FIFO, socket or device
// is fault.ParamInvalid at once, and so is a directory. The file is the one that
// Info describes, whatever happens to its name afterwards.
func (p Path) Open() (*os.File, Info, error) {
	// What was opened is looked at by its descriptor, after the open: a look at the name
	// before would be about whatever was there then.
	fd, at, err := p.reach(request{want: wantFile})
	if err != nil {
		return nil, Info{}, err
	}
	f, info, err := regular(fd, at.words)
	if err != nil {
		return nil, Info{}, at.explain(err)
	}
	info.Name = at.Base()
	return f, info, nil
}

// OpenDir opens a directory for listing. Anything else is fault.ParamInvalid.
func (p Path) OpenDir() (*Dir, error) {
	fd, at, err := p.reach(request{want: wantDirectory})
	if err != nil {
		return nil, err
	}
	return newDir(at, fd, unknown), nil
}

// Stat describes what is there without opening it: also what Open would refuse,
// except that links are treated as in Open.
func (p Path) Stat() (Info, error) {
	var info Info
	_, at, err := p.reach(request{info: &info})
	if err != nil {
		return Info{}, err
	}
	info.Name = at.Base()
	return info, nil
}

// exists says whether something is there under this spelling or its other normal
// form, a link included.
func (p Path) exists() bool {
	_, err := p.look()
	switch problemOf(err) {
	case missing, throughFile:
		_, other := p.respelled()
		return other
	}
	return true
}

// full is the way from the kept directory.
func (p Path) full() string { return path.Join(p.root.prefix, p.rel) }

// regular keeps fd when it is a regular file and closes it when it is not.
func regular(fd descriptor, name string) (*os.File, Info, error) {
	info, err := infoOf(fd)
	if err == nil && info.Type != File {
		err = wrongType(info.Type)
	}
	if err != nil {
		_ = release(fd) // nothing was written through it
		return nil, Info{}, err
	}
	f, err := asFile(fd, name)
	return f, info, err
}
