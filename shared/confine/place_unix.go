//go:build darwin || (linux && !amd64 && !arm64)

package confine

import "golang.org/x/sys/unix"

// isLocal is not known here: every call is an ordinary one.
func isLocal(descriptor) bool { return false }

// openWithin and fstatat are for what is local.
func (place) openWithin(descriptor, *byte, int) (descriptor, error) { return -1, unix.ENOSYS }

func (place) fstatat(descriptor, *byte, *Stamp) (uint32, error) { return 0, unix.ENOSYS }

func (place) pread(fd descriptor, p []byte, off int64) (int, error) { return unix.Pread(fd, p, off) }

func (place) getdents(fd descriptor, p []byte) (int, error) { return unix.ReadDirent(fd, p) }

func (place) close(fd descriptor) error { return unix.Close(fd) }

func (place) fstat(fd descriptor, s *Stamp) (mode uint32, err error) {
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	*s = stampFrom(&st)
	return uint32(st.Mode), err
}
