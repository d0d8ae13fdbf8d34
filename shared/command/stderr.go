package command

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	maxUnread  = 1 << 20                // bytes of stderr that wait for a reader
	lastFlush  = 500 * time.Millisecond // how long the end of the process waits for that reader
	dropNotice = "level=WARN msg=\"lines were dropped because nobody read stderr\" lines=%d\n"
)

// unread is stderr of a server: hosts may leave it unread, and a full pipe would then stop
// every call that logs. A Write never waits. What does not fit is dropped, which is an
// error to the writer, and counted in a line of its own as soon as there is room.
type unread struct {
	to io.Writer

	mu      sync.Mutex
	waiting []byte
	dropped int
	writing chan struct{} // closed when nothing waits any more; nil: nothing does
}

// Write keeps p, or refuses it.
func (u *unread) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting)+len(p) > maxUnread {
		u.dropped++
		return 0, fmt.Errorf("stderr is not read: %w", io.ErrShortWrite)
	}
	u.waiting = append(u.waiting, p...)
	if u.writing == nil {
		u.writing = make(chan struct{})
		go u.drain()
	}
	return len(p), nil
}

// drain writes until nothing waits.
func (u *unread) drain() {
	for {
		u.mu.Lock()
		p := u.waiting
		u.waiting = nil
		if u.dropped > 0 {
			p = fmt.Appendf(p, dropNotice, u.dropped)
			u.dropped = 0
		}
		if p == nil {
			close(u.writing)
			u.writing = nil
		}
		u.mu.Unlock()
		if p == nil {
			return
		}
		_, _ = u.to.Write(p) // a reader that is gone is no reason to stop serving
	}
}

// flush waits until all is written, though not for ever.
func (u *unread) flush() {
	u.mu.Lock()
	writing := u.writing
	u.mu.Unlock()
	if writing == nil {
		return
	}
	select {
	case <-writing:
	case <-time.After(lastFlush):
	}
}
