//go:build race

package sandbox

func init() { raced = true }
