package replace

import "golang.org/x/sys/unix"

// openStep opens a directory that is an entry of dir and not a link.
func openStep(dir int, name string) (fd int, err error) {
	err = again(func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}
