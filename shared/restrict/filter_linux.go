package restrict

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Filter is a filter of system calls under construction (Linux documentation, userspace-api/seccomp_filter).
// It allows by default and takes calls away. It refuses to be walked around: a call of another processor
// mode (32-bit, x32), whose numbers mean something else, ends the process or is not there. It refuses to
// guess: on a processor that it has no numbers for there is no filter.
//
// Every step leaves the number of the system call in the accumulator and jumps only within itself, so
// steps can be put in any order.
type Filter struct{ code Program }

// Program is a finished filter.
type Program []unix.SockFilter

// Offsets in struct seccomp_data, little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// Notify is the action that asks the process that has the filter's listener.
const Notify = unix.SECCOMP_RET_USER_NOTIF

// Refusal is the action that answers a call with an error.
func Refusal(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// NewFilter is a filter that lets pass the system calls of the processor's own kind, and all of them. The
// numbers mean other calls in 32-bit and x32 mode: those would walk around the filter.
func NewFilter() *Filter {
	f := &Filter{}
	f.load(offArch)
	f.jump(unix.BPF_JEQ, auditArch, 1, 0)
	f.answer(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(offNumber)
	if runtime.GOARCH == "amd64" {
		f.jump(unix.BPF_JGE, 0x40000000, 0, 1) // x32
		f.answer(Refusal(unix.ENOSYS))
	}
	return f
}

func (f *Filter) load(offset uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *Filter) jump(op uint16, k uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no})
}

func (f *Filter) answer(action uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// Arg is what an argument of a system call is like. What counts is the low half, which
// is what the kernel's int is, if not said otherwise.
type Arg struct {
	arg    int
	high   bool
	mask   uint32
	bits   bool // one of the bits of mask is set
	none   bool // it is none of values; else it is one of them
	values []uint32
}

// ArgIs is met by one value.
func ArgIs(arg int, value uint32) Arg { return ArgMasked(arg, ^uint32(0), value) }

// ArgMasked is met by one value of what mask leaves.
func ArgMasked(arg int, mask, value uint32) Arg {
	return Arg{arg: arg, mask: mask, values: []uint32{value}}
}

// ArgNone is met by all but these values of what mask leaves.
func ArgNone(arg int, mask uint32, values ...uint32) Arg {
	return Arg{arg: arg, mask: mask, none: true, values: values}
}

// ArgNot is met by all but one value.
func ArgNot(arg int, value uint32) Arg { return ArgNone(arg, ^uint32(0), value) }

// ArgHighNot is ArgNot of the upper half: a pointer has two.
func ArgHighNot(arg int, value uint32) Arg {
	return Arg{arg: arg, high: true, mask: ^uint32(0), none: true, values: []uint32{value}}
}

// ArgBits is met by any of the bits.
func ArgBits(arg int, bits uint32) Arg { return Arg{arg: arg, mask: bits, bits: true} }

// length is the number of instructions that test the condition.
func (a Arg) length() int {
	if a.bits {
		return 2
	}
	return 2 + max(1, len(a.values))
}

// When answers a system call with an action where all conditions are met.
func (f *Filter) When(action uint32, number uintptr, conds ...Arg) {
	rest := 1 // of this step, after what is being written; the last loads the number again
	for _, a := range conds {
		rest += a.length()
	}
	f.jump(unix.BPF_JEQ, uint32(number), 0, uint8(rest+1))
	for _, a := range conds {
		// It continues where the condition is met, and else jumps over the rest.
		rest -= a.length()
		over := uint8(rest)
		offset := offArgs + 8*uint32(a.arg)
		if a.high {
			offset += 4
		}
		f.load(offset)
		if a.bits {
			f.jump(unix.BPF_JSET, a.mask, 0, over)
			continue
		}
		f.code = append(f.code, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: a.mask})
		for i, v := range a.values {
			left := uint8(len(a.values) - 1 - i)
			switch {
			case a.none:
				f.jump(unix.BPF_JEQ, v, left+over, 0)
			case left == 0:
				f.jump(unix.BPF_JEQ, v, 0, over)
			default:
				f.jump(unix.BPF_JEQ, v, left, 0)
			}
		}
	}
	f.answer(action)
	f.load(offNumber)
}

