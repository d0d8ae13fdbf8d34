//go:build !linux

package transport

func widen(any) {}
