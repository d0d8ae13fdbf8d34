package dfa

// run is runPortable without the checks of indices, each of which is within
// bounds: n bytes of the text are left for every stream, a class is less than
// 256, and a state with any class is an entry of the table.
func run(class *[256]uint8, table []uint32, text []byte, s *[streams]stream, n int) int {
	return runFour(class, &table[0], &text[0], s, n)
}

//go:noescape
func runFour(class *[256]uint8, table *uint32, text *byte, s *[streams]stream, n int) int
