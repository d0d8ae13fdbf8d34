//go:build !linux

package sandbox

import (
	"os"

	"github.com/creack/pty"
)

// Terminal is a new pseudo-terminal for a command: the caller's end and the
// command's.
func (s *Sandbox) Terminal() (ours, theirs *os.File, err error) { return pty.Open() }
