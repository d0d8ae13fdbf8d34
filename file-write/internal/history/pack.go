package history

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// The archive of a directory is a tar archive (PAX) of regular files, directories and
// symbolic links. What could not be restored is refused: a FIFO, socket or device, an
// entry that the deny rules hide, a name that package confine does not open, a file that
// changes while it is read. Owners, access control lists, extended attributes and hard
// links are not in it.

// What one archive may hold.
const (
	MaxEntries  = 100_000
	maxContents = 1 << 40  // bytes of all files
	maxLinkText = 16 << 20 // bytes of all links together, which Unpack has in memory
	maxDepth    = 512      // directories in one another, which Pack has open
	maxPath     = 4000     // bytes of an absolute name; one of 4096 can no longer be opened (PATH_MAX)
	maxLink     = 4095     // bytes of a link's text (PATH_MAX)
)

// Count is what an archive holds. The directory itself is not in it.
type Count struct {
	Files, Dirs, Links int
	Bytes              int64 // of the files
	Executable         int   // files that could be executed, and cannot once they are restored
}

func (c *Count) addFile(size int64, executable bool) {
	c.Files++
	c.Bytes += size
	if executable {
		c.Executable++
	}
}

// within refuses what would be more than an archive may hold.
func (c Count) within(linkText int) error {
	e := fault.New(fault.LimitReached, "", "Work on its directories one by one")
	switch {
	case c.Files+c.Dirs+c.Links > MaxEntries:
		e.Msg = fmt.Sprintf("the directory has more than %d entries", MaxEntries)
		return e.With("limit_entries", MaxEntries)
	case c.Bytes > maxContents:
		e.Msg = fmt.Sprintf("the directory holds more than %d bytes", int64(maxContents))
		return e.With("limit_bytes", int64(maxContents))
	case linkText > maxLinkText:
		e.Msg = fmt.Sprintf("the symbolic links of the directory have more than %d bytes of text", maxLinkText)
		return e.With("limit_bytes", maxLinkText)
	}
	return nil
}

// opensAsIs reports whether name is one that package confine opens unchanged.
func opensAsIs(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && strings.IndexFunc(name, unicode.IsControl) < 0
}

// shown quotes a name for a message, so that it cannot forge a line.
func shown(name string) string {
	const maxBytes = 256
	if len(name) > maxBytes {
		name = strings.ToValidUTF8(name[:maxBytes], "") + "…"
	}
	return strconv.Quote(name)
}

// Pack writes an archive of everything in d, in the order of names, and returns what it
// holds. Nothing must have been taken from d's listing before: what was, is missing. An
// error of w is returned as it is; after any error what was written is worthless.
func Pack(ctx context.Context, w io.Writer, d *confine.Dir) (Count, error) {
	p := &packer{tar: tar.NewWriter(w)}
	err := p.directory(ctx, d, "", 1)
	if err == nil {
		err = p.tar.Close()
	}
	if err != nil {
		return Count{}, err
	}
	return p.count, nil
}

type packer struct {
	tar      *tar.Writer
	listed   int // entries, written or not yet
	linkText int
	count    Count
}

