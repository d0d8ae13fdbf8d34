package pages

import (
	"syscall"
	"unsafe"
)

const (
	wanted        = 3 << 20 // bytes; what a server has used when it answers initialize
	populateWrite = 23      // MADV_POPULATE_WRITE of Linux 5.14, which package syscall does not know
)

// span is too large for a stack, and to share pages with other values: behind it the
// heap is not used yet, and used next.
type span [80 << 10]byte

func init() {
	populate(new(span))
}

// populate asks for the pages behind s. They are the heap's own, mapped or reserved; at
// the first that is not mapped yet the kernel stops. The error is of no use to anyone.
//
//go:noinline
func populate(s *span) syscall.Errno {
	_, _, e := syscall.RawSyscall(syscall.SYS_MADVISE, uintptr(unsafe.Pointer(s))+unsafe.Sizeof(*s), wanted, populateWrite)
	return e
}
