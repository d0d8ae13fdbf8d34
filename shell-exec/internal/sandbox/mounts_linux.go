package sandbox

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
)

// What level 2 adds: all commands of a server live in namespaces of their own. A
// keeper process has made them; it is the first process of the PID namespace, so
// that its end is the end of all commands. A command enters them between fork and
// exec: this process and its threads never do.
//
// There is one set of mounts for each set of rules, with a /tmp, /dev/shm, /proc
// and /dev/pts that all commands of the server share.

// mounts is what the keeper is asked to make: a mount namespace in which
// everything is read-only except what may be written, empty directories cover what
// is not granted, and what is granted in those is put back.
type mounts struct {
	Covers   []string  // directories
	Kept     []subtree // in no order
	Hidden   []subtree // directories of Kept that nobody sees into
	Writable bool      // all that no other rule is about
	Terminal uint64    // the device of the /dev/pts that the command's terminal is in; 0 for none
}

// subtree is a part of the file system. Its numbers tell that the name still leads
// to what the grant holds.
type subtree struct {
	Path  string
	Name  string // that the operator knows it by, where that is another one
	Dev   uint64
	Ino   uint64
	Dir   bool
	Write bool

	tree int // detached, open in the keeper
	at   int // what it is mounted on; -1 for what its name leads to
}

// scratch are directories that the commands of a server have to themselves.
func scratch() []string { return []string{"/tmp", "/dev/shm", "/var/tmp"} }

// newMounts is what rules ask for.
func newMounts(r Rules, allowed []grant, home string) (m mounts, err error) {
	m.Covers = covers(allowed, home)
	for _, g := range allowed {
		write := g.rights&writeRights == writeRights
		if !write && (g.rights == 0 || !covered(g.path, slices.Concat(m.Covers, scratch()))) {
			continue
		}
		k, err := g.subtree(write)
		switch {
		case err != nil && g.rule:
			return m, err
		case err != nil: // what this machine lacks is left out
		case k.Path == "/":
			m.Writable = m.Writable || write
		default:
			m.Kept = append(m.Kept, k)
		}
	}
	for _, g := range r.Hide {
		k, err := grant{path: g.Path(), held: g}.subtree(false)
		if err != nil {
			return m, err
		}
		m.Hidden = append(m.Hidden, k)
	}
	return m, nil
}

// covers are all directories at the root of the file system that are not granted whole, because of what
// other programs keep in them, and the home directory.
func covers(allowed []grant, home string) (out []string) {
	open := []string{"/dev", "/proc", "/sys"}
	for _, g := range allowed {
		if g.rights&readRights == readRights {
			open = append(open, g.path)
		}
	}
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		if path := "/" + e.Name(); e.IsDir() && !covered(path, open) {
			out = append(out, path)
		}
	}
	if home != "" && !contains(home, "/usr") && isDir(home) && !covered(home, slices.Concat(out, open)) {
		out = append(out, home)
	}
	return out
}

