//go:build !unix

package scan

import "testing"

func guarded(t *testing.T, n int) []byte {
	t.Helper()
	return make([]byte, n)
}
