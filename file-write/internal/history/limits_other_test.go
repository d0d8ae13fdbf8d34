//go:build !linux

package history_test

var platformChildren = map[string]func(args []string) error{}
