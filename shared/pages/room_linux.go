package pages

import (
	"syscall"
	"unsafe"
)

const (
	hugePages = 14      // MADV_HUGEPAGE
	hugePage  = 2 << 20 // bytes of one; on processors with other sizes the kernel takes what it has
)

// enlarge asks for large pages for what of b fills them. That is a wish, and its error of
// no use to anyone: the memory is the same without.
func enlarge(b []byte) syscall.Errno {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from := (start + hugePage - 1) &^ (hugePage - 1)
	to := (start + uintptr(len(b))) &^ (hugePage - 1)
	if from >= to {
		return 0
	}
	_, _, e := syscall.RawSyscall(syscall.SYS_MADVISE, from, to-from, hugePages)
	return e
}
