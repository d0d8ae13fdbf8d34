//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package history

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Without a lock between processes no store is opened.
func tryLock(*os.File) (bool, error) {
	return false, fault.New(fault.Unavailable, "this platform has no file locks for a history of changes", "")
}

func unlock(*os.File) error { return nil }

func syncDir(*os.Root, string) error { return nil }