// subtree is the grant for the keeper.
func (g grant) subtree(write bool) (subtree, error) {
	k := subtree{Path: g.path, Write: write}
	err := g.use(func(fd uintptr) error {
		var st unix.Stat_t
		err := unix.Fstat(int(fd), &st)
		k.Dev, k.Ino, k.Dir = st.Dev, st.Ino, st.Mode&unix.S_IFMT == unix.S_IFDIR
		return err
	})
	if err == nil && g.held == nil {
		k.Path, err = filepath.EvalSymlinks(g.path)
	}
	if named, ok := g.held.(*confine.Grant); ok && named.Name() != k.Path {
		k.Name = named.Name()
	}
	return k, err
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// covered reports whether an empty directory comes to lie over path.
func covered(path string, covers []string) bool {
	return slices.ContainsFunc(covers, func(dir string) bool { return contains(dir, path) })
}

// each calls do with every item, until one fails.
func each[T any](items []T, do func(T) error) error {
	for _, item := range items {
		if err := do(item); err != nil {
			return err
		}
	}
	return nil
}

// make gives the calling thread, of the keeper, the mounts. shared are trees to
// attach by directory.
func (m mounts) make(shared map[string]int) error {
	// What is kept is taken hold of before it is covered.
	kept := make([]*subtree, len(m.Kept))
	for i := range m.Kept {
		kept[i] = &m.Kept[i]
		kept[i].tree, kept[i].at = -1, -1
	}
	defer func() {
		for _, k := range kept {
			unix.Close(k.tree)
			unix.Close(k.at)
		}
	}()
	if err := each(kept, (*subtree).take); err != nil {
		return err
	}

	// Empty directories cover the rest, the shared trees lie in them, and names for what is kept.
	if err := each(m.Covers, func(dir string) error { return empty(dir, "mode=755,size=1m") }); err != nil {
		return err
	}
	dirs := slices.Sorted(maps.Keys(shared))
	err := each(dirs, func(dir string) error {
		if err := os.MkdirAll(dir, 0o755); err != nil { // its name may be covered
			return err
		}
		if err := unix.MoveMount(shared[dir], "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(scratch(), func(dir string) bool { return !slices.Contains(dirs, dir) })
	over := slices.Concat(m.Covers, own)
	if err := each(kept, func(k *subtree) error { return k.place(over) }); err != nil {
		return err
	}

	// All is read-only but what is shared. In /proc root could change the kernel's settings.
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if m.Writable {
		attr.Attr_set = unix.MOUNT_ATTR_NOSUID
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("read-only: %w", err)
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "/proc" })
	err = each(dirs, func(dir string) error {
		if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("writable %s: %w", dir, err)
		}
		return nil
	})
	if err != nil {
		return err
	}

	// What is kept comes back, the outer ones first: they cover the names of the inner ones.
	slices.SortStableFunc(kept, func(a, b *subtree) int { return len(a.Path) - len(b.Path) })
	for i, k := range kept {
		inner := slices.ContainsFunc(kept[:i], func(outer *subtree) bool { return contains(outer.Path, k.Path) })
		if err := k.mount(inner); err != nil {
			return err
		}
	}
	if err := m.pin(); err != nil {
		return err
	}
	return each(m.Hidden, func(k subtree) error {
		at, err := k.open() // as the command would reach it now
		if err != nil {
			return err
		}
		defer unix.Close(at)
		const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY
		if err := unix.Mount("tmpfs", fmt.Sprintf("/proc/self/fd/%d", at), "tmpfs", flags, "mode=000,size=4k"); err != nil {
			return fmt.Errorf("hide %s: %w", k.Path, err)
		}
		return nil
	})
}

// empty lays an empty file system over a directory.
func empty(dir, options string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	return nil
}

// open opens what the grant holds, by its name and without links.
func (k subtree) open() (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, k.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, fmt.Errorf("%s: %w", k.Path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != k.Dev || st.Ino != k.Ino {
		unix.Close(fd)
		return -1, fmt.Errorf("%s was moved or replaced", k.Path)
	}
	return fd, nil
}

// take keeps a hold of the subtree before it is covered.
func (k *subtree) take() error {
	fd, err := k.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if k.tree, err = cloneTree(fd); err != nil {
		return fmt.Errorf("open_tree %s: %w", k.Path, err)
	}
	return nil
}

// cloneTree is a copy of the mounts at and in an open directory.
func cloneTree(at int) (int, error) {
	return unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
}

// place makes the name that a kept subtree is mounted on, where it was covered, and
// a link where the operator's name for it was.
func (k *subtree) place(covers []string) (err error) {
	if k.Name != "" && covered(k.Name, covers) {
		if dir, err := makeDirs(filepath.Dir(k.Name), covers, false); err == nil {
			_ = unix.Symlinkat(k.Path, dir, filepath.Base(k.Name)) // where something else is in the way, the other name has to do
			unix.Close(dir)
		}
	}
	if !covered(k.Path, covers) {
		return nil
	}
	if k.Dir {
		k.at, err = makeDirs(k.Path, covers, true)
	} else {
		var dir int
		if dir, err = makeDirs(filepath.Dir(k.Path), covers, true); err == nil {
			k.at, err = enter(dir, filepath.Base(k.Path), false, true)
			unix.Close(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("place %s: %w", k.Path, err)
	}
	return nil
}

// makeDirs opens a directory in one of covers, and makes what is missing of its name. Commands
// share some of those and may have put there what they like: no link is followed, and
// with force what is in the way gets another name.
func makeDirs(path string, covers []string, force bool) (int, error) {
	top := ""
	for _, dir := range covers {
		if contains(dir, path) && len(dir) > len(top) {
			top = dir
		}
	}
	if top == "" {
		return -1, unix.ENOENT
	}
	at, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	rest, _ := filepath.Rel(top, path)
	for name := range strings.SplitSeq(rest, "/") {
		if err != nil || rest == "." {
			break
		}
		var next int
		next, err = enter(at, name, true, force)
		unix.Close(at)
		at = next
	}
	return at, err
}

// enter opens an entry of a directory that is a directory, or a file, and makes it if there is none.
func enter(dir int, name string, wantDir, force bool) (int, error) {
	for range maxLooks { // commands may be at it at the same time
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.ENOENT && wantDir:
			err = unix.Mkdirat(dir, name, 0o755)
		case err == unix.ENOENT:
			err = unix.Mknodat(dir, name, unix.S_IFREG|0o444, 0)
		case err == nil:
			var st unix.Stat_t
			err = unix.Fstat(fd, &st)
			if err == nil && usable(st.Mode, wantDir, force) {
				return fd, nil
			}
			unix.Close(fd)
			if err == nil && !force {
				err = unix.ENOTDIR
			}
			if err != nil {
				return -1, err
			}
			err = unix.Renameat2(dir, name, dir, name+"."+rand.Text(), unix.RENAME_NOREPLACE)
		}
		if err != nil && err != unix.EEXIST && err != unix.ENOENT {
			return -1, err
		}
	}
	return -1, unix.EBUSY
}

// usable reports whether an entry with this mode can be what is mounted on, or passed through.
func usable(mode uint32, wantDir, force bool) bool {
	if wantDir {
		return mode&unix.S_IFMT == unix.S_IFDIR && (!force || mode&0o700 == 0o700)
	}
	return mode&unix.S_IFMT == unix.S_IFREG
}

// pin mounts on itself every directory between one that commands may write and what is hidden
// or kept inside of it. Else they could move it away, with what is in it, and put their own there.
func (m mounts) pin() error {
	done := map[string]bool{}
	for _, k := range m.Kept {
		done[k.Path] = true // it is a mount already
	}
	writable := func(dir string) bool {
		return m.Writable || slices.ContainsFunc(m.Kept, func(k subtree) bool { return k.Write && contains(k.Path, dir) })
	}
	for _, k := range slices.Concat(m.Hidden, m.Kept) {
		var between []string
		for dir := filepath.Dir(k.Path); dir != "/" && writable(dir); dir = filepath.Dir(dir) {
			between = append(between, dir)
		}
		for _, dir := range slices.Backward(between) {
			if done[dir] {
				continue
			}
			done[dir] = true
			if err := mountOnItself(dir); err != nil {
				return fmt.Errorf("keep %s in its place: %w", dir, err)
			}
		}
	}
	return nil
}

func mountOnItself(dir string) error {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	at, err := unix.Openat2(unix.AT_FDCWD, dir, how)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree, err := cloneTree(at)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mount puts a subtree back to where it was: on the name that place made, or where there is none, or it
// has been covered since, on what its name leads to.
func (k *subtree) mount(coveredSince bool) (err error) {
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !k.Write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(k.tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("mount_setattr %s: %w", k.Path, err)
	}
	at := k.at
	if at < 0 || coveredSince {
		if at, err = k.open(); err != nil {
			return err
		}
		defer unix.Close(at)
	}
	if err := unix.MoveMount(k.tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount %s: %w", k.Path, err)
	}
	return nil
}
