package output

import (
	"context"
	"os"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// patience bounds the wait for another process: one that was stopped while it held a lock must not hang every server.
const patience = 10 * time.Second

// hold locks f for this process alone. Who asks whether a file is held has it for a moment.
func hold(ctx context.Context, f *os.File) error {
	pause := 20 * time.Microsecond
	for begin := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		ok, err := tryLock(f)
		if ok || err != nil {
			return err
		}
		if time.Since(begin) > patience {
			return fault.New(fault.Unavailable, "another process holds the stored outputs locked", "Look for a server that is stopped or hangs")
		}
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Millisecond)
	}
}
