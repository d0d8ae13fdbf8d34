//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package history

import "os"

// syncDir does nothing: Windows cannot flush a directory, NTFS journals its names.
// Other platforms have no file locks, without which no store is opened.
func syncDir(*os.Root, string) error { return nil }
