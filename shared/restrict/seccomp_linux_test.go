package restrict

import (
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheFilterRefusesExactlyWhatTheRulesDo(t *testing.T) {
	if !HasFilters() {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	run := []uintptr{unix.SYS_EXECVE, unix.SYS_EXECVEAT}
	sockets := []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN}
	network := append(slices.Clone(acceptCalls), sockets...)
	always := append(KernelCalls(), unix.SYS_CLONE3)
	for _, w := range []struct {
		what    string
		rules   Rules
		abi     int
		refused []uintptr
	}{
		{"nothing is kept", Rules{}, 3, slices.Concat(always, run, network, attributeCalls)},
		{"programs may be started", Rules{Exec: true}, 3, slices.Concat(always, network, attributeCalls)},
		{"sockets may be made", Rules{Network: true}, 3, slices.Concat(always, run, attributeCalls)},
		{"connections may be accepted", Rules{Accept: true}, 3, slices.Concat(always, run, sockets, attributeCalls)},
		{"attributes may be changed", Rules{Attributes: true}, 3, slices.Concat(always, run, network)},
		{"everything is kept", Rules{Exec: true, Network: true, Attributes: true}, 3, always},
		{"Landlock cannot forbid truncation", Rules{Exec: true, Network: true, Attributes: true}, 2, append(always, unix.SYS_TRUNCATE)},
	} {
		code := program(w.rules, w.abi)
		for number := range uint32(1024) {
			got, err := code.Answer(Call{Number: number})
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(w.refused, uintptr(number)); want == (got == unix.SECCOMP_RET_ALLOW) {
				t.Errorf("%s: call %d gives %#x", w.what, number, got)
			}
		}
	}
}

func TestNoSocketConnectsBySending(t *testing.T) {
	if !HasFilters() {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	for _, w := range []struct {
		call  uint32
		flags int // which argument
	}{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
		for rules, want := range map[*Rules]bool{{}: false, {Accept: true}: false, {Connect: []uint16{discard}}: false, {Network: true}: true} {
			c := Call{Number: w.call}
			c.Args[w.flags] = unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL
			got, err := program(*rules, 3).Answer(c)
			if err != nil || (got == unix.SECCOMP_RET_ALLOW) != want {
				t.Errorf("call %d under %+v gives %#x %v", w.call, *rules, got, err)
			}
		}
	}
}

func TestWhatConnectsByTCPCanDoNothingElse(t *testing.T) {
	if !HasFilters() {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	only, both := program(Rules{Connect: []uint16{discard}}, 4), program(Rules{Connect: []uint16{discard}, Accept: true}, 4)
	for _, w := range []struct {
		what string
		by   Program
		call uint32
		args [3]uint64
		can  bool
	}{
		{"TCP", only, unix.SYS_SOCKET, [3]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, true},
		{"TCP over IPv6, by its name", only, unix.SYS_SOCKET, [3]uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, true},
		{"connecting", only, unix.SYS_CONNECT, [3]uint64{}, true},
		{"MPTCP", only, unix.SYS_SOCKET, [3]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, false},
		{"SCTP", only, unix.SYS_SOCKET, [3]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, false},
		{"datagrams", only, unix.SYS_SOCKET, [3]uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, false},
		{"raw packets", only, unix.SYS_SOCKET, [3]uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP}, false},
		{"local sockets", only, unix.SYS_SOCKET, [3]uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, false},
		{"virtual machines", only, unix.SYS_SOCKET, [3]uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, false},
		{"SMC", only, unix.SYS_SOCKET, [3]uint64{unix.AF_SMC, unix.SOCK_STREAM, 0}, false},
		{"listening", only, unix.SYS_LISTEN, [3]uint64{}, false},
		{"binding", only, unix.SYS_BIND, [3]uint64{}, false},
		{"accepting", only, unix.SYS_ACCEPT4, [3]uint64{}, false},
		{"accepting, where that is kept too", both, unix.SYS_ACCEPT4, [3]uint64{}, true},
	} {
		c := Call{Number: w.call}
		copy(c.Args[:], w.args[:])
		if got, err := w.by.Answer(c); err != nil || (got == unix.SECCOMP_RET_ALLOW) != w.can {
			t.Errorf("%s: %#x, %v", w.what, got, err)
		}
	}
}
