//go:build !linux

package sandbox

import (
	"runtime"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Enter prepares level 2, which only Linux has.
func Enter(level int) (code int, done bool, err error) {
	if level < 2 {
		return 0, false, nil
	}
	return 0, false, fault.New(fault.Unavailable, runtime.GOOS+" has no level 2 of the sandbox", "Use --sandbox-level 1")
}
