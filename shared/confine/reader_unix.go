//go:build linux || darwin

package confine

import "golang.org/x/sys/unix"

// place is what is known of the file system that a directory lies in.
type place struct {
	local bool // it is one of this machine: quick, and a short read is the end
}

// unknown is the place of what is not known to be anywhere.
var unknown place

// placeOf is where the directory fd lies; above is known if it lies in the same mount.
func placeOf(fd descriptor, above place) place {
	if above.local {
		return above
	}
	return place{local: isLocal(fd)}
}

func stampOfDir(fd descriptor, at place) Stamp {
	var s Stamp
	if _, err := at.fstat(fd, &s); err != nil {
		return Stamp{}
	}
	return s
}

// reading is the part of a Reader that is the system's.
type reading struct {
	fd    descriptor
	place place
}

func newReading(fd descriptor, where place) (reading, error) { return reading{fd, where}, nil }

func (r *reading) describe(s *Stamp) (Type, error) {
	mode, err := r.place.fstat(r.fd, s)
	return typeOf(fileMode(mode)), err
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

// openEntry is the function of this name, at a lower price where d is local, and where
// the entry lies: d's place, if nothing else is mounted on it. What goes wrong at the
// lower price is left to the other to tell.
func (at place) openEntry(d descriptor, name string, flags int) (descriptor, place, error) {
	var room [unix.NAME_MAX + 1]byte
	if at.local && len(name) < len(room) {
		room[copy(room[:], name)] = 0
		if fd, err := at.openWithin(d, &room[0], flags|unix.O_NOFOLLOW); err == nil {
			return fd, at, nil
		}
	}
	fd, err := openEntry(d, name, flags)
	return fd, unknown, err
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
	*s = info.Stamp
	return info.Type, err
}

func stampFrom(st *unix.Stat_t) Stamp {
	return Stamp{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano()}
}
