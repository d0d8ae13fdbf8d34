//go:build !linux

package restrict

// Private is for Linux.
func Private() {}
