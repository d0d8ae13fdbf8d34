package confine

import (
	"io"
	"os"
)

// Reader is a regular file open for reading, for who opens very many: unlike an
// os.File it takes no memory of its own, and one Reader serves one file after the
// other. The zero value is closed. Read is for one goroutine at a time, ReadAt for
// many; Close comes after the last of them.
//
// What a directory on a file system of this machine lists as a regular file is
// described only when it matters: at a tenth of the price of reading a small file,
// and there is one for nearly every system call saved. Put there instead meanwhile,
// a FIFO, socket or terminal cannot be read at a place, a directory not at all, and
// a device, which only the superuser can make, is refused where it continues.
type Reader struct {
	file    reading
	stamp   Stamp
	at      int64 // where Read continues
	ended   bool  // a read has shown the end
	open    bool
	regular bool // it was described
}

// OpenReader opens a regular file into r, which is closed first, as [Path.Open] does.
func (p Path) OpenReader(r *Reader) error {
	if err := r.Close(); err != nil {
		return err
	}
	fd, at, err := p.reach(request{want: wantFile})
	if err != nil {
		return err
	}
	if err = r.take(fd, unknown); err == nil {
		err = r.describe()
	}
	if err != nil {
		return at.explain(err)
	}
	return nil
}

// OpenReader opens an entry into r, which is closed first, as [Dir.Open] does.
func (d *Dir) OpenReader(name string, r *Reader) error {
	if err := d.open(name, r); err != nil {
		return err
	}
	return d.described(name, r)
}

// OpenListed is OpenReader for an entry that a listing of d has told to be a [File].
// If it is no longer one, it may be the first read that says so.
func (d *Dir) OpenListed(e Entry, r *Reader) error {
	if e.Type != File {
		return wrongType(e.Type)
	}
	err := d.open(e.Name, r)
	if err != nil || r.file.place.local {
		return err
	}
	return d.described(e.Name, r)
}

func (d *Dir) described(name string, r *Reader) error {
	if err := r.describe(); err != nil {
		return d.below(name).explainEntry(err)
	}
	return nil
}

// open opens an entry into r and leaves open what it is.
func (d *Dir) open(name string, r *Reader) error {
	if err := r.Close(); err != nil {
		return err
	}
	if err := d.admits(name); err != nil {
		return err
	}
	_, err := use(&d.self, func(at descriptor) (descriptor, error) {
		fd, where, err := d.place.openEntry(at, name, wantFile)
		if err == nil {
			err = r.take(fd, where)
		}
		return fd, err
	})
	switch {
	case err == nil:
		return nil
	case problemOf(err) == throughLink && d.path.roots.opts.Symlinks == Within:
		return d.path.Child(name).OpenReader(r)
	}
	return d.below(name).explainEntry(err)
}

// Size is that of the file when it, or its stamp, was first asked for.
func (r *Reader) Size() int64 { return r.Stamp().Size }

// Stamp is the version of the file when it was first asked for; the zero Stamp if it
// turns out to be no regular file, after which nothing is read from it any more.
func (r *Reader) Stamp() Stamp {
	if r.open && !r.regular {
		_ = r.describe() // the next read fails
	}
	return r.stamp
}

// Read reads on. It returns io.EOF together with the last bytes where the file
// system is known to give fewer than it was asked for at the end only.
func (r *Reader) Read(p []byte) (int, error) {
	switch {
	case !r.open:
		return 0, os.ErrClosed
	case r.ended:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	n, err := r.file.readAt(p, r.at)
	r.at += int64(n)
	switch {
	case err == nil && (n == 0 || n < len(p) && r.file.place.local):
		r.ended = true
		return n, io.EOF
	case !r.regular: // it continues, or cannot be read at a place
		if wrong := r.describe(); wrong != nil {
			return 0, wrong
		}
	}
	return n, err
}

// ReadAt is io.ReaderAt, once Size or Stamp was asked for.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if !r.open {
		return 0, os.ErrClosed
	}
	if off < 0 {
		return 0, os.ErrInvalid
	}
	if !r.regular {
		return 0, os.ErrInvalid
	}
	for n < len(p) && err == nil {
		var m int
		m, err = r.file.readAt(p[n:], off+int64(n))
		n += m
		if m == 0 && err == nil {
			err = io.EOF
		}
	}
	return n, err
}

// Close gives the file back. A closed Reader may be closed again.
func (r *Reader) Close() error {
	if !r.open {
		return nil
	}
	r.open = false
	return r.file.close()
}

// take makes r, which must be closed, the reader of fd, which was opened at a place.
func (r *Reader) take(fd descriptor, where place) error {
	file, err := newReading(fd, where)
	*r = Reader{file: file, open: err == nil}
	return err
}

// describe finds out the stamp of a file, and closes what is no regular file.
func (r *Reader) describe() error {
	kind, err := r.file.describe(&r.stamp)
	if err == nil && kind != File {
		err = wrongType(kind)
	}
	if err != nil {
		r.stamp = Stamp{}
		_ = r.Close() // nothing was written through it
		return err
	}
	r.regular = true
	return nil
}
