package replace

import "golang.org/x/sys/unix"

// openStep opens a directory that is an entry of dir, not a link and not another mount,
// which with the same file system (a bind mount) only the kernel can tell.
func openStep(dir int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	for busy := 0; busy < mostReturns; busy++ {
		fd, err = unix.Openat2(dir, name, &how)
		if err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	if err != unix.ENOSYS && err != unix.EPERM {
		return fd, err
	}
	err = again(func() (err error) {
		fd, err = unix.Openat(dir, name, flags, 0)
		return err
	})
	return fd, err
}
