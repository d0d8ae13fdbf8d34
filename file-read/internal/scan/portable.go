package scan

import "bytes"

// The searches in plain Go: what they mean, and how they are done without
// vectors and at the ends of texts.

func (t *Trio) next(b []byte, from, n int) int {
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

func (t *Trio) is(b []byte, at, i int) bool { return b[at+t.At[i]]|t.Either[i] == t.Byte[i] }

func (t *Teddy) next(b []byte, from int) (int, byte) {
	for i := from; i < len(b); i++ {
		if g := t.groups(b, i); g != 0 {
			return i, g
		}
	}
	return -1, 0
}

func (t *Teddy) groups(b []byte, at int) byte {
	all := byte(0xFF)
	for k, c := range b[at:min(at+3, len(b))] {
		all &= t.tables.of(k, c)
	}
	return all
}

func (w *Window) next(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if w.fits(b[i:min(i+3, len(b))]) {
			return i
		}
	}
	return -1
}

func (w *Window) fits(b []byte) bool {
	for k, c := range b {
		if w.tables.of(k, c) == 0 {
			return false
		}
	}
	return true
}

func lastLF(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' {
			return i
		}
	}
	return -1
}

func traitsOf(b []byte) Traits {
	var t Traits
	for _, c := range b {
		switch {
		case c == 0:
			t |= NUL
		case c == 0x1B:
			t |= ESC
		case c == '\r':
			t |= CR
		case c >= 0x80:
			t |= NonASCII
		}
	}
	return t
}

func ascii(b []byte) int {
	for i, c := range b {
		if c >= 0x80 {
			return i
		}
	}
	return len(b)
}
