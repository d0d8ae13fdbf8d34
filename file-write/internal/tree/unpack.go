package tree

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// Maker makes what an archive holds, as *[replace.Writer] does.
type Maker interface {
	MakeDirs(ctx context.Context, p confine.Path) (made []confine.Path, err error)
	CreateFrom(ctx context.Context, p confine.Path, src io.Reader, o replace.Options) (replace.Result, error)
	Link(ctx context.Context, p confine.Path, target string) error
	RemoveDir(ctx context.Context, p confine.Path) error
	RemoveTree(ctx context.Context, p confine.Path, look func(d *confine.Dir, s replace.Tree) error) error
}

// Unpack makes the directory p, and the parents that are missing, of what Pack wrote,
// and says what it held. Where something is under p already it is fault.Exists, and an
// archive that is not one of Pack's is fault.ParamMalformed. r is read to its end, so
// that one which verifies itself has its say.
//
// mode is what p was when it was packed. Files get no executable bit, and nobody but their owner more rights than before, also
// where p or a directory beneath it kept others out: a directory comes back with the rights
// of a new one. After an error everything that was made is gone again, unless
// another program has put something into it; then left_over in the details is p.
func Unpack(ctx context.Context, r io.Reader, p confine.Path, mode fs.FileMode, w Maker) (Count, error) {
	u := &unpacker{ctx: ctx, make: w, top: p, reach: through(mode), dirs: map[string]place{}, seen: map[string]bool{}}
	if err := u.begin(); err != nil {
		return Count{}, err
	}
	err := u.read(r)
	if err == nil {
		err = u.link()
	}
	if err != nil {
		return Count{}, u.undo(err)
	}
	return u.made, nil
}

type unpacker struct {
	ctx      context.Context
	make     Maker
	top      confine.Path
	reach    fs.FileMode      // what the directory's own mode leaves of those in it
	parents  []confine.Path   // that were made for top
	dirs     map[string]place // that were made, by their names in the archive
	seen     map[string]bool  // names in the archive
	links    []link
	linkText int
	told     Count // by the archive
	made     Count
}

// place is a directory that was made. reach is the permissions that a file in it can
// have had for anybody: those whom a directory on the way kept out had none.
type place struct {
	path  confine.Path
	reach fs.FileMode
}

// link waits until all else is made, so that nothing is made through it.
type link struct {
	path confine.Path
	text string
}

// begin makes the directory itself. The parents are made apart: only then does what is
// made next tell that the directory was not there.
func (u *unpacker) begin() error {
	if up, ok := u.top.Parent(); ok {
		var err error
		if u.parents, err = u.make.MakeDirs(u.ctx, up); err != nil {
			return err
		}
	}
	err := u.directory("", u.top, u.reach)
	if err != nil {
		u.removeParents()
	}
	return err
}

// directory makes one and refuses one that is there.
func (u *unpacker) directory(name string, p confine.Path, reach fs.FileMode) error {
	made, err := u.make.MakeDirs(u.ctx, p)
	if err != nil {
		return err
	}
	if len(made) == 0 {
		return fault.New(fault.Exists, "there is already something under "+shown(p.String()), "Choose another name, or take it away first").With("path", p.String())
	}
	u.dirs[name] = place{path: p, reach: reach}
	return nil
}

// read makes the files and directories and collects the links.
func (u *unpacker) read(r io.Reader) error {
	archive := tar.NewReader(&patient{u.ctx, r})
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return ends(u.ctx, r)
		}
		if err != nil {
			return broken(err)
		}
		if err := u.entry(h, archive); err != nil {
			return err
		}
	}
}

// ends refuses what follows the archive, and what r has to say against it.
func ends(ctx context.Context, r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(&patient{ctx, r}, 1))
	if err == nil && n > 0 {
		err = malformed("it goes on after its end")
	}
	return err
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if err := foreign(h); err != nil {
		return err
	}
	name := strings.TrimSuffix(h.Name, "/")
	in, base, err := u.locate(name)
	if err != nil {
		return err
	}
	switch at, mode := in.path.Child(base), fs.FileMode(h.Mode)&0o777; h.Typeflag {
	case tar.TypeDir:
		u.told.Dirs++
		if err := u.told.within(u.linkText); err != nil {
			return err
		}
		err = u.directory(name, at, in.reach&through(mode))
		if err == nil {
			u.made.Dirs++
		}
		return err
	case tar.TypeSymlink:
		return u.later(link{at, h.Linkname})
	default:
		return u.file(at, h.Size, mode, in.reach, content)
	}
}

