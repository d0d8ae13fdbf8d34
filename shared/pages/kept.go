package pages

import "sync"

// mostKept is the largest room that is kept: one that is larger is given back to all.
const mostKept = 4 << 20

// Kept is room that was used before and is used again: its pages are there. The garbage
// collector takes what is not used for long. The zero Kept has none.
type Kept struct{ pool sync.Pool }

// Room is an empty slice with room for n bytes at least, which may hold anything.
func (k *Kept) Room(n int) []byte {
	if b, ok := k.pool.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:0]
	}
	return Room(n)
}

// Back takes room for the next one. Nobody may have it any longer, nor a part of it.
func (k *Kept) Back(b []byte) {
	if cap(b) <= mostKept {
		k.pool.Put(&b)
	}
}
