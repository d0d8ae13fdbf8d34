package confine

import (
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Dir is a directory open for listing. What it opens is opened relative to its
// descriptor, whatever has happened to the directory's name since. Info, Open and
// OpenDir may be called by many goroutines, also during Next.
type Dir struct {
	path   Path
	self   *handle
	list   listing
	buffer *[]byte
	denied int
}

const bufferSize = 32 << 10 // bytes of directory that are read at once

func newBuffers() *sync.Pool {
	return &sync.Pool{New: func() any {
		b := make([]byte, bufferSize)
		return &b
	}}
}

func newDir(p Path, fd descriptor) *Dir { return &Dir{path: p, self: &handle{d: fd}} }

// Path is the directory's own path.
func (d *Dir) Path() Path { return d.path }

// Denied is how many entries the deny rules have left out of Next so far.
func (d *Dir) Denied() int { return d.denied }

// Next is up to n further entries (at least one is asked for) in the order of the
// directory, without . and .. and without what is denied. At the end it returns io.EOF.
func (d *Dir) Next(n int) ([]Entry, error) {
	n = max(n, 1)
	var out []Entry
	err := d.self.use(func(fd descriptor) error {
		if d.buffer == nil {
			d.buffer = d.path.roots.buffers.Get().(*[]byte)
		}
		for len(out) < n {
			e, err := d.list.next(fd, *d.buffer)
			if err != nil {
				return err
			}
			if d.hides(e.Name) {
				d.denied++
				continue
			}
			out = append(out, e)
		}
		return nil
	})
	switch {
	case err == io.EOF && len(out) > 0, err == nil:
		return out, nil
	case err == io.EOF:
		return nil, io.EOF
	}
	return out, d.path.explain(err)
}

// hides says whether the deny rules name an entry. An exception that is for files
// only still shows: opening it as a directory is refused then.
func (d *Dir) hides(name string) bool {
	if !d.path.roots.rules.any {
		return false
	}
	p := d.below(name)
	return p.judgeLast() != nil
}

// below is the path of an entry, whatever characters its name has.
func (d *Dir) below(name string) Path {
	p := d.path
	p.rel = path.Join(p.rel, name)
	p.words = joinWords(p.words, name)
	return p
}

// Info describes an entry without following or opening it.
func (d *Dir) Info(name string) (Info, error) {
	p, err := d.entry(name)
	if err != nil {
		return Info{}, err
	}
	var info Info
	err = d.self.use(func(fd descriptor) (err error) {
		info, err = infoOfEntry(fd, name)
		return err
	})
	if err != nil {
		return Info{}, p.explainEntry(err)
	}
	info.Name = name
	return info, nil
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
	var text string
	err = d.self.use(func(fd descriptor) (err error) {
		text, err = linkOf(fd, name)
		return err
	})
	if errors.Is(err, errNoLink) {
		return "", fault.New(fault.ParamInvalid, shown(p.words)+" is not a symbolic link", "List the directory again").With("path", p.words).Because(err)
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
	var f *os.File
	var info Info
	err = d.self.use(func(at descriptor) error {
		fd, err := openEntry(at, name, wantFile)
		if err == nil {
			f, info, err = regular(fd, p.words)
		}
		return err
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
	var fd descriptor
	err = d.self.use(func(at descriptor) (err error) {
		fd, err = openEntry(at, name, wantDirectory)
		return err
	})
	switch {
	case err == nil:
		return newDir(p, fd), nil
	case problemOf(err) == throughLink && p.roots.opts.Symlinks == Within:
		return d.path.Child(name).OpenDir()
	}
	return nil, p.explainEntry(err)
}

// Close ends the listing and gives the descriptor back.
func (d *Dir) Close() error {
	if err := d.self.close(); err != nil {
		return err
	}
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
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, separators+"\x00") {
		return Path{}, malformed("the name "+shown(name)+" is not an entry of a directory", "Use a name from the listing").With("path", name)
	}
	p := d.below(name)
	if err := p.judgeLast(); err != nil {
		return Path{}, err
	}
	if err := checkName(name); err != nil {
		p.refused = err.With("path", p.words)
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
