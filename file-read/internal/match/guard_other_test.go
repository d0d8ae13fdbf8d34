//go:build !unix

package match

import "testing"

func guarded(t *testing.T, n int) []byte {
	t.Helper()
	return make([]byte, n)
}
