package pages

import (
	"syscall"
	"testing"
	"unsafe"
)

func TestThePagesBehindTheHeapAreThere(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, wanted+1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	if e := populate((*span)(unsafe.Pointer(&memory[0]))); e == syscall.EINVAL {
		t.Skip("this kernel has no MADV_POPULATE_WRITE")
	} else if e != 0 {
		t.Fatal(e)
	}
	const page = 4096
	in := make([]byte, len(memory)/page)
	_, _, e := syscall.RawSyscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&in[0])))
	if e != 0 {
		t.Fatal(e)
	}
	first, last := int(unsafe.Sizeof(span{}))/page, (int(unsafe.Sizeof(span{}))+wanted)/page
	for i := range in {
		if there, want := in[i]&1 == 1, first <= i && i < last; there != want {
			t.Fatalf("page %d: there is %v, want %v", i, there, want)
		}
	}
}

func TestWhatIsNotMappedIsLeftAlone(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, wanted+1<<20, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	if e := populate((*span)(unsafe.Pointer(&memory[0]))); e == 0 {
		t.Error("pages that nothing may touch were populated")
	}
}
