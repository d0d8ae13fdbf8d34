package confine

import (
	"time"

	"golang.org/x/sys/unix"
)

// infoBeneath describes rel beneath d without opening it for anything.
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
		return oldStat(d, name, flags)
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

func oldStat(d int, name string, flags int) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d, name, &st, flags); err != nil {
		return Info{}, err
	}
	info := Info{
		Mode:     fileMode(st.Mode),
		Size:     st.Size,
		Modified: time.Unix(st.Mtim.Unix()),
		Accessed: time.Unix(st.Atim.Unix()),
		Changed:  time.Unix(st.Ctim.Unix()),
		Links:    uint64(st.Nlink),
	}
	return info.identified(uint64(st.Dev), st.Ino), nil
}
