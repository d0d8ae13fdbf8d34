//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package history

import "os"

// syncDir makes the names in a directory durable.
func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
