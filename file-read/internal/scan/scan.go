// Package scan looks for bytes in text, many at a time.
//
// It refuses to know what is looked for: no expressions, no lines, no
// characters. It never reads outside the text it is given. Each search has one
// meaning and two forms, plain Go in portable.go and, where the processor has
// AVX2, vectors of 32 bytes; tests hold one form to the other.
package scan

// A Trio is looked for as three bytes at fixed distances: the three rarest of a
// literal tell nearly always whether the literal is there.
type Trio struct {
	At     [3]int  // where in the literal the bytes are
	Byte   [3]byte // which they are
	Either [3]byte // 0x20 where Byte is a letter, in lower case, that matches both cases; else 0
}

// Next is the first place at or after from that has all three, or -1.
func (t *Trio) Next(b []byte, from int) int {
	n := len(b) - max(t.At[0], t.At[1], t.At[2]) // places where they are within b
	if n-from < width {
		return t.next(b, from, n)
	}
	return trioNext(t, b, from, n)
}

// Teddy looks for up to eight groups of literals at once, by three bytes in a
// row of each: every byte value has a set of groups for each of the three, and
// a place is found where some group is in all three sets. A byte's sets are
// looked up by its two halves, so that groups of several literals are found in
// a few places where none of them is.
//
// Hyperscan calls this algorithm so.
type Teddy struct{ tables halves }

// halves has for each of three bytes the groups by the lower and by the upper
// four bits, each table twice, as vectors of two lanes need it.
type halves [3][2][32]byte

// Add makes byte c the one that literals of the group have at place k of three.
func (t *Teddy) Add(group, k int, c byte) { t.tables.add(k, c, 1<<group) }

// Free lets literals of the group have any byte at place k of three.
func (t *Teddy) Free(group, k int) {
	for i := range 32 {
		t.tables[k][0][i] |= 1 << group
		t.tables[k][1][i] |= 1 << group
	}
}

func (h *halves) add(k int, c, groups byte) {
	for lane := 0; lane < 32; lane += 16 {
		h[k][0][lane+int(c&15)] |= groups
		h[k][1][lane+int(c>>4)] |= groups
	}
}

func (h *halves) of(k int, c byte) byte { return h[k][0][c&15] & h[k][1][c>>4] }

// Next is the first place at or after from where literals may be, and the
// groups that they are of; or -1. Behind the end of b every byte fits.
func (t *Teddy) Next(b []byte, from int) (at int, groups byte) {
	if n := len(b) - 2; n-from >= width {
		if at := teddyNext(&t.tables, b, from, n); at >= 0 {
			return at, t.groups(b, at)
		}
		from = n
	}
	return t.next(b, from)
}

// A Window is three sets of bytes in a row.
type Window struct{ tables halves }

// NewWindow is a window of three sets.
func NewWindow(sets [3]*[256]bool) *Window {
	w := new(Window)
	for k, set := range sets {
		w.tables.fill(k, set)
	}
	return w
}

// fill makes the bytes of a set those that have a group at place k. Upper
// halves with the same lower ones share a group, so that eight are enough for
// most sets; where they are not, more bytes than those of the set have one.
func (h *halves) fill(k int, set *[256]bool) {
	var lowers []uint16
	for upper := range 16 {
		var lower uint16
		for i := range 16 {
			if set[upper<<4|i] {
				lower |= 1 << i
			}
		}
		if lower == 0 {
			continue
		}
		group := -1
		for i, known := range lowers {
			if known == lower {
				group = i
			}
		}
		if group < 0 {
			group = len(lowers) & 7
			lowers = append(lowers, lower)
		}
		for i := range 16 {
			if lower>>i&1 != 0 {
				h.add(k, byte(upper<<4|i), 1<<(group&7))
			}
		}
	}
}

// Next is the first place at or after from whose three bytes are in the three
// sets, or nearly so; or -1. Behind the end of b every byte fits.
func (w *Window) Next(b []byte, from int) int {
	if n := len(b) - 2; n-from >= width {
		if at := windowNext(&w.tables, b, from, n); at >= 0 {
			return at
		}
		from = n
	}
	return w.next(b, from)
}

// LastLF is the last place of a line feed in b, or -1.
func LastLF(b []byte) int {
	i := len(b) - 1
	for end := max(-1, i-8); i > end; i-- {
		if b[i] == '\n' {
			return i
		}
	}
	if i+1 < width {
		return lastLF(b[:i+1])
	}
	return lastLFNext(b[:i+1])
}

// Traits are kinds of bytes that a text has.
type Traits uint8

const (
	NUL Traits = 1 << iota
	ESC
	CR
	NonASCII
)

// TraitsOf tells what kinds of bytes are in b.
func TraitsOf(b []byte) Traits {
	if len(b) < width {
		return traitsOf(b)
	}
	return traits(b)
}

// ASCII is how many bytes at the start of b are ASCII.
func ASCII(b []byte) int {
	if len(b) < width {
		return ascii(b)
	}
	if i := asciiNext(b); i >= 0 {
		return i
	}
	return len(b)
}
