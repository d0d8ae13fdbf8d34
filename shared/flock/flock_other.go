//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package flock

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

func try(uintptr, bool) (bool, error) {
	return false, fault.New(fault.Unavailable, "this platform has no file locks", "")
}

// Unlock has nothing to give back.
func Unlock(*os.File) error { return nil }
