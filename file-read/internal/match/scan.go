package match

import (
	"bytes"
	"slices"
)

// The searches for bytes, many at a time. They know nothing of expressions, lines or
// characters, and never read outside the text. Each search has one meaning and two
// forms: plain Go, also used at the ends of texts, and, where the processor has AVX2,
// vectors of 32 bytes. Tests compare the two.

// A trio is searched for as three bytes at fixed distances: the three rarest of a
// literal nearly always decide whether the literal is there.
type trio struct {
	At     [3]int  // where in the literal the bytes are
	Byte   [3]byte // which they are
	Either [3]byte // 0x20 where Byte is a letter, in lower case, that matches both cases; else 0
}

// next is the first place at or after from that has all three, or -1.
func (t *trio) next(b []byte, from int) int {
	n := len(b) - max(t.At[0], t.At[1], t.At[2]) // places where they are within b
	if n-from < width {
		return t.nextPortable(b, from, n)
	}
	return trioNext(t, b, from, n)
}

func (t *trio) nextPortable(b []byte, from, n int) int {
	for i := from; i < n; i++ {
		if t.Either[0] == 0 {
			k := bytes.IndexByte(b[i+t.At[0]:n+t.At[0]], t.Byte[0])
			if k < 0 {
				return -1
			}
			i += k
		}
		if t.is(b, i, 0) && t.is(b, i, 1) && t.is(b, i, 2) {
			return i
		}
	}
	return -1
}

func (t *trio) is(b []byte, at, i int) bool { return b[at+t.At[i]]|t.Either[i] == t.Byte[i] }

// teddy searches for up to eight groups of literals at once, by three bytes in a
// row of each: every byte value has a set of groups for each of the three, and
// a place is found where some group is in all three sets. A byte's sets are
// looked up by its two halves, so that groups of several literals are found in
// a few places where none of them is. The name is that of Hyperscan.
type teddy struct{ tables halves }

// halves has for each of three bytes the groups by the lower and by the upper
// four bits, each table twice, as vectors of two lanes need it.
type halves [3][2][32]byte

func (h *halves) add(k int, c, groups byte) {
	for lane := 0; lane < 32; lane += 16 {
		h[k][0][lane+int(c&15)] |= groups
		h[k][1][lane+int(c>>4)] |= groups
	}
}

func (h *halves) of(k int, c byte) byte { return h[k][0][c&15] & h[k][1][c>>4] }

// add makes byte c the one that literals of the group have at place k of three.
func (t *teddy) add(group, k int, c byte) { t.tables.add(k, c, 1<<group) }

// free lets literals of the group have any byte at place k of three.
func (t *teddy) free(group, k int) {
	for i := range 32 {
		t.tables[k][0][i] |= 1 << group
		t.tables[k][1][i] |= 1 << group
	}
}

// next is the first place at or after from where literals may be, and their groups; or
// -1. Behind the end of b every byte fits.
func (t *teddy) next(b []byte, from int) (at int, groups byte) {
	if n := len(b) - 2; n-from >= width {
		if at := teddyNext(&t.tables, b, from, n); at >= 0 {
			return at, t.groups(b, at)
		}
		from = n
	}
	return t.nextPortable(b, from)
}

func (t *teddy) nextPortable(b []byte, from int) (int, byte) {
	for i := from; i < len(b); i++ {
		if g := t.groups(b, i); g != 0 {
			return i, g
		}
	}
	return -1, 0
}

func (t *teddy) groups(b []byte, at int) byte {
	all := byte(0xFF)
	for k, c := range b[at:min(at+3, len(b))] {
		all &= t.tables.of(k, c)
	}
	return all
}

// A byteWindow is three sets of bytes in a row.
type byteWindow struct{ tables halves }

// newByteWindow is a window of three sets. Upper halves of bytes whose rows of lower halves
// are the same share a group, so that eight groups are enough for most sets; where they are
// not, more bytes than those of the set fit.
func newByteWindow(sets [3]*[256]bool) *byteWindow {
	w := new(byteWindow)
	for k, set := range sets {
		var rows [][16]bool
		for upper := range 16 {
			row := [16]bool(set[upper<<4:])
			if !slices.Contains(row[:], true) {
				continue
			}
			group := slices.Index(rows, row)
			if group < 0 {
				group = len(rows)
				rows = append(rows, row)
			}
			for lower, in := range row {
				if in {
					w.tables.add(k, byte(upper<<4|lower), 1<<(group&7))
				}
			}
		}
	}
	return w
}

// next is the first place at or after from whose three bytes are in the three
// sets, or nearly so; or -1. Behind the end of b every byte fits.
func (w *byteWindow) next(b []byte, from int) int {
	if n := len(b) - 2; n-from >= width {
		if at := windowNext(&w.tables, b, from, n); at >= 0 {
			return at
		}
		from = n
	}
	return w.nextPortable(b, from)
}

func (w *byteWindow) nextPortable(b []byte, from int) int {
next:
	for i := from; i < len(b); i++ {
		for k, c := range b[i:min(i+3, len(b))] {
			if w.tables.of(k, c) == 0 {
				continue next
			}
		}
		return i
	}
	return -1
}

// lastLineFeed is the last place of a line feed in b, or -1.
func lastLineFeed(b []byte) int {
	i := len(b) - 1
	for end := max(-1, i-8); i > end; i-- {
		if b[i] == '\n' {
			return i
		}
	}
	if i+1 < width {
		return bytes.LastIndexByte(b[:i+1], '\n')
	}
	return lastLFNext(b[:i+1])
}

// traits are kinds of bytes that a text has.
type traits uint8

const (
	hasNUL traits = 1 << iota
	hasESC
	hasCR
	hasNonASCII
)

// traitsOf is the kinds of bytes in b.
func traitsOf(b []byte) traits {
	if len(b) < width {
		return portableTraits(b)
	}
	return traitsNext(b)
}

func portableTraits(b []byte) traits {
	var t traits
	for _, c := range b {
		switch {
		case c == 0:
			t |= hasNUL
		case c == 0x1B:
			t |= hasESC
		case c == '\r':
			t |= hasCR
		case c >= 0x80:
			t |= hasNonASCII
		}
	}
	return t
}

// asciiPrefix is how many bytes at the start of b are ASCII.
func asciiPrefix(b []byte) int {
	if len(b) < width {
		return portableASCII(b)
	}
	if i := asciiNext(b); i >= 0 {
		return i
	}
	return len(b)
}

func portableASCII(b []byte) int {
	for i, c := range b {
		if c >= 0x80 {
			return i
		}
	}
	return len(b)
}
