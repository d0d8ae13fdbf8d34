//go:build !linux && !darwin

package confine

import (
	"io"
	"os"
)

// place is not known here: every call is an ordinary one.
type place struct{ local bool }

var unknown place

func placeOf(fd descriptor, s *Stamp, _ place) place {
	if info, err := infoOf(fd); err == nil {
		*s = info.Stamp()
	}
	return unknown
}

func (place) openEntry(d descriptor, name string, want uint32) (descriptor, error) {
	return openEntry(d, name, want)
}

func (place) stampOf(d descriptor, name string, s *Stamp) (Type, error) {
	info, err := infoOfEntry(d, name)
	*s = info.Stamp()
	return info.Type, err
}

// reading is the part of a Reader that is the system's.
type reading struct {
	file  *os.File
	place place
}

// begin takes fd, describes it, and closes it on an error.
func (r *reading) begin(fd descriptor, _ place, s *Stamp) (Type, error) {
	info, err := infoOf(fd)
	if err != nil {
		_ = release(fd) // nothing was written through it
		return 0, err
	}
	*s = info.Stamp()
	r.file, err = asFile(fd, "file")
	return info.Type, err
}

func (r *reading) read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if n == 0 && err == io.EOF {
		return 0, nil
	}
	return n, err
}

func (r *reading) readAt(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off)
	if err == io.EOF {
		return n, nil
	}
	return n, err
}

func (r *reading) close() error { return r.file.Close() }
