//go:build unix

package walk_test

import (
	"syscall"
	"testing"
)

// makeSpecial makes a FIFO, and says how many special files it made.
func makeSpecial(t *testing.T, name string) int {
	t.Helper()
	must(t, syscall.Mkfifo(name, 0o644))
	return 1
}