// Deny refuses system calls whatever their arguments.
func (f *Filter) Deny(e unix.Errno, numbers ...uintptr) {
	for _, n := range numbers {
		f.jump(unix.BPF_JEQ, uint32(n), 0, 1)
		f.answer(Refusal(e))
	}
}

// DenyBits refuses a system call with any of the bits in an argument.
func (f *Filter) DenyBits(e unix.Errno, number uintptr, arg int, bits uint32) {
	f.When(Refusal(e), number, ArgBits(arg, bits))
}

// DenyEqual refuses a system call with this value in an argument.
func (f *Filter) DenyEqual(e unix.Errno, number uintptr, arg int, value uint32) {
	f.When(Refusal(e), number, ArgIs(arg, value))
}

// AllowOnly refuses a system call unless an argument, of which mask counts, is
// one of values.
func (f *Filter) AllowOnly(e unix.Errno, number uintptr, arg int, mask uint32, values ...uint32) {
	f.When(Refusal(e), number, ArgNone(arg, mask, values...))
}

// DenyNamespaces refuses the making of namespaces by clone, and of children of
// one's parent (CLONE_PARENT), which does not know of them and reaps none. clone3
// keeps its flags where a filter cannot see them: with ENOSYS the C libraries fall
// back to clone.
func (f *Filter) DenyNamespaces() {
	f.Deny(unix.ENOSYS, unix.SYS_CLONE3)
	f.DenyBits(unix.EPERM, unix.SYS_CLONE, 0, Namespaces|unix.CLONE_PARENT)
}

// DenyTruncation refuses to truncate files by name: what Landlock does not see before its
// ABI 3. By an open file that can be written, which it does see, it stays.
func (f *Filter) DenyTruncation() {
	f.Deny(unix.EPERM, unix.SYS_TRUNCATE)
	const neither = 3 // an access mode that neither reads nor writes, and truncates
	for call, flags := range openCalls {
		for _, mode := range []uint32{unix.O_RDONLY, neither} {
			f.When(Refusal(unix.EPERM), call, ArgBits(flags, unix.O_TRUNC), ArgMasked(flags, unix.O_ACCMODE, mode))
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
		f.When(Refusal(e), call, ArgBits(flags, unix.O_CREAT|withoutName), ArgBits(flags+1, bits))
	}
	f.Deny(unix.ENOSYS, unix.SYS_OPENAT2)
}

// Program is the filter: what no step refused is allowed.
func (f *Filter) Program() Program {
	return append(f.code[:len(f.code):len(f.code)], unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// HasFilters reports whether this kernel has filters, on a processor that this
// package has numbers for.
func HasFilters() bool {
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
	flags |= unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW // before Linux 5.16 a filter would also slow down all loads
	thread, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return 0, e
	}
	return thread, nil
}

// Call is a system call as a filter sees it. Arch 0 is the processor's own.
type Call struct {
	Arch   uint32
	Number uint32
	Args   [6]uint64
}

// Answer runs the program as the kernel does, on one call: for tests, which
// could not survive all of the answers.
func (p Program) Answer(c Call) (action uint32, err error) {
	var data [64]byte // struct seccomp_data
	if c.Arch == 0 {
		c.Arch = auditArch
	}
	binary.LittleEndian.PutUint32(data[offNumber:], c.Number)
	binary.LittleEndian.PutUint32(data[offArch:], c.Arch)
	for i, arg := range c.Args {
		binary.LittleEndian.PutUint64(data[offArgs+8*i:], arg)
	}
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[in.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K, nil
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = a&in.K != 0
		default:
			return 0, fmt.Errorf("step %d: unknown code %#x", pc, in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	return 0, fmt.Errorf("the filter has no end")
}
