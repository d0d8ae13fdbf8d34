package restrict

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filter is a seccomp program under construction. Every step leaves the number
// of the system call in the accumulator and jumps only within itself, so steps
// can be put in any order.
type filter struct{ code []unix.SockFilter }

// Offsets in struct seccomp_data, little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
)

func (f *filter) load(offset uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) jump(op uint16, k uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no})
}

func (f *filter) answer(action uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

func refuse(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// only lets pass system calls of the processor's own kind. Their numbers mean
// other calls in 32-bit and x32 mode: those would walk around the filter.
func (f *filter) only(arch uint32, x32 bool) {
	f.load(offArch)
	f.jump(unix.BPF_JEQ, arch, 1, 0)
	f.answer(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(offNumber)
	if x32 {
		f.jump(unix.BPF_JGE, 0x40000000, 0, 1)
		f.answer(refuse(unix.ENOSYS))
	}
}

// deny refuses system calls whatever their arguments.
func (f *filter) deny(e unix.Errno, numbers ...uintptr) {
	for _, n := range numbers {
		f.jump(unix.BPF_JEQ, uint32(n), 0, 1)
		f.answer(refuse(e))
	}
}

// denyBits refuses a system call with any of the bits in its first argument.
func (f *filter) denyBits(number uintptr, bits uint32, e unix.Errno) {
	f.jump(unix.BPF_JEQ, uint32(number), 0, 4)
	f.load(offArg0)
	f.jump(unix.BPF_JSET, bits, 0, 1)
	f.answer(refuse(e))
	f.load(offNumber)
}

// program is the filter for r. It allows by default: it is there to take away
// what a server of files never does, not to list what the Go runtime may do.
func program(r Rules, landlock int) []unix.SockFilter {
	f := &filter{}
	f.only(auditArch, runtime.GOARCH == "amd64")
	f.deny(unix.EPERM, kernelCalls...)
	// clone3 keeps its flags where a filter cannot see them: with ENOSYS the C
	// libraries fall back to clone.
	f.deny(unix.ENOSYS, unix.SYS_CLONE3)
	f.denyBits(unix.SYS_CLONE, namespaces, unix.EPERM)
	if !r.Exec {
		f.deny(unix.EPERM, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
	}
	if !r.Network {
		f.deny(unix.EPERM, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR)
	}
	if !r.Attributes {
		f.deny(unix.EPERM, attributeCalls...)
	}
	if landlock < 3 {
		f.deny(unix.EPERM, unix.SYS_TRUNCATE) // Landlock cannot, before ABI 3
	}
	f.answer(unix.SECCOMP_RET_ALLOW)
	return f.code
}

func seccompAvailable() bool {
	if auditArch == 0 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return e == 0
}

// applySeccomp puts the filter on every thread at once (SECCOMP_FILTER_FLAG_TSYNC),
// and with it no_new_privs.
func applySeccomp(code []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	p := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// SPEC_ALLOW: before Linux 5.16 a filter would also slow down all loads.
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	thread, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	if e != 0 {
		return e
	}
	if thread != 0 {
		return fmt.Errorf("thread %d has a filter of its own", thread)
	}
	return nil
}
