package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// enterNamespaces gives the calling thread namespaces of its own, and binds it.
// It needs CAP_SYS_ADMIN in the user namespace, which Enter gives.
func (l *launch) enterNamespaces() error {
	allowed := grants(l.c.Rules, l.s.home)
	if err := isolate(allowed, covers(allowed, l.s.home), l.c.Rules.Network); err != nil {
		return err
	}
	if l.means == bySpace {
		var err error
		if l.space, err = newSpace(l.c.Detached); err != nil {
			return err
		}
	}
	// Rules name inodes, and those beneath the new mounts are new.
	r := l.c.Rules
	r.Write = append(r.Write[:len(r.Write):len(r.Write)], writableScratch()...)
	p, err := l.s.machine.newPlan(r, l.s.home, 2)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.open(l.s.machine, l.terminal); err != nil {
		return err
	}
	if err := dropCapabilities(0); err != nil {
		return err
	}
	return p.enter()
}

// scratch are directories that every command has to itself, empty at first.
func scratch() []string { return []string{"/tmp", "/dev/shm", "/var/tmp"} }

// covers are the directories that empty ones come to lie over: all at the root
// of the file system that are not granted whole, because of the sockets of other
// programs in them, which no rule keeps a command from; and the home directory.
func covers(allowed []grant, home string) []string {
	kept := []string{"/dev", "/proc", "/sys"}
	for _, g := range allowed {
		kept = append(kept, g.path)
	}
	out := []string{}
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		if path := "/" + e.Name(); e.IsDir() && !slices.Contains(kept, path) {
			out = append(out, path)
		}
	}
	for _, dir := range writableScratch() {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	if home != "" && !contains(home, "/usr") && isDir(home) && !covered(home, out) {
		out = append(out, home)
	}
	return out
}

// isolate makes everything read-only except what may be written, puts empty
// directories over those that are shared with others, and without network takes
// all interfaces away but a loopback of its own.
func isolate(allowed []grant, covers []string, network bool) error {
	flags := unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if !network {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("mounts to ourselves: %w", err)
	}
	kept, err := keep(allowed, covers)
	defer closeAll(kept)
	if err != nil {
		return err
	}
	if err := cover(covers); err != nil {
		return err
	}
	for _, k := range kept {
		if err := k.place(covers); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}); err != nil {
		return fmt.Errorf("read-only: %w", err)
	}
	for _, k := range kept {
		if err := k.mount(); err != nil {
			return err
		}
	}
	for _, dir := range writableScratch() {
		if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("scratch %s: %w", dir, err)
		}
	}
	if network {
		return nil
	}
	return loopback()
}

// writableScratch are the scratch directories that this machine has.
func writableScratch() []string {
	return slices.DeleteFunc(scratch(), func(dir string) bool { return !isDir(dir) })
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// subtree is a part of the file system that stays as it is under what covers it.
type subtree struct {
	path  string
	fd    int
	dir   bool
	write bool
}

// keep takes hold of what may be written, and of what may be read beneath a
// covered directory, before it is covered.
func keep(allowed []grant, covers []string) ([]subtree, error) {
	var out []subtree
	for _, g := range allowed {
		path, err := filepath.EvalSymlinks(g.path)
		write := g.rights&writeRights == writeRights
		if err != nil || !write && !covered(path, covers) || slices.ContainsFunc(out, func(k subtree) bool { return k.path == path && (k.write || !write) }) {
			continue
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			if !g.wanted {
				continue
			}
			return out, fmt.Errorf("open_tree %s: %w", path, err)
		}
		out = append(out, subtree{path, fd, isDir(path), write})
	}
	slices.SortStableFunc(out, func(a, b subtree) int { return cmp.Compare(len(a.path), len(b.path)) })
	return out, nil
}

func closeAll(kept []subtree) {
	for _, k := range kept {
		unix.Close(k.fd)
	}
}

// covered reports whether an empty directory comes to lie over path.
func covered(path string, covers []string) bool {
	return slices.ContainsFunc(covers, func(dir string) bool { return contains(dir, path) })
}

// cover lays empty file systems over directories, in this order.
func cover(dirs []string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil { // its name may be covered already
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=512m"); err != nil {
			return fmt.Errorf("empty %s: %w", dir, err)
		}
	}
	return nil
}

// place makes the name that a kept subtree is mounted on, where it was covered.
func (k subtree) place(covers []string) error {
	if !covered(k.path, covers) {
		return nil
	}
	dir := k.path
	if !k.dir {
		dir = filepath.Dir(k.path)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil || k.dir {
		return err
	}
	f, err := os.OpenFile(k.path, os.O_CREATE|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

// mount puts a subtree back to where it was.
func (k subtree) mount() error {
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !k.write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(k.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("mount_setattr %s: %w", k.path, err)
	}
	if err := unix.MoveMount(k.fd, "", unix.AT_FDCWD, k.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount %s: %w", k.path, err)
	}
	return nil
}

// loopback turns on lo, so that tests of servers work.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	return nil
}
