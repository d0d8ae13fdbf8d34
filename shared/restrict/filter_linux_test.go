package restrict

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func answer(t *testing.T, p Program, c Call) uint32 {
	t.Helper()
	got, err := p.Answer(c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const allowed = unix.SECCOMP_RET_ALLOW

func TestEveryStepRefusesWhatItSaysAndNothingElse(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	f := NewFilter()
	f.Deny(unix.EPERM, 10, 11)
	f.DenyBits(unix.EACCES, 20, 1, 0b110)
	f.DenyEqual(unix.EINVAL, 30, 2, 7)
	f.AllowOnly(unix.EPERM, 40, 0, 0xf, 1, 5)
	f.When(Notify, 60, ArgNot(0, 0), ArgHighNot(1, 0), ArgMasked(2, 0xf, 3))
	f.When(Notify, 61, Arg{arg: 0, mask: ^uint32(0), values: []uint32{1, 2}}, ArgIs(1, 9))
	f.Deny(unix.ENOSYS, 50)
	p := f.Program()
	for _, w := range []struct {
		what   string
		number uint32
		args   [6]uint64
		want   uint32
	}{
		{"a call that nobody named", 9, [6]uint64{}, allowed},
		{"a denied call", 10, [6]uint64{}, Refusal(unix.EPERM)},
		{"the second of two", 11, [6]uint64{1, 2, 3}, Refusal(unix.EPERM)},
		{"a bit that is denied", 20, [6]uint64{0, 0b100}, Refusal(unix.EACCES)},
		{"other bits", 20, [6]uint64{0b110, 0b1001}, allowed},
		{"a denied value", 30, [6]uint64{0, 0, 7}, Refusal(unix.EINVAL)},
		{"another value", 30, [6]uint64{7, 7, 8}, allowed},
		{"the first of the values", 40, [6]uint64{1}, allowed},
		{"the last of them, with what the mask leaves out", 40, [6]uint64{0x80005}, allowed},
		{"a value that is not among them", 40, [6]uint64{2}, Refusal(unix.EPERM)},
		{"a value that the upper half hides", 40, [6]uint64{1<<32 | 2}, Refusal(unix.EPERM)},
		{"all of three conditions", 60, [6]uint64{1, 1 << 32, 0x13}, Notify},
		{"all but the first", 60, [6]uint64{1 << 32, 1 << 32, 3}, allowed},
		{"all but the second, in an upper half", 60, [6]uint64{1, 1, 3}, allowed},
		{"all but the last", 60, [6]uint64{1, 1 << 32, 0x14}, allowed},
		{"one of two values", 61, [6]uint64{1, 9}, Notify},
		{"the other", 61, [6]uint64{2, 9}, Notify},
		{"neither", 61, [6]uint64{3, 9}, allowed},
		{"one of them, and nothing else", 61, [6]uint64{1, 8}, allowed},
		{"the step after all of them", 50, [6]uint64{}, Refusal(unix.ENOSYS)},
	} {
		if got := answer(t, p, Call{Number: w.number, Args: w.args}); got != w.want {
			t.Errorf("%s: %#x, want %#x", w.what, got, w.want)
		}
	}
}

func TestTheFilterCannotBeWalkedAround(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	f := NewFilter()
	f.DenyNamespaces()
	p := f.Program()
	for _, w := range []struct {
		what string
		call Call
		want uint32
	}{
		{"a 32-bit call ends the process", Call{Arch: unix.AUDIT_ARCH_I386, Number: 11}, unix.SECCOMP_RET_KILL_PROCESS},
		{"so does an ARM one", Call{Arch: unix.AUDIT_ARCH_ARM, Number: 11}, unix.SECCOMP_RET_KILL_PROCESS},
		{"a thread is no namespace", Call{Number: unix.SYS_CLONE, Args: [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}}, allowed},
		{"a user namespace is refused", Call{Number: unix.SYS_CLONE, Args: [6]uint64{unix.CLONE_NEWUSER}}, Refusal(unix.EPERM)},
		{"also among other flags", Call{Number: unix.SYS_CLONE, Args: [6]uint64{unix.CLONE_VM | unix.CLONE_NEWNET}}, Refusal(unix.EPERM)},
		{"clone3 is not there", Call{Number: unix.SYS_CLONE3}, Refusal(unix.ENOSYS)},
	} {
		if got := answer(t, p, w.call); got != w.want {
			t.Errorf("%s: %#x, want %#x", w.what, got, w.want)
		}
	}
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, number := range []uint32{0x40000000, 0x40000000 + unix.SYS_SOCKET, 0x40000000 + 520 /* execve of x32 */, 0xffffffff} {
		if got := answer(t, p, Call{Number: number}); got != Refusal(unix.ENOSYS) {
			t.Errorf("x32 call %#x: %#x", number, got)
		}
	}
}
