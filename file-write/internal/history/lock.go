package history

import (
	"context"
	"os"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// lockPatience bounds the wait for another process: one that was stopped while it
// held the lock must not hang every other server for ever.
const lockPatience = 10 * time.Second

func lockWait(ctx context.Context, f *os.File) error {
	pause := 50 * time.Microsecond
	for begin := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		ok, err := tryLock(f)
		if ok || err != nil {
			return err
		}
		if time.Since(begin) > lockPatience {
			return fault.New(fault.Unavailable, "another process holds the history of changes locked", "Look for a server that is stopped or hangs")
		}
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Millisecond)
	}
}
