//go:build !linux && !darwin

package process

import (
	"syscall"

	"github.com/multiollama/mcp-server/shared/fault"
)

func unavailable() error {
	return fault.New(fault.Unavailable, "commands cannot be run on this system yet", "Use Linux or macOS")
}

func born(int) string { return "" }

func (i identity) signal(syscall.Signal, string) error { return unavailable() }

func (i identity) carries(string) bool { return false }

// session is what is known of the session that i leads: i.
func (i identity) session() []identity { return []identity{i} }

// kin is what is known of those that come of i: i.
func (i identity) kin() []int {
	if !i.alive() {
		return nil
	}
	return []int{i.PID}
}
