package restrict

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// judge runs a filter as the kernel does, on one system call.
func judge(t *testing.T, code []unix.SockFilter, arch, number uint32, arg0 uint64) uint32 {
	t.Helper()
	var data [64]byte
	binary.LittleEndian.PutUint32(data[offNumber:], number)
	binary.LittleEndian.PutUint32(data[offArch:], arch)
	binary.LittleEndian.PutUint64(data[offArg0:], arg0)
	var a uint32
	for pc := 0; pc < len(code); pc++ {
		in := code[pc]
		skip := func(yes bool) {
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[in.K:])
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			skip(a == in.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			skip(a >= in.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			skip(a&in.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("step %d: unknown code %#x", pc, in.Code)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

const allowed = unix.SECCOMP_RET_ALLOW

func TestTheFilterRefusesExactlyWhatTheRulesDo(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	run := []uintptr{unix.SYS_EXECVE, unix.SYS_EXECVEAT}
	network := []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR}
	always := append(slices.Clone(kernelCalls), unix.SYS_CLONE3)
	for _, w := range []struct {
		what    string
		rules   Rules
		abi     int
		refused []uintptr
	}{
		{"nothing is kept", Rules{}, 3, slices.Concat(always, run, network, attributeCalls)},
		{"programs may be started", Rules{Exec: true}, 3, slices.Concat(always, network, attributeCalls)},
		{"sockets may be made", Rules{Network: true}, 3, slices.Concat(always, run, attributeCalls)},
		{"attributes may be changed", Rules{Attributes: true}, 3, slices.Concat(always, run, network)},
		{"everything is kept", Rules{Exec: true, Network: true, Attributes: true}, 3, always},
		{"Landlock cannot forbid truncation", Rules{Exec: true, Network: true, Attributes: true}, 2, append(always, unix.SYS_TRUNCATE)},
	} {
		code := program(w.rules, w.abi)
		for number := range uint32(1024) {
			got := judge(t, code, auditArch, number, 0)
			if want := slices.Contains(w.refused, uintptr(number)); want == (got == allowed) {
				t.Errorf("%s: call %d gives %#x", w.what, number, got)
			}
		}
	}
}

func TestTheFilterCannotBeWalkedAround(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	code := program(Rules{}, 7)
	for _, w := range []struct {
		what         string
		arch, number uint32
		arg0         uint64
		want         uint32
	}{
		{"a 32-bit call ends the process", unix.AUDIT_ARCH_I386, 11, 0, unix.SECCOMP_RET_KILL_PROCESS},
		{"so does an ARM one", unix.AUDIT_ARCH_ARM, 11, 0, unix.SECCOMP_RET_KILL_PROCESS},
		{"a thread is no namespace", auditArch, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD, allowed},
		{"a user namespace is refused", auditArch, unix.SYS_CLONE, unix.CLONE_NEWUSER, refuse(unix.EPERM)},
		{"also among other flags", auditArch, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_NEWNET, refuse(unix.EPERM)},
		{"clone3 is not there", auditArch, unix.SYS_CLONE3, 0, refuse(unix.ENOSYS)},
	} {
		if got := judge(t, code, w.arch, w.number, w.arg0); got != w.want {
			t.Errorf("%s: %#x, want %#x", w.what, got, w.want)
		}
	}
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, number := range []uint32{0x40000000, 0x40000000 + unix.SYS_SOCKET, 0x40000000 + 520 /* execve of x32 */, 0xffffffff} {
		if got := judge(t, code, auditArch, number, 0); got != refuse(unix.ENOSYS) {
			t.Errorf("x32 call %#x: %#x", number, got)
		}
	}
}
