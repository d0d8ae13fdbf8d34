package command

import "golang.org/x/sys/unix"

// writable tries whether this user can make a file in a directory: one without a name,
// which is gone when it is closed. If the file system has none, the kernel is asked instead.
func writable(dir string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == unix.EOPNOTSUPP || err == unix.EISDIR {
		return unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
