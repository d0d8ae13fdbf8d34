package restrict

import (
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

func TestTheFilterRefusesExactlyWhatTheRulesDo(t *testing.T) {
	if !seccomp.Available() {
		t.Skip("no system-call filter for " + runtime.GOARCH)
	}
	run := []uintptr{unix.SYS_EXECVE, unix.SYS_EXECVEAT}
	network := []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR}
	always := append(seccomp.KernelCalls(), unix.SYS_CLONE3)
	for _, w := range []struct {
		what    string
		rules   Rules
		abi     int
		refused []uintptr
	}{
		{"nothing is kept", Rules{}, 3, slices.Concat(always, run, network, seccomp.AttributeCalls())},
		{"programs may be started", Rules{Exec: true}, 3, slices.Concat(always, network, seccomp.AttributeCalls())},
		{"sockets may be made", Rules{Network: true}, 3, slices.Concat(always, run, seccomp.AttributeCalls())},
		{"attributes may be changed", Rules{Attributes: true}, 3, slices.Concat(always, run, network)},
		{"everything is kept", Rules{Exec: true, Network: true, Attributes: true}, 3, always},
		{"Landlock cannot forbid truncation", Rules{Exec: true, Network: true, Attributes: true}, 2, append(always, unix.SYS_TRUNCATE)},
	} {
		code := program(w.rules, w.abi)
		for number := range uint32(1024) {
			got, err := code.Answer(seccomp.Call{Number: number})
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(w.refused, uintptr(number)); want == (got == unix.SECCOMP_RET_ALLOW) {
				t.Errorf("%s: call %d gives %#x", w.what, number, got)
			}
		}
	}
}
