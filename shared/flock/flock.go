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

// Try locks f, for its holder alone or shared with others who share it, and says
// whether it did. The lock belongs to the open file, not to its name.
func Try(f *os.File, shared bool) (bool, error) { return try(f.Fd(), shared) }

// Within is Try of an open descriptor, repeated for up to patience, or until ctx ends.
func Within(ctx context.Context, fd uintptr, shared bool, patience time.Duration) (bool, error) {
	pause := 20 * time.Microsecond
	for begin := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return false, fault.From(err)
		}
		if ok, err := try(fd, shared); ok || err != nil || time.Since(begin) > patience {
			return ok, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 2*time.Millisecond)
	}
}

// Wait locks f for its holder alone. Where another keeps it too long, what names for
// the client what is locked: "the history of changes".
func Wait(ctx context.Context, f *os.File, what string) error {
	// A process that was stopped while it held a lock must not hang every other server.
	const patience = 10 * time.Second
	ok, err := Within(ctx, f.Fd(), false, patience)
	if ok || err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "another process holds "+what+" locked", "Look for a server that is stopped or hangs")
}
