//go:build linux && !amd64 && !arm64

package forkexec

import (
	"os"
	"syscall"
)

// Available reports whether this processor is one that Start knows.
const Available = false

// Start is not known on this processor.
func Start(string, []string, *Attr) (*os.Process, error) { return nil, syscall.ENOSYS }
