package confine

import (
	"io"
	"os"
)

// Reader is a regular file open for reading, for who opens very many: unlike an
// os.File it takes no memory of its own, and one Reader serves one file after the
// other. The zero value is closed. Read is for one goroutine at a time, ReadAt for
// many; Close comes after the last of them.
type Reader struct {
	file  reading
	stamp Stamp
	at    int64 // where Read goes on
	ended bool  // a read has shown the end
	open  bool
}

// OpenReader opens a regular file into r, which is closed first, as [Path.Open] does.
func (p Path) OpenReader(r *Reader) error {
	if err := r.Close(); err != nil {
		return err
	}
	_, err := p.reach(func(d descriptor, at Path) error {
		fd, err := openBeneath(d, at.full(), wantFile, p.roots.by)
		if err != nil {
			return err
		}
		return r.take(fd, unknown)
	})
	return err
}

// OpenReader opens an entry into r, which is closed first, as [Dir.Open] does.
func (d *Dir) OpenReader(name string, r *Reader) error {
	if err := r.Close(); err != nil {
		return err
	}
	if err := d.admits(name); err != nil {
		return err
	}
	err := d.self.use(func(at descriptor) error {
		fd, err := d.place.openEntry(at, name, wantFile)
		if err != nil {
			return err
		}
		return r.take(fd, d.place)
	})
	switch {
	case err == nil:
		return nil
	case problemOf(err) == throughLink && d.path.roots.opts.Symlinks == Within:
		return d.path.Child(name).OpenReader(r)
	}
	return d.below(name).explainEntry(err)
}

// Size is that of the file when it was opened.
func (r *Reader) Size() int64 { return r.stamp.Size }

// Stamp is the version of the file when it was opened.
func (r *Reader) Stamp() Stamp { return r.stamp }

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
	n, err := r.file.read(p)
	r.at += int64(n)
	if err == nil && (n == 0 || n < len(p) && r.file.place.local) {
		r.ended = true
		return n, io.EOF
	}
	return n, err
}

// ReadAt is io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if !r.open {
		return 0, os.ErrClosed
	}
	if off < 0 {
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

// take makes r the reader of fd if that is a regular file, and closes it if not.
// where is the directory that it was opened in.
func (r *Reader) take(fd descriptor, where place) error {
	kind, err := r.file.begin(fd, where, &r.stamp)
	if err == nil && kind != File {
		_ = r.file.close() // nothing was written through it
		err = wrongType(kind)
	}
	if err != nil {
		return err
	}
	r.at, r.ended, r.open = 0, false, true
	return nil
}
