package history

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
// and returns what it held. Where something is under p already it is fault.Exists, and an
// archive that is not one of Pack's is fault.ParamMalformed: one of another tar program,
// or with a name that can be read in more than one way. r is read to its end, so that one
// which verifies itself can refuse. Files are reached only as entries of directories that
// Unpack has made.
//
// mode is what p was when it was packed. Files get no executable bit, and nobody but their
// owner more rights than before, also where p or a directory in it kept others out: a
// directory comes back with the rights of a new one. After an error everything that was
// made is gone again, unless another program has put something into it; then left_over in
// the details is p.
func Unpack(ctx context.Context, r io.Reader, p confine.Path, mode fs.FileMode, w Maker) (Count, error) {
	u := &unpacker{make: w, dirs: map[string]target{}, seen: map[string]bool{}}

	// The parents are made apart: only then does what is made next show that the directory
	// was not there.
	var parents []confine.Path
	removeParents := func() {
		for i := len(parents) - 1; i >= 0; i-- {
			if w.RemoveDir(context.WithoutCancel(ctx), parents[i]) != nil {
				return // others use it already
			}
		}
	}
	if up, ok := p.Parent(); ok {
		var err error
		if parents, err = w.MakeDirs(ctx, up); err != nil {
			return Count{}, err
		}
	}
	if err := u.directory(ctx, "", p, through(mode)); err != nil {
		removeParents()
		return Count{}, err
	}

	err := u.read(ctx, r)
	for _, l := range u.links {
		if err == nil {
			err = w.Link(ctx, l.path, l.text)
		}
		if err == nil {
			u.made.Links++
		}
	}
	if err == nil {
		return u.made, nil
	}

	// What was made is removed, if that is all there is, even when nobody waits for the
	// answer.
	ctx = context.WithoutCancel(ctx)
	failed := w.RemoveTree(ctx, p, func(d *confine.Dir, _ replace.Tree) error {
		there, err := Pack(ctx, io.Discard, d)
		if there.Executable = u.made.Executable; err == nil && there != u.made {
			err = fault.New(fault.Exists, "another program has put something into the directory", "Look at what is there")
		}
		return err
	})
	if failed != nil {
		return Count{}, fault.From(err).With("left_over", p.String()).Because(errors.Join(err, failed))
	}
	removeParents()
	return Count{}, err
}

type unpacker struct {
	make     Maker
	dirs     map[string]target // that were made, by their names in the archive
	seen     map[string]bool   // names in the archive
	links    []link
	linkText int
	listed   Count // by the archive
	made     Count
}

// target is a directory that was made. reach is the permissions that a file in it can
// have had for anybody: those whom a directory on the way kept out had none.
type target struct {
	path  confine.Path
	reach fs.FileMode
}

// link waits until all else is made, so that nothing is made through it.
type link struct {
	path confine.Path
	text string
}

// directory makes one and refuses one that is there.
func (u *unpacker) directory(ctx context.Context, name string, p confine.Path, reach fs.FileMode) error {
	made, err := u.make.MakeDirs(ctx, p)
	if err != nil {
		return err
	}
	if len(made) == 0 {
		return fault.New(fault.Exists, "there is already something under "+shown(p.String()), "Choose another name, or take it away first").
			With("path", p.String())
	}
	u.dirs[name] = target{path: p, reach: reach}
	return nil
}

// read makes the files and directories and collects the links.
func (u *unpacker) read(ctx context.Context, r io.Reader) error {
	archive := tar.NewReader(patient(ctx, r))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return broken(err)
		}
		if err := u.entry(ctx, h, archive); err != nil {
			return err
		}
	}
	n, err := io.Copy(io.Discard, io.LimitReader(patient(ctx, r), 1))
	if err == nil && n > 0 {
		err = malformed("it goes on after its end", nil)
	}
	return err
}

// locate returns the directory and the last component of an entry, and refuses what Pack
// never writes.
func (u *unpacker) locate(h *tar.Header) (in target, base string, err error) {
	// Pack writes no other kinds of entries, and no other records than those for long names,
	// large sizes and exact times. Files with holes are described by records, and could be
	// larger than all of the archive.
	if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeSymlink ||
		strings.HasSuffix(h.Name, "/") != (h.Typeflag == tar.TypeDir) {
		return in, "", malformed("it holds an entry of another kind than file, directory and link", nil)
	}
	for key := range h.PAXRecords {
		if key != "path" && key != "linkpath" && key != "size" && key != "mtime" {
			return in, "", malformed("it tells of an entry what this server never does", nil)
		}
	}

	// The directory must have been made before, and no name may come twice.
	name := strings.TrimSuffix(h.Name, "/")
	dir, base := path.Split(name)
	in, ok := u.dirs[strings.TrimSuffix(dir, "/")]
	if !ok || !opensAsIs(base) || dir == "/" || strings.HasSuffix(dir, "//") {
		return in, "", malformed("it holds a name that is not that of an entry of a directory before it", nil)
	}
	if u.seen[name] {
		return in, "", malformed("it holds a name twice", nil)
	}
	u.seen[name] = true
	return in, base, nil
}

func (u *unpacker) entry(ctx context.Context, h *tar.Header, content io.Reader) error {
	in, base, err := u.locate(h)
	if err != nil {
		return err
	}
	p, mode := in.path.Child(base), fs.FileMode(h.Mode)&0o777
	executable := mode&0o111 != 0
	switch h.Typeflag {
	case tar.TypeDir:
		u.listed.Dirs++
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxLink || strings.Contains(h.Linkname, "\x00") {
			return malformed("it holds a link that cannot be one", nil)
		}
		u.listed.Links++
		u.linkText += len(h.Linkname)
		u.links = append(u.links, link{p, h.Linkname})
	default:
		u.listed.addFile(h.Size, executable)
	}
	if err := u.listed.within(u.linkText); err != nil {
		return err
	}

	switch h.Typeflag {
	case tar.TypeDir:
		if err := u.directory(ctx, strings.TrimSuffix(h.Name, "/"), p, in.reach&through(mode)); err != nil {
			return err
		}
		u.made.Dirs++
	case tar.TypeReg:
		done, err := u.make.CreateFrom(ctx, p, content, replace.Options{Mode: mode&in.reach&0o666 | 0o400}) // 0 would mean the default
		if err != nil {
			return broken(err)
		}
		u.made.addFile(done.Bytes, executable)
		if done.Bytes != h.Size {
			return malformed("a file in it is shorter than it says", nil)
		}
	}
	return nil
}

// through is what a directory of this mode leaves of the permissions of what is in it:
// whoever may not search it has none.
func through(mode fs.FileMode) fs.FileMode {
	left := fs.FileMode(0o700)
	for _, class := range []fs.FileMode{0o070, 0o007} {
		if mode&class&0o111 != 0 {
			left |= class
		}
	}
	return left
}

// broken explains what package tar returns for an archive it cannot read; errors of the
// file system and of the reader of the archive have their code already.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) {
		return malformed("it is cut or damaged", err)
	}
	return fault.From(err)
}

func malformed(why string, cause error) error {
	return fault.New(fault.ParamMalformed, "the archive of the directory cannot be used: "+why,
		"Use another version of the directory").Because(cause)
}
