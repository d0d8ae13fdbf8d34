//go:build !linux

package audit

import (
	"runtime"

	"github.com/multiollama/mcp-server/shared/fault"
)

// port is nowhere: the logs that copies are sent to are those of Linux.
type port struct{}

func openPort(string) (*port, error) {
	return nil, fault.New(fault.Unavailable, "audit events cannot also go to a log of the system on "+runtime.GOOS,
		"Leave --audit-also out, and collect the audit log itself")
}

func (*port) close() error            { return nil }
func (*port) send([]byte, bool) error { return errTooLong }
func isBusy(error) bool               { return false }
