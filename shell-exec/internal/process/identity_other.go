//go:build !linux && !darwin

package process

import "syscall"

func born(int) string { return "" }

func (i identity) signal(syscall.Signal) error { return unavailable() }
