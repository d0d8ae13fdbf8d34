package pages

// much is from where on memory is taken in large pages: what is less is given again to
// others too soon to be worth a page of it.
const much = 4 << 20

// Room is an empty slice with room for n bytes. What is much comes in large pages, where
// the kernel has them: 64 MB are 32 faults instead of 16,384.
func Room(n int) []byte {
	b := make([]byte, 0, n)
	if n >= much {
		enlarge(b[:n])
	}
	return b
}
