package pages

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func TestMuchRoomComesInFewFaults(t *testing.T) {
	if on, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil || strings.Contains(string(on), "[never]") {
		t.Skip("this kernel has no large pages")
	}
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	const n = 64 << 20 // more than the heap has of its own
	before := faults(t)
	b := Room(n)
	if len(b) != 0 || cap(b) != n {
		t.Fatalf("%d of %d bytes", len(b), cap(b))
	}
	if e := enlarge(b[:n]); e != 0 {
		t.Fatal(e)
	}
	for at := 0; at < n; { // by the kernel: the race detector takes pages of its own for what a test writes
		got, _, e := syscall.RawSyscall(syscall.SYS_READ, zeros.Fd(), uintptr(unsafe.Pointer(&b[:at+1][at])), uintptr(n-at))
		if e != 0 || got == 0 {
			t.Fatalf("%d bytes, %v", got, e)
		}
		at += int(got)
	}
	if took := faults(t) - before; took > n/4096/2 {
		t.Errorf("%d faults for %d pages", took, n/4096)
	}
}

func faults(t *testing.T) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return used.Minflt
}

func TestLittleRoomIsTakenAsItIs(t *testing.T) {
	for _, n := range []int{0, 1, 4096, hugePage, much - 1, much} {
		if b := Room(n); len(b) != 0 || cap(b) < n {
			t.Errorf("%d: %d of %d bytes", n, len(b), cap(b))
		}
	}
}
