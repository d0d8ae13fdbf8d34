//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package output

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Without a lock that says whether a run goes on, no store is opened.
func tryLock(*os.File) (bool, error) {
	return false, fault.New(fault.Unavailable, "this platform has no file locks for a store of outputs", "")
}

func tryShared(f *os.File) (bool, error) { return tryLock(f) }

func unlock(*os.File) error { return nil }
