package confine

import (
	"strings"

	"golang.org/x/sys/unix"
)

// strict makes openat2 refuse every link, also the magic ones of /proc, and every
// way out of the directory it starts in (openat2(2), Linux 5.6).
const strict = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// Flags of every open. O_NONBLOCK keeps a FIFO without a writer from holding the
// call; O_NOCTTY keeps a terminal from becoming ours.
const (
	wantFile      = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	wantDirectory = wantFile | unix.O_DIRECTORY
	wantInfo      = unix.O_PATH | unix.O_CLOEXEC
	stepFlags     = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

func openat2(d int, name string, flags int, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: resolve}
	return openAgain(func() (int, error) { return unix.Openat2(d, name, &how) })
}

// lacksOpenat2 is true for a kernel without openat2 and for a seccomp filter that
// does not know it.
func lacksOpenat2(err error) bool { return err == unix.ENOSYS || err == unix.EPERM }

// bestMechanism tries openat2 on a directory that is open already.
func bestMechanism(d descriptor) mechanism {
	fd, err := openat2(d, ".", wantInfo|unix.O_DIRECTORY, strict)
	if err != nil {
		return byWalk
	}
	_ = release(fd)
	return byKernel
}

// openRoot opens a directory whose name has no links left in it: if one is there
// after all, it was put there meanwhile, and is refused.
func openRoot(real string) (descriptor, error) {
	fd, err := openat2(unix.AT_FDCWD, real, wantInfo|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if !lacksOpenat2(err) {
		return fd, err
	}
	top, err := openat(unix.AT_FDCWD, "/", stepFlags)
	if err != nil || real == "/" {
		return top, err
	}
	defer func() { _ = release(top) }()
	return walk(top, strings.TrimPrefix(real, "/"), wantInfo|unix.O_DIRECTORY)
}

// openBeneath opens rel beneath d without following any link.
func openBeneath(d descriptor, rel string, flags int, by mechanism) (descriptor, error) {
	if by == byKernel {
		return openat2(d, rel, flags, strict)
	}
	return walk(d, rel, flags)
}

// direntName is where the name of a directory entry begins (getdents64(2)).
const direntName = 19
