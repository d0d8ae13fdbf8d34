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

	"github.com/multiollama/mcp-server/shared/seccomp"
)

// plan is rules as the kernel takes them. A thread that enters it is bound.
type plan struct {
	ruleset *os.File // nil without Landlock
	filter  seccomp.Program
	seen    []inode // what the caller's names led to
	rest    []inode // what the others led to, if to anything
	made    time.Time
	looked  time.Time // when rest was looked at last
}

// enter binds the calling thread, which must never run anything else again.
func (p *plan) enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := dropCapabilities(rootKeeps); err != nil {
		return err
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

// newPlan compiles rules for m.
func (m machine) newPlan(r Rules, home string, level int) (*plan, error) {
	now := time.Now()
	p := &plan{made: now, looked: now}
	if m.seccomp {
		p.filter = filter(m.landlock, level, r.Network)
	}
	if m.landlock == 0 {
		return p, nil
	}
	var err error
	p.ruleset, p.seen, p.rest, err = ruleset(m.landlock, r.Network || level == 2, grants(r, home))
	return p, err
}

// open lets a command open its own terminal by name, as /dev/stdin for one does; nil is none. Other terminals stay shut:
// the rule is about this one, not about its name, which another may have later.
func (p *plan) open(m machine, terminal *os.File) error {
	if p.ruleset == nil || terminal == nil {
		return nil
	}
	attr := handled(m.landlock, true)
	own := &ll.PathBeneathAttr{AllowedAccess: deviceRights & attr.HandledAccessFS, ParentFd: int(terminal.Fd())}
	if err := ll.LandlockAddPathBeneathRule(int(p.ruleset.Fd()), own, 0); err != nil {
		return fmt.Errorf("landlock, the command's terminal: %w", err)
	}
	return nil
}

// close is for a plan that nobody keeps.
func (p *plan) close() {
	if p.ruleset != nil {
		_ = p.ruleset.Close()
	}
}

// plans keeps the plans of the last few rules: most commands have the same, and
// to look up a hundred paths takes as long as to start a program.
type plans struct {
	mu    sync.Mutex
	known map[string]*plan
}

const (
	maxPlans = 16
	maxAge   = 5 * time.Second // then a tool that was installed meanwhile is seen
	lasting  = time.Minute     // then everything is looked up anew
)

// of is the plan of r. One that is kept is good only while the caller's names
// lead where they did.
func (k *plans) of(m machine, r Rules, home string) (*plan, error) {
	key := fmt.Sprintf("%q %q %q %t", r.Read, r.Write, r.Temp, r.Network)
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.known[key]; p != nil && p.fresh() {
		return p, nil
	}
	p, err := m.newPlan(r, home, 1)
	if err != nil {
		return nil, err
	}
	if k.known == nil || len(k.known) >= maxPlans {
		k.known = map[string]*plan{}
	}
	k.known[key] = p
	return p, nil
}

// fresh reports whether the rules would still be the same. The caller's names are
// looked at each time, the others from time to time.
func (p *plan) fresh() bool {
	if slices.ContainsFunc(p.seen, inode.moved) {
		return false
	}
	if time.Since(p.looked) < maxAge {
		return true
	}
	p.looked = time.Now()
	return p.looked.Sub(p.made) < lasting && !slices.ContainsFunc(p.rest, inode.moved)
}
