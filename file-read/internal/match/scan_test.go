package match

import (
	"bytes"
	"testing"
)

// FuzzKernels holds every search on every text, from every place, to its form
// in plain Go. The text has no room behind it: what is read there would differ.
func FuzzKernels(f *testing.F) {
	line := []byte("The quick brown fox\r jumps over\x00 the lazy \xd0\x94\x1b og.\n")
	for n := range 5 {
		f.Add(bytes.Repeat(line, n+1), []byte("quizg"), uint8(n), uint8(3*n), n%2 == 0)
	}
	f.Add(append(bytes.Repeat([]byte("x"), 100), "zyx"...), []byte("zyx"), uint8(0), uint8(2), false)
	f.Fuzz(func(t *testing.T, text, what []byte, a, b uint8, fold bool) {
		if len(what) == 0 || len(text) > 300 {
			t.Skip()
		}
		h := hunts(what, int(a%40), int(b%40), fold)
		for from := 0; from <= len(text); from += 1 + len(text)/20 {
			for end := len(text); end >= from; end -= 1 + len(text)/20 {
				h.check(t, text[:end:end], from)
			}
		}
	})
}

type hunt struct {
	trio   trio
	teddy  teddy
	window *byteWindow
}

// hunts are searches made of some bytes.
func hunts(what []byte, a, b int, fold bool) hunt {
	var h hunt
	h.trio = trio{At: [3]int{a, b, a / 2}, Byte: [3]byte{what[0], what[len(what)-1], what[len(what)/2]}}
	if fold {
		h.trio.Either = [3]byte{0x20, 0x20, 0x20}
	}
	var sets [3]*[256]bool
	for k := range sets {
		sets[k] = new([256]bool)
	}
	for i, c := range what {
		h.teddy.add(i/3%8, i%3, c)
		sets[i%3][c] = true
		for c := range max(c, 200) - 190 {
			sets[i%3][c] = true
		}
	}
	h.teddy.free(7, 1)
	h.teddy.free(6, 2)
	h.window = newByteWindow(sets)
	return h
}

func (h *hunt) check(t *testing.T, text []byte, from int) {
	t.Helper()
	same := func(what string, got, want int) {
		if got != want {
			t.Errorf("%s in %q from %d: %d, not %d", what, text, from, got, want)
		}
	}
	same("trio", h.trio.next(text, from), h.trio.nextPortable(text, from, len(text)-max(h.trio.At[0], h.trio.At[1])))
	at, groups := h.teddy.next(text, from)
	wantAt, want := h.teddy.nextPortable(text, from)
	same("teddy", at, wantAt)
	same("groups", int(groups), int(want))
	same("window", h.window.next(text, from), h.window.nextPortable(text, from))
	rest := text[from:]
	same("line feed", lastLineFeed(rest), bytes.LastIndexByte(rest, '\n'))
	same("traits", int(traitsOf(rest)), int(portableTraits(rest)))
	same("ASCII", asciiPrefix(rest), portableASCII(rest))
}

// TestNothingIsReadOutsideTheText has every search read a text that ends where
// memory that may be read ends: see guarded.
func TestNothingIsReadOutsideTheText(t *testing.T) {
	for n := range 200 {
		text := guarded(t, n)
		h := hunts([]byte("abcxyz"), n%7, n%3, n%2 == 0)
		for from := 0; from <= n; from += 1 + n/50 {
			h.check(t, text, from)
		}
	}
}

func TestAWindowIsItsSetsWhereEightGroupsAreEnough(t *testing.T) {
	digits, letters := new([256]bool), new([256]bool)
	for c := byte('0'); c <= '9'; c++ {
		digits[c] = true
	}
	for c := byte('A'); c <= 'Z'; c++ {
		letters[c], letters[c|0x20], letters[c|0x80] = true, true, true
	}
	w := newByteWindow([3]*[256]bool{digits, letters, digits})
	for c := range 256 {
		if got := w.next([]byte{'7', byte(c), '0'}, 0) == 0; got != letters[c] {
			t.Errorf("byte %#x: %v", c, got)
		}
	}
}

func BenchmarkKernels(b *testing.B) {
	text := bytes.Repeat([]byte("func (p *Pattern) Search(ctx context.Context, r io.Reader)\n"), 1<<12)
	h := hunts([]byte("~^~"), 0, 2, true)
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"trio", func() { h.trio.next(text, 0) }},
		{"teddy", func() { h.teddy.next(text, 0) }},
		{"window", func() { h.window.next(text, 0) }},
		{"traits", func() { traitsOf(text) }},
		{"ascii", func() { asciiPrefix(text) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c.do()
			}
		})
	}
}
