package confine

import (
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Flags of every open. macOS has no O_PATH: a directory that is stepped through
// must be readable, and what is only described is looked at from its directory.
const (
	wantFile      = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	wantDirectory = wantFile | unix.O_DIRECTORY
	stepFlags     = wantDirectory | unix.O_NOFOLLOW
)

// direntName is where the name of a directory entry begins (dir(5), 64-bit inodes).
const direntName = 21

// bestMechanism is O_NOFOLLOW_ANY, which every macOS that Go runs on has (open(2), macOS 11).
func bestMechanism(descriptor) mechanism { return byKernel }

// openRoot opens a directory whose name has no links left in it: if one is there
// after all, it was put there meanwhile, and is refused.
func openRoot(real string) (descriptor, error) {
	return openat(unix.AT_FDCWD, real, wantDirectory|unix.O_NOFOLLOW_ANY)
}

// openBeneath opens rel under d without following any link: the kernel refuses
// links, and a clean rel without .. has no other way out of d.
func openBeneath(d descriptor, rel string, flags int, by mechanism) (descriptor, error) {
	if by != byKernel {
		return walk(d, rel, flags)
	}
	if hasDotDot(rel) || isAbsolute(rel) {
		return -1, unix.EXDEV
	}
	return openat(d, rel, flags|unix.O_NOFOLLOW_ANY)
}

// infoBeneath describes rel under d without opening it for anything.
func infoBeneath(d descriptor, rel string, by mechanism) (Info, error) {
	dir, err := openBeneath(d, path.Dir(rel), wantDirectory, by)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = release(dir) }()
	info, err := infoOfEntry(dir, path.Base(rel))
	if info.Type == Symlink {
		return Info{}, unix.ELOOP
	}
	return info, err
}

func infoOf(fd descriptor) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	return withCreation(&st), nil
}

func infoOfEntry(d descriptor, name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return withCreation(&st), nil
}

func withCreation(st *unix.Stat_t) Info {
	info := infoFrom(st)
	info.Created = time.Unix(st.Btim.Unix())
	return info
}
