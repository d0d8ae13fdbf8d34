package sandbox

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// domain holds the processes of a Landlock domain: those that its thread may
// signal, and no others (ABI 6, LANDLOCK_SCOPE_SIGNAL). A process cannot leave
// its domain, whatever it does.
type domain struct {
	thread *thread
	canary *canary
	first  int       // the number of the process that began it
	began  time.Time // before first was there
	pids   int       // where numbers begin anew
	will   *will     // only the thread touches it, and release
}

// provide has everything in the domain killed from inside of it, should this
// process end before it could do that: the kernel keeps it to the domain then too.
func (d *domain) provide() {
	_ = d.thread.run(func() (err error) { // without a will the first process dies all the same
		if err = d.guard(); err == nil {
			d.will, err = newWill("kill -s KILL -- -1")
		}
		return err
	})
}

// guard proves, on the thread, that signals stay inside. Without it a signal to
// everybody would be one to everybody of this user.
func (d *domain) guard() error {
	if unix.Gettid() != d.thread.id {
		return fmt.Errorf("thread %d instead of %d", unix.Gettid(), d.thread.id)
	}
	return d.canary.unreachable()
}

func (d *domain) strike(sig unix.Signal) error {
	return d.thread.run(func() error {
		if err := d.guard(); err != nil {
			return err
		}
		if err := unix.Kill(-1, sig); err != nil && err != unix.ESRCH && err != unix.EPERM {
			return err
		}
		return nil
	})
}

// members looks again as long as it sees nobody and numbers are being given out:
// what forks and ends between the list and the look was on neither. It stays on
// the thread meanwhile: a look must be shorter than a fork of strangers.
func (d *domain) members() (out []process, err error) {
	err = d.thread.run(func() (err error) {
		last := newest()
		candidates, err := d.candidates(last)
		for range patience {
			if err == nil {
				out, err = d.reached(candidates)
			}
			now := newest()
			if err != nil || len(out) > 0 || now == last {
				return err
			}
			candidates, err = d.since(last, now)
			last = now
		}
		return errUnsettled
	})
	return out, err
}

// doomed looks once: the kernel strikes all at one moment, and lets nobody fork
// who has been killed.
func (d *domain) doomed() (out []process, err error) {
	err = d.thread.run(func() error {
		candidates, err := d.candidates(newest())
		if err == nil {
			out, err = d.reached(candidates)
		}
		return err
	})
	return out, err
}

// reached are the living among candidates that the thread, on which this runs, may
// signal.
func (d *domain) reached(candidates []int) ([]process, error) {
	if err := d.guard(); err != nil {
		return nil, err
	}
	var out []process
	for _, pid := range candidates {
		if pid == d.will.pid() || unix.Tgkill(pid, pid, 0) != nil { // for threads alone there is no such group
			continue
		}
		if p, ok := look(pid); ok && p.alive() {
			out = append(out, p)
		}
	}
	return out, nil
}

const few = 512 // numbers; to ask the kernel about so many is cheaper than to list /proc

// recent reports whether no machine could have given out all numbers since: a
// fork takes longer than a microsecond.
func (d *domain) recent() bool {
	return time.Since(d.began) < min(time.Second, time.Duration(d.pids)*time.Microsecond)
}

// candidates are the numbers that members may have. What began a moment ago has
// only numbers that were given out since; they can be counted through, threads
// among them.
func (d *domain) candidates(last int) ([]int, error) {
	if !d.recent() {
		all, err := procfs.PIDs()
		return without(all, unix.Getpid()), err
	}
	return d.since(d.first-1, last)
}

// since are the numbers after one, up to another.
func (d *domain) since(after, last int) ([]int, error) {
	if last < after || last-after > few {
		all, err := procfs.PIDs()
		return without(all, unix.Getpid()), err
	}
	var out []int
	for pid := after + 1; pid <= last; pid++ {
		out = append(out, pid)
	}
	return without(out, unix.Getpid()), nil
}

// without leaves out this process, whose threads may always signal each other.
func without(pids []int, self int) []int {
	out := pids[:0]
	for _, pid := range pids {
		if pid != self {
			out = append(out, pid)
		}
	}
	return out
}

func (d *domain) release() {
	d.thread.end()
	d.will.revoke()
}
