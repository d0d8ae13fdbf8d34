package sandbox

import (
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Sandbox starts commands. It is safe for use by many at once.
type Sandbox struct {
	mode    Mode
	level   int   // 2 as long as namespaces can be had
	why     error // why they cannot, where they were wanted
	report  Report
	asked   sync.Once // for the report, which is made then
	home    string
	guarded []string
	machine machine
	canary  *canary
	inner   *os.File // the layer that commands enter on their own; nil without
	family  *family
	plans   plans
	spare   spare

	mu     sync.Mutex
	trees  map[*Tree]*thread // that started it
	keeper *keeper           // at level 2
	held   map[uint64]bool   // sockets that commands were seen to listen at, by cookie
	closed bool
	done   chan struct{} // closed by Close
}

func newSandbox(o Options) (*Sandbox, error) { return inspect().sandbox(o) }

// Confines reports whether commands open only what their rules name, as far as this
// machine should; Report says what was seen of it.
func (s *Sandbox) Confines() bool {
	return s.mode != Off && s.machine.landlock > 0 && (s.machine.landlock >= 3 || s.machine.seccomp)
}

// sandbox is a sandbox on the machine m.
func (m machine) sandbox(o Options) (*Sandbox, error) {
	if os.Getenv(role) != "" { // else a program without Helper would start itself again and again
		return nil, fault.New(fault.Internal, "this program does not call sandbox.Helper first", "")
	}
	closeOnExec()
	sweepGroups(m.group)
	s := &Sandbox{mode: o.Mode, level: o.Level, home: o.Home, guarded: o.Guarded, machine: m, family: newFamily(), trees: map[*Tree]*thread{}, done: make(chan struct{})}
	if o.Mode == Off {
		return s, nil
	}
	var err error
	if s.canary, err = newCanary(); err != nil {
		return nil, fault.New(fault.Unavailable, "the sandbox could not be tried: /bin/sh does not start", "Install a shell, or use --sandbox off").Because(err)
	}
	if s.inner, err = m.newInner(); err != nil {
		s.canary.close()
		return nil, fault.New(fault.Unavailable, "the sandbox could not be tried: Landlock has no second layer", "Use --sandbox off, or another kernel").Because(err)
	}
	if m.supervisor && m.adopts {
		if err := adopt(); err != nil {
			s.Close()
			return nil, fault.New(fault.Unavailable, "the sandbox could not be tried: orphans do not come to this process", "Use --sandbox off").Because(err)
		}
		go s.family.bury(s.done)
	}
	if s.level == 2 {
		s.why = s.openNamespaces()
	}
	return s, nil
}

func (s *Sandbox) remember(t *Tree, by *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees[t] = by
}

// known are the trees that are not over, and the threads that started them.
func (s *Sandbox) known() map[*Tree]*thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.trees)
}

// ending reports whether Close has begun.
func (s *Sandbox) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Sandbox) forget(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trees, t)
}

// keeping is the keeper of level 2, or nil at level 1. One that has ended, killed by
// somebody, is replaced: what was in its namespaces has ended with it.
func (s *Sandbox) keeping() *keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keeper != nil && s.keeper.ended() && !s.closed {
		if again, err := newKeeper(); err == nil {
			s.keeper.close()
			s.keeper = again
		}
	}
	return s.keeper
}

// Close ends every command that is not detached, and gives all back. Nothing may
// be started afterwards.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	s.family.starting.Lock() // what is being started now is remembered then
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.trees))
	s.mu.Unlock()
	s.family.starting.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(left))
	for i, t := range left {
		wg.Go(func() { errs[i] = t.Close() })
	}
	wg.Wait()
	if !already {
		close(s.done)
	}
	s.spare.close()
	if s.keeper != nil && !already {
		s.keeper.close()
	}
	if s.canary != nil && !already {
		s.canary.close()
		if s.inner != nil {
			s.inner.Close()
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// closeOnExec keeps what this process was itself started with, and never knew
// of, from the commands.
func closeOnExec() {
	const first = 3
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}
