package match

import (
	"math"

	"golang.org/x/sys/cpu"
)

// width is the length of the shortest text that vectors are used for. Without AVX2 no
// text is long enough.
var width = math.MaxInt

func init() {
	if cpu.X86.HasAVX2 && cpu.X86.HasBMI1 {
		width = 32
	}
}

// Each of these looks at the places from ≤ i < n, of which there are at least
// 32, and is -1 where it finds none. The last vector is one that ends at n, over
// places that may have been looked at before.

//go:noescape
func trioNext(t *trio, b []byte, from, n int) int

//go:noescape
func teddyNext(tables *halves, b []byte, from, n int) int

//go:noescape
func windowNext(tables *halves, b []byte, from, n int) int

//go:noescape
func lastLFNext(b []byte) int

//go:noescape
func asciiNext(b []byte) int

//go:noescape
func traitsNext(b []byte) traits
