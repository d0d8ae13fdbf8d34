package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Rights beneath a path. Devices are never made, and none but devicePaths are
// commanded (ioctl).
const (
	readRights  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo |
		ll.AccessFSResolveUnix
	deviceRights = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	fileRights   = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// grant is a right beneath a path.
type grant struct {
	path   string
	rights uint64
	wanted bool // a rule of the caller: it must exist
}

// grants are what r allows, with the system and the tools.
func grants(r Rules, home string) []grant {
	var out []grant
	add := func(rights uint64, wanted bool, paths ...string) {
		for _, path := range paths {
			out = append(out, grant{path, rights, wanted})
		}
	}
	for _, path := range SystemPaths() {
		out = append(out, except(path, privatePaths())...)
	}
	add(readRights, false, toolPaths(home, os.Getenv)...)
	add(deviceRights, false, devicePaths()...)
	add(readRights, true, r.Read...)
	add(writeRights, true, r.Write...)
	if r.Temp != "" {
		add(writeRights, true, r.Temp)
	}
	return out
}

// except grants reading dir without what is private beneath it: dir itself where
// nothing is or the user could not read it anyway, else its names and its entries.
func except(dir string, private []string) []grant {
	if !slices.ContainsFunc(private, func(p string) bool { return strings.HasPrefix(p, dir+"/") }) || os.Geteuid() != 0 {
		return []grant{{dir, readRights, false}}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := []grant{{dir, ll.AccessFSReadDir, false}}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&os.ModeSymlink != 0 || slices.Contains(private, path) {
			continue // a link leads to what has a rule of its own, or none
		}
		out = append(out, except(path, private)...)
	}
	return out
}

// handled is what a domain forbids unless a grant allows it: all that the ABI knows.
func handled(abi int, network bool) ll.RulesetAttr {
	attr := ll.RulesetAttr{HandledAccessFS: ll.AccessFSMakeSym<<1 - 1}
	for _, since := range []struct {
		abi int
		fs  uint64
	}{{2, ll.AccessFSRefer}, {3, ll.AccessFSTruncate}, {5, ll.AccessFSIoctlDev}, {9, ll.AccessFSResolveUnix}} {
		if abi >= since.abi {
			attr.HandledAccessFS |= since.fs
		}
	}
	if abi >= 4 && !network {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 10 && !network {
		attr.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	if abi >= 6 {
		// Abstract sockets always: behind them are other programs of the person,
		// not the network.
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return attr
}

// inode is what a name led to; without a number, to nothing that may be used. A
// directory of which only the names are granted is looked at for new ones.
type inode struct {
	path     string
	dev, ino uint64
	names    bool
	changed  unix.Timespec
}

// ruleset is rules in the kernel's hands, not yet in force, and what the
// caller's names led to.
func ruleset(abi int, network bool, grants []grant) (set *os.File, wanted, rest []inode, err error) {
	attr := handled(abi, network)
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	set = os.NewFile(uintptr(fd), "landlock") // closed by the collector once nothing starts from it
	for _, g := range grants {
		at, err := g.add(fd, attr.HandledAccessFS)
		switch {
		case !g.wanted:
			rest = append(rest, at)
		case err == nil:
			wanted = append(wanted, at)
		default:
			set.Close()
			return nil, nil, nil, fault.New(fault.NotFound, "a path that the command may use is not there: "+g.path, "Create it, or take it out of the configuration").With("path", g.path).Because(err)
		}
	}
	return set, wanted, rest, nil
}

// add puts the grant into a ruleset. What the system or a tool lacks is left out.
func (g grant) add(ruleset int, handled uint64) (inode, error) {
	at := inode{path: g.path, names: g.rights == ll.AccessFSReadDir}
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return at, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return at, err
	}
	at.dev, at.ino, at.changed = st.Dev, st.Ino, st.Mtim
	rights := g.rights
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	err = ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights & handled, ParentFd: fd}, 0)
	if errors.Is(err, unix.EBADFD) {
		err = nil // a file that lives in the kernel alone; Landlock does not handle those
	}
	return at, err
}

// moved reports whether the name leads elsewhere now.
func (i inode) moved() bool {
	var st unix.Stat_t
	if unix.Stat(i.path, &st) != nil {
		return i.ino != 0
	}
	return st.Dev != i.dev || st.Ino != i.ino || i.names && st.Mtim != i.changed
}