// directory writes the entries of d. prefix is its name in the archive, "" or "a/b/".
func (p *packer) directory(ctx context.Context, d *confine.Dir, prefix string, depth int) error {
	if depth > maxDepth {
		return fault.New(fault.LimitReached, "the directories are too deep in one another", "Work on the inner ones first").
			With("path", d.Path().String()).With("limit_depth", maxDepth)
	}
	var entries []confine.Entry
	for {
		some, err := d.Next(1000)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fault.From(err)
		}
		entries = append(entries, some...)
		p.listed += len(some)
		if err := (Count{Files: p.listed}).within(0); err != nil {
			return err
		}
	}
	if d.Denied() > 0 {
		name := d.Path().String()
		return fault.New(fault.OutsideAllowed,
			"the directory "+shown(name)+" holds entries that this server's configuration denies: they would be lost",
			"Leave it, or ask the person who runs this server").With("path", name).With("denied", true)
	}

	slices.SortFunc(entries, func(a, b confine.Entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		if err := p.entry(ctx, d, e, prefix, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry writes one entry of d, and of a directory all that is in it.
func (p *packer) entry(ctx context.Context, d *confine.Dir, e confine.Entry, prefix string, depth int) error {
	name := filepath.Join(d.Path().String(), e.Name)
	why := ""
	switch {
	case e.Type == confine.Other:
		why = " is neither a file nor a directory nor a link"
	case !opensAsIs(e.Name):
		why = " has a name with a control character"
	case len(d.Path().Abs())+1+len(e.Name) > maxPath:
		why = " has a name that is too long"
	}
	if why != "" {
		return fault.New(fault.ParamInvalid, shown(name)+why+": it could not be given back",
			"Leave it, or ask the person it belongs to").With("path", name)
	}

	switch e.Type {
	case confine.Directory:
		info, err := d.Info(e.Name)
		if err != nil {
			return err
		}
		sub, err := d.OpenDir(e.Name)
		if err != nil {
			return err
		}
		defer sub.Close()
		if info.Type != confine.Directory || sub.Path().Abs() != filepath.Join(d.Path().Abs(), e.Name) {
			return changed(name) // it is a link by now, which confine may have followed
		}
		p.count.Dirs++
		if err := p.header(tar.TypeDir, prefix+e.Name+"/", info); err != nil {
			return err
		}
		return p.directory(ctx, sub, prefix+e.Name+"/", depth+1)

	case confine.Symlink:
		text, err := d.Link(e.Name)
		if err != nil {
			return err
		}
		p.linkText += len(text)
		p.count.Links++
		if err := p.count.within(p.linkText); err != nil {
			return err
		}
		return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: prefix + e.Name, Linkname: text, Format: tar.FormatPAX})
	}
	return p.file(ctx, d, e.Name, prefix)
}

// file writes a file if it is as long as it was and nobody has written to it meanwhile,
// as far as time stamps show.
func (p *packer) file(ctx context.Context, d *confine.Dir, base, prefix string) error {
	name := filepath.Join(d.Path().String(), base)
	f, info, err := d.Open(base)
	if err != nil {
		return err
	}
	defer f.Close()
	entry, err := d.Info(base)
	if err != nil {
		return err
	}
	if !entry.Stamp.SameFile(info.Stamp) {
		return changed(name) // it is a link by now, which confine may have followed
	}
	p.count.addFile(info.Size, info.Mode&0o111 != 0)
	if err := p.count.within(p.linkText); err != nil {
		return err
	}
	if err := p.header(tar.TypeReg, prefix+base, info); err != nil {
		return err
	}

	n, err := io.Copy(p.tar, patient(ctx, io.LimitReader(f, info.Size)))
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
	sameTime := info.Modified.IsZero() || now.ModTime().Equal(info.Modified)
	if n != info.Size || more > 0 || now.Size() != info.Size || !sameTime {
		return changed(name)
	}
	return nil
}

func (p *packer) header(kind byte, name string, info confine.Info) error {
	h := &tar.Header{Typeflag: kind, Name: name, Mode: int64(info.Mode.Perm()), ModTime: info.Modified, Format: tar.FormatPAX}
	if kind == tar.TypeReg {
		h.Size = info.Size
	}
	return p.tar.WriteHeader(h)
}

func changed(name string) error {
	return fault.New(fault.Unavailable, shown(name)+" was changed by another program while it was read", "Try again").With("path", name)
}

// Archive is a directory read as an archive. It is read by one goroutine.
type Archive struct {
	*io.PipeReader
	stop  context.CancelFunc
	done  chan struct{}
	count Count // what Pack returned; once done is closed
}

// Reader is what Pack writes, to be read: its errors are errors of Read. The directory
// is in use until the Archive is closed, which it must be.
func Reader(ctx context.Context, d *confine.Dir) *Archive {
	ctx, stop := context.WithCancel(ctx)
	r, w := io.Pipe()
	a := &Archive{PipeReader: r, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		var err error
		a.count, err = Pack(ctx, w, d)
		w.CloseWithError(err) // nil is io.EOF
	}()
	return a
}

// Close ends the reading, also before the end, and waits until the directory is no
// longer in use.
func (a *Archive) Close() error {
	a.stop()
	err := a.PipeReader.Close()
	<-a.done
	return err
}

// Count returns what the archive holds. It is known once Read has returned io.EOF, and is
// zero after any other error.
func (a *Archive) Count() Count {
	<-a.done
	return a.count
}
