//go:build !amd64

package match

import "math"

// width is more than any text has: the portable forms do it all.
const width = math.MaxInt

func trioNext(*trio, []byte, int, int) int     { return -1 }
func teddyNext(*halves, []byte, int, int) int  { return -1 }
func windowNext(*halves, []byte, int, int) int { return -1 }
func lastLFNext([]byte) int                    { return -1 }
func traitsNext([]byte) traits                 { return 0 }
func asciiNext([]byte) int                     { return -1 }
