package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// plan is rules as the kernel takes them. The thread that starts a command enters
// the ruleset and the filter, and the command all the rest between fork and exec.
type plan struct {
	rules   Rules
	ruleset *os.File // nil without Landlock
	filter  restrict.Program
	keeper  *keeper  // of level 2; nil at level 1
	mounts  *os.File // its mount namespace for these rules
	named   []inode  // what the names of the system and the tools led to, if to anything
	made    time.Time
	looked  time.Time // when named was looked at last
}

// enter binds the calling thread, which must never run anything else again.
func (p *plan) enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if p.ruleset != nil {
		defer runtime.KeepAlive(p.ruleset)
		if err := ll.LandlockRestrictSelf(int(p.ruleset.Fd()), 0); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if p.filter != nil {
		if err := p.filter.ThisThread(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return nil
}

// compile makes the plan of rules. A command with a terminal has one of its own.
func (s *Sandbox) compile(r Rules, terminal *os.File) (*plan, error) {
	now := time.Now()
	p := &plan{rules: r, made: now, looked: now}
	allowed := grants(r, s.home, append(slices.Clip(s.guarded), r.writable()...))
	level := 1
	if k := s.currentKeeper(); k != nil {
		level = 2
		own, files, err := p.makeMounts(k, allowed, s.home, terminal)
		if err != nil {
			return nil, err
		}
		defer closeFiles(files)
		allowed = append(allowed, own...)
	}
	for _, hidden := range r.Hide {
		if level == 1 && covered(hidden.Path(), append(r.writable(), r.readable()...)) {
			return nil, fault.New(fault.Misconfigured,
				hidden.Path()+" lies in a directory that commands may use, and only level 2 of the sandbox can hide it",
				"Allow a directory without it, or keep it elsewhere").With("path", hidden.Path())
		}
	}
	if s.machine.seccomp {
		p.filter = filter(s.machine.landlock, level, r.Network)
	}
	if s.machine.landlock == 0 {
		return p, nil
	}
	if terminal != nil && level == 1 {
		// A command may open its own terminal by name, as /dev/stdin for one does. Others stay
		// shut: the rule is about this one, not about its name, which another may have later.
		allowed = append(allowed, grant{"", deviceRights, openFile{terminal}, true})
	}
	var err error
	p.ruleset, p.named, err = ruleset(s.machine.landlock, r.Network || level == 2, allowed)
	return p, err
}

// makeMounts has the keeper make the mounts of level 2. It returns rights in the directories there that
// commands have to themselves: rules name inodes, and those of the new mounts are new. The caller closes files.
func (p *plan) makeMounts(k *keeper, allowed []grant, home string, terminal *os.File) (own []grant, files []*os.File, err error) {
	m, err := newMounts(p.rules, allowed, home)
	if err != nil {
		return nil, nil, err
	}
	if terminal != nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(terminal.Fd()), &st); err != nil {
			return nil, nil, err
		}
		m.Terminal = st.Dev
	}
	answer, files, err := k.ask(request{Mounts: &m})
	if err != nil {
		return nil, nil, err
	}
	p.keeper, p.mounts = k, files[0]
	for i, dir := range answer.Own {
		rights := uint64(writeRights)
		switch dir {
		case "/proc":
			rights = readRights
		case "/dev/pts":
			rights = readRights | deviceRights
		}
		own = append(own, grant{dir, rights, openFile{files[1+i]}, true})
	}
	return own, files[1:], nil
}

// openFile is what a grant holds that no configuration names.
type openFile struct{ *os.File }

// Lend implements lender.
func (f openFile) Lend(use func(fd uintptr) error) error {
	defer runtime.KeepAlive(f.File)
	return use(f.Fd())
}

// close is for a plan that is used once.
func (p *plan) close() {
	if p.ruleset != nil {
		_ = p.ruleset.Close()
	}
	if p.mounts != nil {
		_ = p.mounts.Close()
	}
}

// plans keeps the plans of the last few rules: most commands have the same, and
// to look up a hundred paths takes as long as to start a program.
type plans struct {
	mu    sync.Mutex
	known []*plan // the latest last
}

const (
	maxPlans  = 16
	maxUnseen = 5 * time.Second // then a tool that was installed meanwhile is seen
	maxAge    = time.Minute     // then everything is looked up again
)

// plan is that of r: one that is kept, while its names still lead where they did, or a new one.
func (s *Sandbox) plan(r Rules) (*plan, error) {
	k := &s.plans
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.known, func(p *plan) bool { return p.rules.same(r) })
	if i >= 0 {
		p := k.known[i]
		fresh := p.keeper == nil || !p.keeper.ended()
		if fresh && time.Since(p.looked) >= maxUnseen {
			p.looked = time.Now()
			fresh = p.looked.Sub(p.made) < maxAge && !slices.ContainsFunc(p.named, inode.moved)
		}
		if fresh {
			return p, nil
		}
	}
	p, err := s.compile(r, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case i >= 0:
		k.known = slices.Delete(k.known, i, i+1)
	case len(k.known) >= maxPlans:
		k.known = slices.Delete(k.known, 0, 1)
	}
	k.known = append(k.known, p)
	return p, nil
}

// same reports whether both are the very same grants.
func (r Rules) same(o Rules) bool {
	return slices.Equal(r.Read, o.Read) && slices.Equal(r.Write, o.Write) && slices.Equal(r.Hide, o.Hide) &&
		slices.Equal(r.Sockets, o.Sockets) && r.Temp == o.Temp && r.Network == o.Network
}

// Rights in a path. Devices are never made, and none but devicePaths are
// commanded (ioctl).
const (
	readRights  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo
	deviceRights = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	fileRights   = deviceRights | ll.AccessFSExecute | ll.AccessFSResolveUnix // those that mean something for a file
)

// grant is a right in a directory or to a file. What the caller and the tools name
// is held open by held; what belongs to the system is looked up by its name.
type grant struct {
	path   string
	rights uint64
	held   lender // nil: what has the name by the time that the rules are made
	rule   bool   // of the caller: it does not change
}

// lender is something open, whose descriptor is lent.
type lender interface {
	Lend(func(fd uintptr) error) error
}

// grants are what r allows, with the system and the tools. A tool folder that is
// not there, or that commands could lead elsewhere, is left out.
func grants(r Rules, home string, guarded []string) []grant {
	var out []grant
	for _, path := range SystemPaths() {
		out = append(out, except(path, privatePaths)...)
	}
	add := func(path string, rights uint64) {
		held, err := confine.OpenGrant(path, guarded)
		if err != nil {
			out = append(out, grant{path: path}) // it may come
			return
		}
		out = append(out, grant{path: path, rights: rights, held: held})
	}
	for _, path := range toolPaths(home, os.Getenv) {
		add(path, readRights)
	}
	for _, path := range r.Sockets {
		add(path, ll.AccessFSResolveUnix)
	}
	for _, path := range devicePaths {
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
