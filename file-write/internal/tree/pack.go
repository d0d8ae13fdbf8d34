package tree

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Pack writes an archive of everything beneath d, in the order of names, and says what
// that was. Nothing must have been taken from d's listing before: what was, is missing.
// An error of w is returned as it is; after any error what was written is worthless.
func Pack(ctx context.Context, w io.Writer, d *confine.Dir) (Count, error) {
	p := &packer{ctx: ctx, tar: tar.NewWriter(w)}
	defer p.close()
	err := p.enter(d, "")
	for err == nil && len(p.levels) > 0 {
		err = p.step()
	}
	if err == nil {
		err = p.tar.Close()
	}
	if err != nil {
		return Count{}, err
	}
	return p.count, nil
}

type packer struct {
	ctx      context.Context
	tar      *tar.Writer
	levels   []*level
	listed   int // entries, written or not yet
	linkText int
	count    Count
}

// level is a directory whose entries are being written.
type level struct {
	dir  *confine.Dir
	path string // in the archive: "" or "a/b/"
	rest []confine.Entry
}

// close closes what an error left open; the first directory is the caller's.
func (p *packer) close() {
	for len(p.levels) > 0 {
		p.leave()
	}
}

func (p *packer) leave() {
	last := len(p.levels) - 1
	if last > 0 {
		_ = p.levels[last].dir.Close() // nothing was written through it
	}
	p.levels = p.levels[:last]
}

// enter lists a directory, whose entries are then next.
func (p *packer) enter(d *confine.Dir, path string) error {
	l := &level{dir: d, path: path}
	p.levels = append(p.levels, l)
	if len(p.levels) > mostDepth {
		return fault.New(fault.LimitReached, "the directories are too deep in one another", "Work on the inner ones first").
			With("path", d.Path().String()).With("limit_depth", mostDepth)
	}
	for {
		some, err := d.Next(1000)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = p.ctx.Err()
		}
		if err != nil {
			return fault.From(err)
		}
		l.rest = append(l.rest, some...)
		p.listed += len(some)
		if err := (Count{Files: p.listed}).within(0); err != nil {
			return err
		}
	}
	if d.Denied() > 0 {
		return fault.New(fault.OutsideAllowed, "the directory "+shown(d.Path().String())+" holds entries that this server's configuration denies: they would be lost",
			"Leave it, or ask the person who runs this server").With("path", d.Path().String()).With("denied", true)
	}
	slices.SortFunc(l.rest, func(a, b confine.Entry) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// step writes the next entry of the innermost directory, or leaves it.
func (p *packer) step() error {
	if err := p.ctx.Err(); err != nil {
		return fault.From(err)
	}
	l := p.levels[len(p.levels)-1]
	if len(l.rest) == 0 {
		p.leave()
		return nil
	}
	e := l.rest[0]
	l.rest = l.rest[1:]
	if err := l.takes(e); err != nil {
		return err
	}
	switch e.Type {
	case confine.Directory:
		return p.directory(l, e.Name)
	case confine.Symlink:
		return p.link(l, e.Name)
	}
	return p.file(l, e.Name)
}

// takes refuses what could not be given back.
func (l *level) takes(e confine.Entry) error {
	words := filepath.Join(l.dir.Path().String(), e.Name)
	refuse := func(why string) error {
		return fault.New(fault.ParamInvalid, shown(words)+why+": it could not be given back", "Leave it, or ask the person it belongs to").With("path", words)
	}
	switch {
	case e.Type == confine.Other:
		return refuse(" is neither a file nor a directory nor a link")
	case !plainName(e.Name):
		return refuse(" has a name with a control character")
	case len(l.dir.Path().Abs())+1+len(e.Name) > longestPath:
		return refuse(" has a name that is too long")
	}
	return nil
}

func (p *packer) directory(l *level, name string) error {
	info, err := l.dir.Info(name)
	if err != nil {
		return err
	}
	d, err := l.dir.OpenDir(name)
	if err != nil {
		return err
	}
	if info.Type != confine.Directory || d.Path().Abs() != filepath.Join(l.dir.Path().Abs(), name) {
		_ = d.Close()           // nothing was written through it
		return l.restless(name) // it is a link by now, which confine may have followed
	}
	path := l.path + name + "/"
	if err := p.enter(d, path); err != nil {
		return err
	}
	p.count.Dirs++
	return p.header(tar.TypeDir, path, info)
}

func (p *packer) link(l *level, name string) error {
	text, err := l.dir.Link(name)
	if err != nil {
		return err
	}
	p.linkText += len(text)
	p.count.Links++
	if err := p.count.within(p.linkText); err != nil {
		return err
	}
	return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: l.path + name, Linkname: text, Format: tar.FormatPAX})
}

func (p *packer) file(l *level, name string) error {
	f, info, err := l.dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	entry, err := l.dir.Info(name)
	if err != nil {
		return err
	}
	if !entry.Stamp.SameFile(info.Stamp) {
		return l.restless(name) // it is a link by now, which confine may have followed
	}
	p.count.addFile(info.Size, info.Mode&0o111 != 0)
	if err := p.count.within(p.linkText); err != nil {
		return err
	}
	if err := p.header(tar.TypeReg, l.path+name, info); err != nil {
		return err
	}
	return p.content(l, f, info)
}

func (p *packer) header(kind byte, path string, info confine.Info) error {
	h := &tar.Header{Typeflag: kind, Name: path, Mode: int64(info.Mode.Perm()), ModTime: info.Modified, Format: tar.FormatPAX}
	if kind == tar.TypeReg {
		h.Size = info.Size
	}
	return p.tar.WriteHeader(h)
}

// content writes what f holds if that is as long as it was and nobody has written
// meanwhile, as far as time stamps can tell.
func (p *packer) content(l *level, f *os.File, info confine.Info) error {
	n, err := io.Copy(p.tar, &patient{p.ctx, io.LimitReader(f, info.Size)})
	if err != nil {
		return err
	}
	more, err := f.Read(make([]byte, 1))
	if err != nil && err != io.EOF {
		return fault.From(err)
	}
	now, err := f.Stat()
	if err != nil {
		return fault.From(err)
	}
	if n != info.Size || more > 0 || now.Size() != info.Size || !sameTime(now.ModTime(), info.Modified) {
		return l.restless(info.Name)
	}
	return nil
}

func sameTime(a, b time.Time) bool { return b.IsZero() || a.Equal(b) }

func (l *level) restless(name string) error {
	words := filepath.Join(l.dir.Path().String(), name)
	return fault.New(fault.Unavailable, shown(words)+" was changed by another program while it was read", "Try again").With("path", words)
}

// patient reads until its context ends; an error of the file's has its code.
type patient struct {
	ctx context.Context
	r   io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, fault.From(err)
	}
	n, err := p.r.Read(b)
	if err != nil && err != io.EOF {
		err = fault.From(err)
	}
	return n, err
}
