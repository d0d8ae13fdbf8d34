//go:build !amd64

package dfa

func run(class *[256]uint8, table []uint32, text []byte, s *[streams]stream, n int) int {
	return runPortable(class, table, text, s, n)
}
