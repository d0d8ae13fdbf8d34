//go:build !linux

package sandbox

// Helper is for Linux: elsewhere the sandbox has no processes of its own.
func Helper() {}
