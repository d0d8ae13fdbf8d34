//go:build !linux

package audit_test

var platformChildren map[string]func(args []string) error
