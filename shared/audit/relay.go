package audit

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Relay sends copies of stored events on to a log of the system, where others can
// collect them. The file stays the record: a copy leaves after its event was stored,
// no call waits for it, and a copy that is lost is counted and logged, and denies nothing.
//
// What that log does not take yet waits in memory, at most maxWaiting bytes of it, also
// while the log is away; it is sent, in order, when the log is back.
type Relay struct {
	Target Target
	port   *port
	log    *slog.Logger
	away   bool // sending failed, and has not succeeded since; of the goroutine that sends

	mu      sync.Mutex
	more    *sync.Cond // more is waiting, or there will be none
	waiting [][]byte
	size    int // of all that is waiting, in bytes
	lost    int // since that was last reported
	closed  bool
	quit    chan struct{} // closed when patience with the system's log is over
	done    chan struct{} // closed when nothing is sent any more
}

const (
	maxWaiting = 4 << 20
	firstPause = time.Millisecond
	maxPause   = 100 * time.Millisecond
	// parting is how long a relay that is closed keeps trying: within what is left of
	// the 5 s in which a server ends.
	parting = 200 * time.Millisecond
)

// errTooLong is what a port says of a copy that will never pass.
var errTooLong = errors.New("the copy is longer than the system's log takes")

// OpenRelay opens what a copy needs, before the process gives up the right to. What is
// worth knowing about lost copies goes to log.
func OpenRelay(to Target, log *slog.Logger) (*Relay, error) {
	p, err := openPort(to.Socket)
	if f := fault.From(err); f != nil {
		if f.Code != fault.Unavailable {
			f = fault.New(fault.Misconfigured, "audit events cannot also go to "+to.Name+": nothing listens at "+to.Socket,
				"Start that log, or name its socket behind a colon, or leave this target out of --audit-also").Because(err)
		}
		return nil, f
	}
	r := &Relay{Target: to, port: p, log: log, quit: make(chan struct{}), done: make(chan struct{})}
	r.more = sync.NewCond(&r.mu)
	go r.run()
	return r, nil
}

// Add takes a copy of a stored line. It never waits.
func (r *Relay) Add(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.size+len(line) > maxWaiting {
		r.lost++
		return
	}
	r.waiting, r.size = append(r.waiting, bytes.Clone(line)), r.size+len(line)
	r.more.Signal()
}

// Close sends what is waiting, as far as that is quickly done.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	r.more.Signal()
	r.mu.Unlock()
	patience := time.AfterFunc(parting, func() { close(r.quit) })
	<-r.done
	patience.Stop()
	r.reportLost()
	return r.port.close()
}

func (r *Relay) run() {
	defer close(r.done)
	for line := r.next(); line != nil; line = r.next() {
		if !r.deliver(r.Target.format(line)) {
			r.mu.Lock()
			r.lost++
			r.mu.Unlock()
		}
	}
}

// next waits for the next line; nil where there will be none.
func (r *Relay) next() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) == 0 && !r.closed {
		r.more.Wait()
	}
	if len(r.waiting) == 0 {
		return nil
	}
	line := r.waiting[0]
	r.waiting[0] = nil
	r.waiting, r.size = r.waiting[1:], r.size-len(line)
	return line
}

// deliver tries until the copy is sent; false where it will not be.
func (r *Relay) deliver(entry []byte) bool {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		select {
		case <-r.quit:
			return false
		default:
		}
		err := r.port.send(entry, r.Target.large)
		switch {
		case err == nil:
			if r.away {
				r.away = false
				r.log.Warn("copies of audit events are sent again", "to", r.Target.Name)
			}
			r.reportLost()
			return true
		case errors.Is(err, errTooLong):
			return false
		case !r.away && !isBusy(err): // a full queue is not worth a warning: it drains
			r.away = true
			r.log.Warn("copies of audit events cannot be sent, and wait in memory; the audit log itself goes on", "to", r.Target.Name, "error", err)
		}
		select {
		case <-time.After(pause):
		case <-r.quit:
		}
	}
}

// reportLost logs how many copies were lost since it last did.
func (r *Relay) reportLost() {
	r.mu.Lock()
	lost := r.lost
	r.lost = 0
	r.mu.Unlock()
	if lost > 0 {
		r.log.Warn("copies of audit events were lost; the audit log itself has the events", "to", r.Target.Name, "lost", lost)
	}
}
