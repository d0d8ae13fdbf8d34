package rpc

import "sync"

// maxBuffer is the capacity of the largest buffer that is kept for the next message.
const maxBuffer = 4 << 20

// Buffers keeps the memory of messages that were sent for messages to come: the first access
// to new memory would cost more than the encoding. The garbage collector frees what is not
// used for long. The zero Buffers is ready.
type Buffers struct{ pool sync.Pool }

// Get returns an empty slice with a capacity of n bytes at least, which may hold anything.
func (k *Buffers) Get(n int) []byte {
	if b, ok := k.pool.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:0]
	}
	return make([]byte, 0, n)
}

// Put takes a buffer that nobody uses any longer, not even a part of it.
func (k *Buffers) Put(b []byte) {
	if cap(b) <= maxBuffer {
		k.pool.Put(&b)
	}
}
