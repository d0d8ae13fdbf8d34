// Package flock takes advisory locks of open files, which end with the process,
// however that ends.
//
// It refuses to open, make or remove a file, to wait without an end, and to be taken
// for protection: who does not ask for the lock is not held up by it.
package flock

import (
	"context"
	"os"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// patience bounds the wait for another process: one that was stopped while it held a
// lock must not hang every other server for ever.
const patience = 10 * time.Second

// Try locks f, for its holder alone or shared with others who share it, and says
// whether it did. The lock belongs to the open file, not to its name.
func Try(f *os.File, shared bool) (bool, error) { return try(f, shared) }

// Unlock gives the lock of f back, which closing f does too.
func Unlock(f *os.File) error { return unlock(f) }

// Wait locks f for its holder alone. Where another keeps it too long, what names for
// the client what is locked: "the history of changes".
func Wait(ctx context.Context, f *os.File, what string) error {
	pause := 20 * time.Microsecond
	for begin := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		ok, err := try(f, false)
		if ok || err != nil {
			return err
		}
		if time.Since(begin) > patience {
			return fault.New(fault.Unavailable, "another process holds "+what+" locked", "Look for a server that is stopped or hangs")
		}
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Millisecond)
	}
}
