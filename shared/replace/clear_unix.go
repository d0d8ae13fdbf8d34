//go:build linux || darwin

package replace

import (
	"context"

	"golang.org/x/sys/unix"
)

// clearing is the way from a tree's top to the directory that is being emptied.
type clearing struct {
	tree *tree
	lock func(dir int) error
	way  []stop
}

type stop struct{ mark, fd int }

// clear removes what is marked, and only that, what is in a directory before the
// directory. Each directory is held open, and locked against all processes of this
// program; an entry that is not as it was marked ends it.
func (t *tree) clear(ctx context.Context, at *place) (removed int, err error) {
	c := &clearing{tree: t, way: []stop{{top, int(t.file.Fd())}}, lock: func(dir int) error {
		return at.lock(ctx, dir, unix.LOCK_EX, "a directory in "+shown(at.path))
	}}
	defer func() { c.leave(1) }()
	if err := c.lock(int(t.file.Fd())); err != nil {
		return 0, err
	}
	for i := len(t.marks) - 1; i >= 0; i-- {
		dir, err := c.reach(t.marks[i].up)
		if err == nil {
			err = t.marks[i].unlink(dir)
		}
		if err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// reach opens the directory of a mark. In the order of clear, each is opened once.
func (c *clearing) reach(mark int) (int, error) {
	var ahead []int // the directories on the way that are not open
	for !c.open(mark) {
		ahead = append(ahead, mark)
		mark = c.tree.marks[mark].up
	}
	for c.way[len(c.way)-1].mark != mark {
		c.leave(len(c.way) - 1)
	}
	for i := len(ahead) - 1; i >= 0; i-- {
		m := c.tree.marks[ahead[i]]
		fd, err := openMarked(c.way[len(c.way)-1].fd, m.name, m)
		if err != nil {
			return -1, err
		}
		c.way = append(c.way, stop{ahead[i], fd})
		if err := c.lock(fd); err != nil {
			return -1, err
		}
	}
	return c.way[len(c.way)-1].fd, nil
}

func (c *clearing) open(mark int) bool {
	for i := len(c.way) - 1; i >= 0; i-- {
		if c.way[i].mark == mark {
			return true
		}
	}
	return false
}

// leave closes all but the first n directories of the way.
func (c *clearing) leave(n int) {
	for _, s := range c.way[n:] {
		_ = unix.Close(s.fd) // nothing was written through it
	}
	c.way = c.way[:n]
}

// unlink removes the entry of dir if it is as it was marked. A directory has changed by
// being emptied; the removal of one of several names changes the others' ctime.
func (m mark) unlink(dir int) error {
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, m.name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
	case unix.ENOENT:
		return errChanged
	default:
		return err
	}
	now, flags := versionOf(&st), 0
	same := m.sameState(now) && (m.links > 1 || m.ctime == now.ctime)
	if m.kind == unix.S_IFDIR {
		same, flags = m.sameFile(now), unix.AT_REMOVEDIR
	}
	if !same || uint32(st.Mode)&unix.S_IFMT != m.kind {
		return errChanged
	}
	err := unix.Unlinkat(dir, m.name, flags)
	if err == unix.ENOTEMPTY || err == unix.EEXIST || err == unix.ENOENT {
		return errChanged
	}
	return err
}
