package audit

import (
	"os"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// lockPatience bounds the wait for another process: one that was stopped within
// a write must not hang every other server for ever.
const lockPatience = 10 * time.Second

// lockWait locks f against other processes, for writing or for looking. A
// writer holds the lock for some ten microseconds, so it looks again soon.
func lockWait(f *os.File, write bool) error {
	pause := 20 * time.Microsecond
	for begin := time.Now(); ; {
		ok, err := flock.Try(f, !write)
		if ok || err != nil {
			return err
		}
		if time.Since(begin) > lockPatience {
			return fault.New(fault.Unavailable, "another process holds the audit log locked", "Look for a server that is stopped or hangs")
		}
		time.Sleep(pause)
		pause = min(2*pause, time.Millisecond)
	}
}
