//go:build linux || darwin

package confine

import "golang.org/x/sys/unix"

// place is what is known of the file system that a directory lies in.
type place struct {
	local bool   // it is one of this machine: quick, and a short read is the end
	dev   uint64 // its device, where it is local
}

// unknown is the place of what is not known to be anywhere.
var unknown place

// placeOf is where the directory fd lies, and its stamp. In the same device as above,
// the directory it was opened in, which is still open, it is as local as that.
func placeOf(fd descriptor, s *Stamp, above place) place {
	if _, err := above.fstat(fd, s); err != nil {
		*s = Stamp{}
		return unknown
	}
	if above.local && above.dev == s.Dev {
		return above
	}
	return place{local: isLocal(fd), dev: s.Dev}
}

// reading is the part of a Reader that is the system's.
type reading struct {
	fd    descriptor
	place place
}

// begin takes fd, describes it, and closes it on an error.
func (r *reading) begin(fd descriptor, where place, s *Stamp) (Type, error) {
	r.fd, r.place = fd, where
	mode, err := where.fstat(fd, s)
	if err != nil {
		_ = r.close() // nothing was written through it
		return 0, err
	}
	if where.local && s.Dev != where.dev { // something else is mounted on the file
		r.place = unknown
	}
	return typeOf(fileMode(mode)), nil
}

func (r *reading) read(p []byte) (int, error) {
	for {
		n, err := r.place.read(r.fd, p)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (r *reading) readAt(p []byte, off int64) (int, error) {
	for {
		n, err := r.place.pread(r.fd, p, off)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (r *reading) close() error { return r.place.close(r.fd) }

// openEntry is the function of this name, at a lower price where d is local. What
// goes wrong there is left to the other to tell.
func (at place) openEntry(d descriptor, name string, flags int) (descriptor, error) {
	var room [unix.NAME_MAX + 1]byte
	if at.local && len(name) < len(room) {
		room[copy(room[:], name)] = 0
		if fd, err := at.openat(d, &room[0], flags|unix.O_NOFOLLOW); err == nil {
			return fd, nil
		}
	}
	return openEntry(d, name, flags)
}

// stampOf describes an entry without opening or following it.
func (at place) stampOf(d descriptor, name string, s *Stamp) (Type, error) {
	var room [unix.NAME_MAX + 1]byte
	if at.local && len(name) < len(room) {
		room[copy(room[:], name)] = 0
		mode, err := at.fstatat(d, &room[0], s)
		return typeOf(fileMode(mode)), err
	}
	info, err := infoOfEntry(d, name)
	*s = info.Stamp()
	return info.Type, err
}

func stampFrom(st *unix.Stat_t) Stamp {
	return Stamp{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano()}
}
