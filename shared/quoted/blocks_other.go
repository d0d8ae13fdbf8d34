//go:build !amd64

package quoted

const fast = false

func escapeBlocks(_, _ *byte, _ int, _ *[256]byte) (read, written int)   { return 0, 0 }
func unescapeBlocks(_, _ *byte, _ int, _ *[256]byte) (read, written int) { return 0, 0 }
func validBlocks(*byte, int, *[256]byte) int                             { return 0 }
