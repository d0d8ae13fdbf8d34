package confine

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Dir is a directory open for listing. What it opens is opened relative to its
// descriptor, whatever has happened to the directory's name since. All but Next and
// Append may be called by many goroutines, also during these.
type Dir struct {
	path   Path
	self   handle
	place  place
	plain  bool // no rule names all that is in it: see rules.spares
	list   listing
	rest   []Entry // read, and not yet handed out
	buffer *[]byte
	denied int
}

const bufferSize = 32 << 10 // bytes of directory that are read at once

// newDir is the directory fd, in the place above unless that is unknown.
func newDir(p Path, fd descriptor, above place) *Dir {
	return &Dir{path: p, self: handle{d: fd}, plain: !p.watched(), place: placeOf(fd, above)}
}

// Path is the directory's own path.
func (d *Dir) Path() Path { return d.path }

// Stamp is the version of the directory now; the zero Stamp where the system does not
// tell it.
func (d *Dir) Stamp() Stamp {
	s, _ := use(&d.self, func(fd descriptor) (Stamp, error) { // closed: the zero Stamp
		return stampOfDir(fd, d.place), nil
	})
	return s
}

// Denied is how many entries the deny rules have left out so far.
func (d *Dir) Denied() int { return d.denied }

// Next is up to n further entries (at least one is asked for) in the order of the
// directory, without . and .. and without what is denied. At the end it returns io.EOF.
func (d *Dir) Next(n int) ([]Entry, error) {
	for len(d.rest) == 0 {
		var err error
		if d.rest, err = d.Append(nil); err != nil {
			return nil, err
		}
	}
	out := d.rest[:min(max(n, 1), len(d.rest))]
	d.rest = d.rest[len(out):]
	return slices.Clip(out), nil
}

// Append is Next for as many entries as the system gives at once, added to those in
// into. There may be none before the end, where it returns io.EOF.
func (d *Dir) Append(into []Entry) ([]Entry, error) {
	if len(d.rest) > 0 {
		into = append(into, d.rest...)
		d.rest = nil
		return into, nil
	}
	start := len(into)
	_, err := use(&d.self, func(fd descriptor) (_ descriptor, err error) {
		if d.buffer == nil {
			d.buffer = d.path.roots.buffers.Get().(*[]byte)
		}
		into, err = d.list.append(into, fd, d.place, *d.buffer)
		return fd, err
	})
	if d.path.roots.rules.any {
		into = append(into[:start], slices.DeleteFunc(into[start:], d.hides)...)
	}
	if err == nil || err == io.EOF {
		return into, err
	}
	return into, d.path.explain(err)
}

// hides says whether the deny rules name an entry, and counts it. An exception that is
// for files only still shows: opening it as a directory is refused then.
func (d *Dir) hides(e Entry) bool {
	if d.spares(e.Name) {
		return false
	}
	p := d.below(e.Name)
	if p.judgeLast() == nil {
		return false
	}
	d.denied++
	return true
}

func (d *Dir) spares(name string) bool { return d.path.roots.rules.spares(name, !d.plain) }

// admits refuses what is not the name of an entry or is denied.
func (d *Dir) admits(name string) error {
	if !isEntry(name) {
		return notAnEntry(name)
	}
	if d.spares(name) {
		return nil
	}
	p := d.below(name)
	return p.judgeLast()
}

func isEntry(name string) bool {
	return name != "" && name != "." && name != ".." && !separated(name) && strings.IndexByte(name, 0) < 0
}

// separated says whether a name has more than one component. It is asked of every file
// of a search: strings.ContainsAny takes several times as long.
func separated(name string) bool {
	for i := range len(separators) {
		if strings.IndexByte(name, separators[i]) >= 0 {
			return true
		}
	}
	return false
}

func notAnEntry(name string) error {
	return about(name, malformed("the name "+shown(name)+" is not an entry of a directory", "Use a name from the listing"))
}

// below is the path of an entry, whatever characters its name has: what the file system
// holds must be shown and may be removed, also where a client could not have written it.
func (d *Dir) below(name string) Path {
	p := d.path
	words := joinWords(p.words, name)
	if p.words == p.rel && p.rel != "." {
		p.rel = words // one text for both
	} else {
		p.rel = joinRel(p.rel, name)
	}
	p.words = words
	return p
}

