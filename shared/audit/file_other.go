//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package audit

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Without a lock between processes there is no chain; such a platform may log
// to stderr.
func unavailable() error {
	return fault.New(fault.Unavailable, "this platform has no file locks for an audit log", "Use --audit-log stderr")
}

func openLog(string) (*os.File, error)         { return nil, unavailable() }
func openHead(string) (*os.File, error)        { return nil, unavailable() }
func openShared(path string) (*os.File, error) { return os.Open(path) }
func appendAt(*os.File, []byte, int64) error   { return unavailable() }
