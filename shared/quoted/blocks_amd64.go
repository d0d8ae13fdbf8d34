package quoted

import "golang.org/x/sys/cpu"

// fast says that this processor has what the kernels need.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// escapeBlocks writes text of n bytes as far as it comes: to the last 31 bytes, or to
// one that is written neither as it is nor as an escape of a letter.
//
//go:noescape
func escapeBlocks(dst, src *byte, n int, letters *[256]byte) (read, written int)

// unescapeBlocks reads text as far as it comes: to the last 32 bytes, or to one that
// neither stands for itself nor begins an escape of a letter.
//
//go:noescape
func unescapeBlocks(dst, src *byte, n int, letters *[256]byte) (read, written int)

// validBlocks is how far unescapeBlocks comes.
//
//go:noescape
func validBlocks(src *byte, n int, letters *[256]byte) int
