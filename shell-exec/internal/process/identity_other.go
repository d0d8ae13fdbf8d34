//go:build !linux && !darwin

package process

import "syscall"

func born(int) string { return "" }

func (i identity) signal(syscall.Signal) error { return unavailable() }

// session is what is known of the session that i leads: i.
func (i identity) session() []identity { return []identity{i} }
