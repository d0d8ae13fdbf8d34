package sandbox

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/creack/pty"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// Sandbox starts commands. It is safe for use by many at once.
type Sandbox struct {
	mode     Mode
	level    int       // 2 as long as namespaces can be had
	why      error     // why they cannot, where they were wanted
	once     sync.Once // for report
	report   Report
	home     string
	guarded  []string
	machine  machine
	canary   *canary
	inner    *os.File // the layer that commands enter on their own; nil without
	children *children
	plans    plans
	spare    spare

	mu        sync.Mutex
	trees     map[*Tree]bool
	keeper    *keeper         // at level 2
	listeners map[uint64]bool // sockets that commands were seen to listen at, by cookie
	closed    bool
	done      chan struct{} // closed by Close
}

func newSandbox(o Options) (*Sandbox, error) { return inspect().sandbox(o) }

// Confines reports whether commands open only what their rules name, as far as this
// machine should; Report says what was seen of it.
func (s *Sandbox) Confines() bool {
	return s.mode != Off && s.machine.landlock > 0 && (s.machine.landlock >= 3 || s.machine.seccomp)
}

// sandbox returns a sandbox on the machine m.
func (m machine) sandbox(o Options) (*Sandbox, error) {
	if os.Getenv(role) != "" { // else a program without Helper would start itself again and again
		return nil, fault.New(fault.Internal, "this program does not call sandbox.Helper first", "")
	}
	closeOnExec()
	removeOldGroups(m.group)
	session, _ := unix.Getsid(0)
	s := &Sandbox{
		mode: o.Mode, level: o.Level, home: o.Home, guarded: o.Guarded, machine: m,
		children: &children{session: session, firsts: map[int]bool{}, ancestries: map[*ancestry]bool{}},
		trees:    map[*Tree]bool{}, done: make(chan struct{}),
	}
	if o.Mode == Off {
		return s, nil
	}
	var err error
	if s.canary, err = newCanary(); err != nil {
		return nil, fault.New(fault.Unavailable, "the sandbox could not be tried: /bin/sh does not start",
			"Install a shell, or use --sandbox off").Because(err)
	}
	if s.inner, err = m.newInner(); err != nil {
		s.canary.close()
		return nil, fault.New(fault.Unavailable, "the sandbox could not be tried: Landlock has no second layer",
			"Use --sandbox off, or another kernel").Because(err)
	}
	if m.supervisor && m.adopts {
		if err := adopt(); err != nil {
			s.Close()
			return nil, fault.New(fault.Unavailable, "the sandbox could not be tried: orphans do not come to this process",
				"Use --sandbox off").Because(err)
		}
		go s.children.reapUntil(s.done)
	}
	if s.level == 2 {
		if s.keeper, s.why = newKeeper(); s.why == nil {
			_, s.why = s.plan(Rules{}) // the mounts can be made here, too
		}
		if s.why != nil {
			if s.keeper != nil {
				s.keeper.close()
			}
			s.keeper, s.level = nil, 1
		}
	}
	return s, nil
}

// closeOnExec keeps what this process was itself started with, and never knew of, from the commands.
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

// newInner makes the second layer, which every command enters between fork and exec,
// alone. It forbids nothing more than the first one does; but Landlock lets nobody
// look into or signal what is not in the same layers, or deeper. So a thread of
// this process reaches its command, and the command neither the thread, by which
// it would have all of this process, nor its watchdog. nil where that cannot be had.
func (m machine) newInner() (*os.File, error) {
	if m.landlock == 0 || !forkexec.Available {
		return nil, nil
	}
	// Every layer denies moving files between directories until it is allowed: so that
	// is allowed everywhere. ABI 1 cannot, and has a right here that no command has.
	attr := ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer, Scoped: handled(m.landlock, true).Scoped}
	if m.landlock < 2 {
		attr.HandledAccessFS = ll.AccessFSMakeBlock
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	set := os.NewFile(uintptr(fd), "landlock")
	if m.landlock < 2 {
		return set, nil
	}
	if _, err := (grant{path: "/", rights: ll.AccessFSRefer}).add(fd, ll.AccessFSRefer); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

// currentKeeper is the keeper of level 2, or nil at level 1. One that has ended, killed by
// somebody, is replaced: what was in its namespaces has ended with it.
func (s *Sandbox) currentKeeper() *keeper {
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

// Terminal is a new pseudo-terminal for a command. At level 2 it is one that the command finds by its name, and no other
// command does.
func (s *Sandbox) Terminal() (t Terminal, err error) {
	k := s.currentKeeper()
	if k == nil {
		t.Ours, t.Theirs, err = pty.Open()
		return t, err
	}
	_, files, err := k.ask(request{Terminal: true})
	if err != nil {
		return t, err
	}
	defer closeFiles(files)
	fd, err := unix.Openat(int(files[0].Fd()), "ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return t, fmt.Errorf("ptmx: %w", err)
	}
	ours := os.NewFile(uintptr(fd), "ptmx")
	var unlocked int32
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlocked))); e != 0 {
		ours.Close()
		return t, fmt.Errorf("ptmx: %w", e)
	}
	peer, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		ours.Close()
		return t, fmt.Errorf("the end of a terminal: %w", e)
	}
	return Terminal{ours, os.NewFile(peer, "tty")}, nil
}

// current are the trees that are not over.
func (s *Sandbox) current() []*Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.trees))
}

// Close ends every command that is not detached, and gives all back. Nothing may
// be started afterwards.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	s.children.starting.Lock() // what is being started now is among the trees then
	left := s.current()
	s.children.starting.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(left))
	for i, t := range left {
		wg.Go(func() { errs[i] = t.Close() })
	}
	wg.Wait()
	s.spare.close()
	if !already {
		close(s.done)
		if s.keeper != nil {
			s.keeper.close()
		}
		if s.canary != nil {
			s.canary.close()
		}
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