// foreign refuses what Pack never writes: other kinds of entries, and other records
// than those for long names, large sizes and exact times. Files with holes are told
// by records, and could be larger than all of the archive.
func foreign(h *tar.Header) error {
	dir := strings.HasSuffix(h.Name, "/")
	if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeSymlink || dir != (h.Typeflag == tar.TypeDir) {
		return malformed("it holds an entry of another kind than file, directory and link")
	}
	for key := range h.PAXRecords {
		switch key {
		case "path", "linkpath", "size", "mtime":
		default:
			return malformed("it tells of an entry what this server never does")
		}
	}
	return nil
}

// locate is the directory of a name, which must have been made before, and its last
// component. No name may come twice.
func (u *unpacker) locate(name string) (place, string, error) {
	dir, base := path.Split(name)
	in, ok := u.dirs[strings.TrimSuffix(dir, "/")]
	if !ok || !plainName(base) || dir == "/" || strings.HasSuffix(dir, "//") {
		return place{}, "", malformed("it holds a name that is not that of an entry of a directory before it")
	}
	if u.seen[name] {
		return place{}, "", malformed("it holds a name twice")
	}
	u.seen[name] = true
	return in, base, nil
}

// through is what a directory of this mode leaves of the permissions of what is in it:
// who may not search it has none.
func through(mode fs.FileMode) fs.FileMode {
	left := fs.FileMode(0o700)
	for _, who := range []fs.FileMode{0o070, 0o007} {
		if mode&who&0o111 != 0 {
			left |= who
		}
	}
	return left
}

func (u *unpacker) file(p confine.Path, size int64, mode, reach fs.FileMode, content io.Reader) error {
	executable := mode&0o111 != 0
	u.told.addFile(size, executable)
	if err := u.told.within(u.linkText); err != nil {
		return err
	}
	mode = mode&reach&0o666 | 0o400 // without any it would be no wish at all
	done, err := u.make.CreateFrom(u.ctx, p, content, replace.Options{Mode: mode})
	if err != nil {
		return broken(err)
	}
	u.made.addFile(done.Bytes, executable)
	if done.Bytes != size {
		return malformed("a file in it is shorter than it says")
	}
	return nil
}

func (u *unpacker) later(l link) error {
	if l.text == "" || len(l.text) > longestLink || strings.Contains(l.text, "\x00") {
		return malformed("it holds a link that cannot be one")
	}
	u.told.Links++
	u.linkText += len(l.text)
	u.links = append(u.links, l)
	return u.told.within(u.linkText)
}

func (u *unpacker) link() error {
	for _, l := range u.links {
		if err := u.make.Link(u.ctx, l.path, l.text); err != nil {
			return err
		}
		u.made.Links++
	}
	return nil
}

// undo takes away what was made, if that is all there is. It is done even when nobody
// waits for the answer.
func (u *unpacker) undo(cause error) error {
	ctx := context.WithoutCancel(u.ctx)
	err := u.make.RemoveTree(ctx, u.top, func(d *confine.Dir, _ replace.Tree) error {
		there, err := Pack(ctx, io.Discard, d)
		if there.Executable = u.made.Executable; err == nil && there != u.made {
			err = fault.New(fault.Exists, "another program has put something into the directory", "Look at what is there")
		}
		return err
	})
	if err != nil {
		return fault.From(cause).With("left_over", u.top.String()).Because(errors.Join(cause, err))
	}
	u.removeParents()
	return cause
}

// removeParents leaves what others use already.
func (u *unpacker) removeParents() {
	for i := len(u.parents) - 1; i >= 0; i-- {
		if u.make.RemoveDir(context.WithoutCancel(u.ctx), u.parents[i]) != nil {
			return
		}
	}
}

// broken is what package tar says of an archive it cannot read; errors of the file
// system and of who gives the archive have their code already.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) {
		return malformed("it is cut or damaged").Because(err)
	}
	return fault.From(err)
}

func malformed(why string) *fault.Error {
	return fault.New(fault.ParamMalformed, "the archive of the directory cannot be used: "+why, "Use another version of the directory")
}
