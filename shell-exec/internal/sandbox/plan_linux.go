package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/seccomp"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// plan is rules as the kernel takes them. The thread that starts a command enters
// the ruleset and the filter, and the command all the rest between fork and exec.
type plan struct {
	rules   Rules
	ruleset *os.File // nil without Landlock
	filter  seccomp.Program
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

// namespaces are what a command enters, in this order. It may have a PID namespace
// of its own.
func (p *plan) namespaces(own *space) []forkexec.Namespace {
	k := p.keeper
	if k == nil {
		return nil
	}
	pid, mounts := k.pid, p.mounts
	if own != nil {
		pid, mounts = own.pid, own.mounts
	}
	var out []forkexec.Namespace
	if k.user != nil {
		out = append(out, forkexec.Namespace{File: k.user, Kind: unix.CLONE_NEWUSER})
	}
	if !p.rules.Network {
		out = append(out, forkexec.Namespace{File: k.net, Kind: unix.CLONE_NEWNET})
	}
	return append(out, forkexec.Namespace{File: k.ipc, Kind: unix.CLONE_NEWIPC}, forkexec.Namespace{File: pid, Kind: unix.CLONE_NEWPID}, forkexec.Namespace{File: mounts, Kind: unix.CLONE_NEWNS})
}

// compile makes the plan of rules. A command with a terminal has one of its own.
func (s *Sandbox) compile(r Rules, terminal *os.File) (*plan, error) {
	now := time.Now()
	p := &plan{rules: r, made: now, looked: now}
	allowed := grants(r, s.home, append(slices.Clip(s.guarded), r.writable()...))
	level := 1
	if k := s.keeping(); k != nil {
		level = 2
		m, err := newMounts(r, allowed, s.home)
		if err != nil {
			return nil, err
		}
		if terminal != nil {
			var st unix.Stat_t
			if err := unix.Fstat(int(terminal.Fd()), &st); err != nil {
				return nil, err
			}
			m.Terminal = st.Dev
		}
		answer, files, err := k.ask(request{Mounts: &m})
		if err != nil {
			return nil, err
		}
		p.keeper, p.mounts = k, files[0]
		defer closeFiles(files[1:])
		// Rules name inodes, and those of the new mounts are new.
		for i, dir := range answer.Own {
			rights := uint64(writeRights)
			switch dir {
			case "/proc":
				rights = readRights
			case "/dev/pts":
				rights = readRights | deviceRights
			}
			allowed = append(allowed, grant{dir, rights, openFile{files[1+i]}, true})
		}
	}
	if level == 1 {
		for _, hidden := range r.Hide {
			if covered(hidden.Path(), append(r.writable(), r.readable()...)) {
				return nil, fault.New(fault.Misconfigured, hidden.Path()+" lies in a directory that commands may use, and only level 2 of the sandbox can hide it",
					"Allow a directory without it, or keep it elsewhere").With("path", hidden.Path())
			}
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

// openFile is what a grant holds that no configuration names.
type openFile struct{ *os.File }

// Lend implements holding.
func (f openFile) Lend(use func(fd uintptr) error) error {
	defer runtime.KeepAlive(f.File)
	return use(f.Fd())
}

// close is for a plan that nobody keeps.
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
	maxPlans = 16
	maxAge   = 5 * time.Second // then a tool that was installed meanwhile is seen
	lasting  = time.Minute     // then everything is looked up anew
)

// of is the plan of r: one that is kept, or a new one.
func (k *plans) of(r Rules, compile func(Rules) (*plan, error)) (*plan, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.known, func(p *plan) bool { return p.rules.same(r) })
	if i >= 0 && k.known[i].fresh() {
		return k.known[i], nil
	}
	p, err := compile(r)
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
	return slices.Equal(r.Read, o.Read) && slices.Equal(r.Write, o.Write) && slices.Equal(r.Hide, o.Hide) && slices.Equal(r.Sockets, o.Sockets) && r.Temp == o.Temp && r.Network == o.Network
}

// fresh reports whether the names still lead where they did. They are looked at
// from time to time.
func (p *plan) fresh() bool {
	if p.keeper != nil && p.keeper.ended() {
		return false
	}
	if time.Since(p.looked) < maxAge {
		return true
	}
	p.looked = time.Now()
	return p.looked.Sub(p.made) < lasting && !slices.ContainsFunc(p.named, inode.moved)
}
