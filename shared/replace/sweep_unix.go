//go:build linux || darwin

package replace

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// sweep removes the leftovers in an open directory, unless somebody is writing there.
func sweep(ctx context.Context, p confine.Path, dir int) (removed int, err error) {
	err = again(func() error { return unix.Flock(dir, unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		return 0, nil // whoever writes there now could be using what looks left over
	}
	if err != nil {
		return 0, fault.New(fault.Unavailable, "the directory "+shown(p)+" cannot be locked, so that what is left over cannot be told from what is in use",
			"Remove files called "+draftPrefix+"… by hand when no server runs").With("path", p.String()).Because(err)
	}
	names, err := namesIn(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		kind, ok := leftOver(dir, name)
		if !ok {
			continue
		}
		failed := again(func() error { return unix.Unlinkat(dir, name, 0) })
		if kind == unix.S_IFDIR {
			failed = sweepTree(ctx, &place{path: p, at: dir, name: name})
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed++
	}
	return removed, err
}

// leftOver knows a draft by its name, by being a file or a directory, and by its owner.
func leftOver(dir int, name string) (kind uint32, ok bool) {
	var st unix.Stat_t
	if !isDraft(name) || fstatat(dir, name, &st) != nil {
		return 0, false
	}
	kind = uint32(st.Mode) & unix.S_IFMT
	return kind, (kind == unix.S_IFREG || kind == unix.S_IFDIR) && int(st.Uid) == os.Geteuid()
}

// sweepTree removes a directory that a killed RemoveTree has taken out.
func sweepTree(ctx context.Context, at *place) error {
	t, err := at.openTree(ctx, rounds{})
	if err != nil {
		return err
	}
	defer t.file.Close() // nothing was written through it
	if _, err := t.clear(ctx, at); err != nil {
		return err
	}
	return unix.Unlinkat(at.at, at.name, unix.AT_REMOVEDIR)
}

// namesIn lists by the descriptor, past the rules that leave entries out of listings.
func namesIn(dir int) ([]string, error) {
	own, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "directory")
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}