// Info describes an entry without following or opening it.
func (d *Dir) Info(name string) (Info, error) {
	p, err := d.entry(name)
	if err != nil {
		return Info{}, err
	}
	info, err := d.info(name)
	if err != nil {
		return Info{}, p.explainEntry(err)
	}
	info.Name = name
	return info, nil
}

func (d *Dir) info(name string) (Info, error) {
	return use(&d.self, func(fd descriptor) (Info, error) { return infoOfEntry(fd, name) })
}

// StampOf is the version of an entry and what it is, told without following or
// opening it.
func (d *Dir) StampOf(name string) (Stamp, Type, error) {
	if err := d.admits(name); err != nil {
		return Stamp{}, 0, err
	}
	var s Stamp
	kind, err := use(&d.self, func(fd descriptor) (Type, error) { return d.place.stampOf(fd, name, &s) })
	if err != nil {
		return Stamp{}, 0, d.below(name).explainEntry(err)
	}
	return s, kind, nil
}

// Link is the text of an entry that is a symbolic link. It is told as it is, neither
// followed nor judged: it may name anything, also what is outside or denied. An entry
// of another kind is fault.ParamInvalid; where the system cannot tell the text by
// descriptor, every one is fault.Unavailable.
func (d *Dir) Link(name string) (string, error) {
	p, err := d.entry(name)
	if err != nil {
		return "", err
	}
	text, err := use(&d.self, func(fd descriptor) (string, error) { return linkOf(fd, name) })
	if errors.Is(err, errNoLink) {
		return "", fault.New(fault.ParamInvalid, shown(p.words)+" is not a symbolic link",
			"List the directory again").With("path", p.words).Because(err)
	}
	if err != nil {
		return "", p.explainEntry(err)
	}
	return text, nil
}

// Open opens an entry as [Path.Open] does.
func (d *Dir) Open(name string) (*os.File, Info, error) {
	p, err := d.entry(name)
	if err != nil {
		return nil, Info{}, err
	}
	var info Info
	f, err := use(&d.self, func(at descriptor) (f *os.File, err error) {
		fd, err := openEntry(at, name, wantFile)
		if err == nil {
			f, info, err = regular(fd, p.words)
		}
		return f, err
	})
	switch {
	case err == nil:
		info.Name = name
		return f, info, nil
	case problemOf(err) == throughLink && p.roots.opts.Symlinks == Within:
		return d.path.Child(name).Open()
	}
	return nil, Info{}, p.explainEntry(err)
}

// OpenDir opens an entry as [Path.OpenDir] does.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	p, err := d.entry(name)
	if err != nil {
		return nil, err
	}
	if p.fileOnly {
		return nil, p.denied()
	}
	var where place
	fd, err := use(&d.self, func(at descriptor) (fd descriptor, err error) {
		fd, where, err = d.place.openEntry(at, name, wantDirectory)
		return fd, err
	})
	switch {
	case err == nil:
		return newDir(p, fd, where), nil
	case problemOf(err) == throughLink && p.roots.opts.Symlinks == Within:
		return d.path.Child(name).OpenDir()
	}
	return nil, p.explainEntry(err)
}

// Close ends the listing and gives the descriptor back.
func (d *Dir) Close() error {
	if err := d.self.close(d.place.close); err != nil {
		return err
	}
	// Only after self is closed: an Append that is still running reads into it.
	if d.buffer != nil {
		d.path.roots.buffers.Put(d.buffer)
		d.buffer = nil
	}
	return d.list.close()
}

// entry is the path of name in d, refused where it is not the name of an entry or
// is denied. The path of a name with control characters opens here, through the
// directory that listed it, but refuses on its own as every such path does.
func (d *Dir) entry(name string) (Path, error) {
	if !isEntry(name) {
		return Path{}, notAnEntry(name)
	}
	p := d.below(name)
	p.fileOnly = false
	if !d.spares(name) {
		if err := p.judgeLast(); err != nil {
			return Path{}, err
		}
	}
	if err := checkName(name); err != nil {
		p.refused = about(p.words, err)
	}
	return p, nil
}

// explainEntry is explain for a name of one component: if it is a link, it is the
// link itself; if it is missing, it has vanished since it was listed.
func (p Path) explainEntry(err error) error {
	switch problemOf(err) {
	case throughLink:
		return p.linkRefused(obstacle{}, err)
	case missing:
		return fault.New(fault.NotFound, "there is no "+shown(p.words), "List the directory again").
			With("path", p.words).Because(err)
	}
	return p.explain(err)
}
