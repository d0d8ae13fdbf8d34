//go:build unix

package index

import (
	"syscall"
	"unsafe"
)

// allocate is n zeros from the kernel itself, or nil where there is no memory.
func allocate(n int) []uint64 {
	b, err := syscall.Mmap(-1, 0, 8*n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// free gives back what allocate gave.
func free(slab []uint64) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(slab))), 8*len(slab))
	_ = syscall.Munmap(b) // it fails only for what was never mapped
}
