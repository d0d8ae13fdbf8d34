package confine

import (
	"time"

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

func openat2(d int, name string, flags int, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: resolve}
	for busy := 0; ; {
		if fd, err = unix.Openat2(d, name, &how); !retry(err, &busy) {
			return fd, err
		}
	}
}

// bestMechanism tries openat2 on a directory that is open already. Old kernels
// and old filters of containers refuse the call; the walk is as safe there and only slower.
func bestMechanism(d descriptor) mechanism {
	fd, err := openat2(d, ".", wantInfo|unix.O_DIRECTORY, strict)
	if err != nil {
		return byWalk
	}
	_ = release(fd)
	return byKernel
}

// openRoot opens a directory whose name has no links left in it.
func openRoot(real string) (descriptor, error) { return openReal(real, wantInfo|unix.O_DIRECTORY) }

// openReal opens what a name without links leads to: if there is one in it after all, it
// was put there meanwhile, and is refused.
func openReal(real string, flags int) (descriptor, error) {
	fd, err := openat2(unix.AT_FDCWD, real, flags, unix.RESOLVE_NO_SYMLINKS)
	if err != unix.ENOSYS && err != unix.EPERM { // an old kernel, or a seccomp filter that does not know openat2
		return fd, err
	}
	top, err := openat(unix.AT_FDCWD, "/", stepFlags)
	if err != nil || real == "/" {
		return top, err
	}
	defer unix.Close(top)
	return walk(top, real[1:], flags)
}

// openBeneath opens rel under d without following any link.
func openBeneath(d descriptor, rel string, flags int, by mechanism) (descriptor, error) {
	if by == byKernel {
		return openat2(d, rel, flags, strict)
	}
	return walk(d, rel, flags)
}

// direntName is where the name of a directory entry begins (getdents64(2)).
const direntName = 19

// infoBeneath describes rel under d without opening it for anything.
func infoBeneath(d descriptor, rel string, by mechanism) (Info, error) {
	fd, err := openBeneath(d, rel, wantInfo, by)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = release(fd) }()
	info, err := infoOf(fd)
	if info.Type == Symlink { // O_PATH with O_NOFOLLOW opens the link itself
		return Info{}, unix.ELOOP
	}
	return info, err
}

func infoOf(fd descriptor) (Info, error) { return statx(fd, "", unix.AT_EMPTY_PATH) }

func infoOfEntry(d descriptor, name string) (Info, error) {
	return statx(d, name, unix.AT_SYMLINK_NOFOLLOW)
}

func statx(d int, name string, flags int) (Info, error) {
	var st unix.Statx_t
	err := unix.Statx(d, name, flags|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 4.11, or a filter that does not know it
		var old unix.Stat_t
		if err := unix.Fstatat(d, name, &old, flags); err != nil {
			return Info{}, err
		}
		return infoFrom(&old), nil
	}
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Mode:     fileMode(uint32(st.Mode)),
		Size:     int64(st.Size),
		Modified: time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)),
		Accessed: time.Unix(st.Atime.Sec, int64(st.Atime.Nsec)),
		Changed:  time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)),
		Links:    uint64(st.Nlink),
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		info.Created = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	return info.identified(unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino), nil
}
