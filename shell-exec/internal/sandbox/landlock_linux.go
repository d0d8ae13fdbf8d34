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

	"github.com/multiollama/mcp-server/shared/confine"
)

// Rights beneath a path. Devices are never made, and none but devicePaths are
// commanded (ioctl).
const (
	readRights  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo
	deviceRights = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	fileRights   = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// grant is a right in a directory or to a file. What the caller and the tools name
// is held open by held; what belongs to the system is looked up by its name.
type grant struct {
	path   string
	rights uint64
	held   holding
	rule   bool // of the caller: it does not change
}

// holding is something open, whose descriptor is lent.
type holding interface {
	Lend(func(fd uintptr) error) error
}

// grants are what r allows, with the system and the tools. A tool folder that is
// not there, or that commands could lead elsewhere, is left out.
func grants(r Rules, home string, guarded []string) []grant {
	var out []grant
	for _, path := range SystemPaths() {
		out = append(out, except(path, privatePaths())...)
	}
	for _, path := range toolPaths(home, os.Getenv) {
		tool, err := confine.OpenGrant(path, guarded)
		if err != nil {
			out = append(out, grant{path: path}) // it may come
			continue
		}
		out = append(out, grant{path: path, rights: readRights, held: tool})
	}
	for _, path := range r.Sockets {
		if socket, err := confine.OpenGrant(path, guarded); err == nil {
			out = append(out, grant{path: path, rights: ll.AccessFSResolveUnix, held: socket})
		} else {
			out = append(out, grant{path: path}) // it may come
		}
	}
	for _, path := range devicePaths() {
		out = append(out, grant{path: path, rights: deviceRights})
	}
	for _, g := range r.Read {
		out = append(out, grant{g.Path(), readRights, g, true})
	}
	for _, g := range r.Write {
		out = append(out, grant{g.Path(), writeRights, g, true})
	}
	if r.Temp != nil {
		out = append(out, grant{r.Temp.Path(), writeRights, r.Temp, true})
	}
	return out
}

// except grants reading dir without what is private in it: dir itself where
// nothing is or the user could not read it anyway, else its names and its entries.
func except(dir string, private []string) []grant {
	if !slices.ContainsFunc(private, func(p string) bool { return strings.HasPrefix(p, dir+"/") }) || os.Geteuid() != 0 {
		return []grant{{path: dir, rights: readRights}}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := []grant{{path: dir, rights: ll.AccessFSReadDir}}
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

// ruleset is rules in the kernel's hands, not yet in force, and what the names of
// the system and the tools led to.
func ruleset(abi int, network bool, grants []grant) (set *os.File, named []inode, err error) {
	attr := handled(abi, network)
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	set = os.NewFile(uintptr(fd), "landlock") // closed by the collector once nothing starts from it
	for _, g := range grants {
		at, err := g.add(fd, attr.HandledAccessFS)
		switch {
		case !g.rule:
			named = append(named, at) // what this machine lacks is left out
		case err != nil:
			set.Close()
			return nil, nil, fmt.Errorf("landlock, %s: %w", g.path, err)
		}
	}
	return set, named, nil
}

// add puts the grant into a ruleset.
func (g grant) add(ruleset int, handled uint64) (at inode, err error) {
	at = inode{path: g.path, names: g.rights == ll.AccessFSReadDir}
	err = g.use(func(fd uintptr) error {
		var st unix.Stat_t
		if err := unix.Fstat(int(fd), &st); err != nil {
			return err
		}
		at.dev, at.ino, at.changed = st.Dev, st.Ino, st.Mtim
		rights := g.rights
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			rights &= fileRights
		}
		if rights&handled == 0 {
			return nil
		}
		err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights & handled, ParentFd: int(fd)}, 0)
		if errors.Is(err, unix.EBADFD) {
			return nil // a file that lives in the kernel alone; Landlock does not handle those
		}
		return err
	})
	return at, err
}

// use lends the descriptor of what is granted.
func (g grant) use(f func(fd uintptr) error) error {
	if g.held != nil {
		return g.held.Lend(f)
	}
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(uintptr(fd))
}

// moved reports whether the name leads elsewhere now.
func (i inode) moved() bool {
	var st unix.Stat_t
	if unix.Stat(i.path, &st) != nil {
		return i.ino != 0
	}
	return st.Dev != i.dev || st.Ino != i.ino || i.names && st.Mtim != i.changed
}
