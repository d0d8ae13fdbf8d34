//go:build !unix

package index

func allocate(n int) []uint64 { return make([]uint64, n) }

func free([]uint64) {}
