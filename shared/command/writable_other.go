//go:build !linux

package command

import (
	"errors"
	"os"
)

// writable tries whether this user can make a file in a directory.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".mcp-doctor-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
