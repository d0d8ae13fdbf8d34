//go:build !linux

package sandbox

import "github.com/creack/pty"

// Terminal is a new pseudo-terminal for a command.
func (s *Sandbox) Terminal() (t Terminal, err error) {
	t.Ours, t.Theirs, err = pty.Open()
	return t, err
}
