package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Filter is a seccomp program under construction. Every step leaves the number
// of the system call in the accumulator and jumps only within itself, so steps
// can be put in any order.
type Filter struct{ code Program }

// Program is a finished filter.
type Program []unix.SockFilter

// Offsets in struct seccomp_data, little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// New is a filter that lets pass the system calls of the processor's own kind,
// and all of them.
func New() *Filter {
	f := &Filter{}
	f.only(auditArch, runtime.GOARCH == "amd64")
	return f
}

func (f *Filter) load(offset uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *Filter) and(k uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k})
}

func (f *Filter) jump(op uint16, k uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no})
}

func (f *Filter) answer(action uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// Refusal is the action that answers a call with an error.
func Refusal(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// only lets pass system calls of the processor's own kind. Their numbers mean
// other calls in 32-bit and x32 mode: those would walk around the filter.
func (f *Filter) only(arch uint32, x32 bool) {
	f.load(offArch)
	f.jump(unix.BPF_JEQ, arch, 1, 0)
	f.answer(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(offNumber)
	if x32 {
		f.jump(unix.BPF_JGE, 0x40000000, 0, 1)
		f.answer(Refusal(unix.ENOSYS))
	}
}

// Deny refuses system calls whatever their arguments.
func (f *Filter) Deny(e unix.Errno, numbers ...uintptr) {
	for _, n := range numbers {
		f.jump(unix.BPF_JEQ, uint32(n), 0, 1)
		f.answer(Refusal(e))
	}
}

// DenyNamespaces refuses the making of namespaces by clone, and of children of
// one's parent (CLONE_PARENT), which does not know of them and buries none. clone3
// keeps its flags where a filter cannot see them: with ENOSYS the C libraries fall
// back to clone.
func (f *Filter) DenyNamespaces() {
	f.Deny(unix.ENOSYS, unix.SYS_CLONE3)
	f.DenyBits(unix.EPERM, unix.SYS_CLONE, 0, Namespaces|unix.CLONE_PARENT)
}

// DenyFastOpen refuses to connect by sending (MSG_FASTOPEN), which a socket can do that
// listened and was shut down.
func (f *Filter) DenyFastOpen(e unix.Errno) {
	f.DenyBits(e, unix.SYS_SENDTO, 3, unix.MSG_FASTOPEN)
	f.DenyBits(e, unix.SYS_SENDMSG, 2, unix.MSG_FASTOPEN)
	f.DenyBits(e, unix.SYS_SENDMMSG, 3, unix.MSG_FASTOPEN)
}

// DenyBits refuses a system call with any of the bits in an argument.
func (f *Filter) DenyBits(e unix.Errno, number uintptr, arg int, bits uint32) {
	f.When(Refusal(e), number, Bits(arg, bits))
}

// DenyEqual refuses a system call with this value in an argument.
func (f *Filter) DenyEqual(e unix.Errno, number uintptr, arg int, value uint32) {
	f.When(Refusal(e), number, Is(arg, value))
}

// AllowOnly refuses a system call unless an argument, of which mask counts, is
// one of values.
func (f *Filter) AllowOnly(e unix.Errno, number uintptr, arg int, mask uint32, values ...uint32) {
	f.When(Refusal(e), number, None(arg, mask, values...))
}

// Cond is what an argument of a system call is like. What counts is the low half, which
// is what the kernel's int is, if not said otherwise.
type Cond struct {
	arg    int
	high   bool
	mask   uint32
	bits   bool // one of the bits of mask is set
	none   bool // it is none of values; else it is one of them
	values []uint32
}

// Is is met by one value.
func Is(arg int, value uint32) Cond { return Cond{arg: arg, mask: ^uint32(0), values: []uint32{value}} }

// Masked is met by one value of what mask leaves.
func Masked(arg int, mask, value uint32) Cond {
	return Cond{arg: arg, mask: mask, values: []uint32{value}}
}

// None is met by all but these values of what mask leaves.
func None(arg int, mask uint32, values ...uint32) Cond {
	return Cond{arg: arg, mask: mask, none: true, values: values}
}

// Not is met by all but one value.
func Not(arg int, value uint32) Cond { return None(arg, ^uint32(0), value) }

// HighNot is Not of the upper half: a pointer has two.
func HighNot(arg int, value uint32) Cond {
	return Cond{arg: arg, high: true, mask: ^uint32(0), none: true, values: []uint32{value}}
}

// Bits is met by any of the bits.
func Bits(arg int, bits uint32) Cond { return Cond{arg: arg, mask: bits, bits: true} }

// Notify is the action that asks whoever has the filter's listener.
const Notify = unix.SECCOMP_RET_USER_NOTIF

// When answers a system call with an action where all conditions are met.
func (f *Filter) When(action uint32, number uintptr, conds ...Cond) {
	rest := 1 // of this step, after what is being written; the last loads the number again
	for _, c := range conds {
		rest += c.length()
	}
	f.jump(unix.BPF_JEQ, uint32(number), 0, uint8(rest+1))
	for _, c := range conds {
		rest -= c.length()
		f.cond(c, uint8(rest))
	}
	f.answer(action)
	f.load(offNumber)
}

func (c Cond) length() int {
	if c.bits {
		return 2
	}
	return 2 + max(1, len(c.values))
}

// cond goes on where c is met, and else jumps over so many steps after it.
func (f *Filter) cond(c Cond, over uint8) {
	offset := offArgs + 8*uint32(c.arg)
	if c.high {
		offset += 4
	}
	f.load(offset)
	if c.bits {
		f.jump(unix.BPF_JSET, c.mask, 0, over)
		return
	}
	f.and(c.mask)
	for i, v := range c.values {
		left := uint8(len(c.values) - 1 - i)
		switch {
		case c.none:
			f.jump(unix.BPF_JEQ, v, left+over, 0)
		case left == 0:
			f.jump(unix.BPF_JEQ, v, 0, over)
		default:
			f.jump(unix.BPF_JEQ, v, left, 0)
		}
	}
}

// DenyTruncation refuses to truncate files by name: what Landlock does not see before its
// ABI 3. By an open file that can be written, which it does see, it stays.
func (f *Filter) DenyTruncation() {
	f.Deny(unix.EPERM, unix.SYS_TRUNCATE)
	const neither = 3 // an access mode that neither reads nor writes, and truncates
	for call, flags := range openCalls {
		for _, mode := range []uint32{unix.O_RDONLY, neither} {
			f.When(Refusal(unix.EPERM), call, Bits(flags, unix.O_TRUNC), Masked(flags, unix.O_ACCMODE, mode))
		}
	}
}

// DenyModes refuses to give a file a mode with any of these bits, also when it is made.
// openat2 keeps the mode where a filter cannot see it: with ENOSYS programs fall back to openat.
func (f *Filter) DenyModes(e unix.Errno, bits uint32) {
	for call, mode := range modeCalls {
		f.DenyBits(e, call, mode, bits)
	}
	const withoutName = 0x400000 // O_TMPFILE without the bit for directories
	for call, flags := range openCalls {
		f.When(Refusal(e), call, Bits(flags, unix.O_CREAT|withoutName), Bits(flags+1, bits))
	}
	f.Deny(unix.ENOSYS, unix.SYS_OPENAT2)
}

// Program is the filter: what no step refused is allowed.
func (f *Filter) Program() Program {
	return append(f.code[:len(f.code):len(f.code)], unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// Available reports whether this kernel has filters, on a processor that this
// package has numbers for.
func Available() bool {
	if auditArch == 0 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return e == 0
}

// AllThreads puts the filter on every thread at once (SECCOMP_FILTER_FLAG_TSYNC),
// and with it no_new_privs.
func (p Program) AllThreads() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	thread, err := p.apply(unix.SECCOMP_FILTER_FLAG_TSYNC)
	if err == nil && thread != 0 {
		return fmt.Errorf("thread %d has a filter of its own", thread)
	}
	return err
}

// ThisThread puts the filter on the calling thread, which must have
// no_new_privs, and be locked and never unlocked.
func (p Program) ThisThread() error {
	_, err := p.apply(0)
	return err
}

func (p Program) apply(flags uintptr) (thread uintptr, err error) {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	// SPEC_ALLOW: before Linux 5.16 a filter would also slow down all loads.
	thread, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return 0, e
	}
	return thread, nil
}
