//go:build !linux

package history

import "os"

// syncData makes what a file holds durable.
func syncData(f *os.File) error { return f.Sync() }
