//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package flock

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

func try(*os.File, bool) (bool, error) {
	return false, fault.New(fault.Unavailable, "this platform has no file locks", "")
}

func unlock(*os.File) error { return nil }
