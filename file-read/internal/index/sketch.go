package index

import (
	"encoding/binary"
	"math/bits"
)

// The table in which the runs of a file are marked has up to 2^hashBits places, one
// byte each, because a byte is marked without looking at the ones beside it.
const (
	hashBits = 20
	minBits  = 9
)

// A filter is half as large as the table, and half again, as long as no more than
// sparse of its bits are set. Then up to 0.44 are in the end, 0.34 in the mean of source
// code: one file in 25 lets a text of five bytes pass that it does not have, one in 400
// a text of eight. A filter of which more than dense is set says too little to be kept.
const (
	sparse = 0.25
	dense  = 0.75
)

// Sketch gathers the runs of one file after the other. It takes as much memory as
// the largest needed, at most 1.2 MB.
type Sketch struct {
	marks  []byte   // one for each hash; a power of two
	filter []uint64 // one bit for each
	tail   [2]byte  // the last bytes taken in, in lower case
	taken  int64
}

// Begin forgets the file before. size is about how large the next one is.
func (s *Sketch) Begin(size int64) {
	n := 1 << min(max(bits.Len64(uint64(max(size, 0)))+1, minBits), hashBits)
	if cap(s.marks) < n {
		s.marks = make([]byte, n)
		s.filter = make([]uint64, n/64)
	}
	s.marks = s.marks[:n]
	clear(s.marks)
	s.taken = 0
}

// Write takes in the next bytes of the file, all of them.
func (s *Sketch) Write(p []byte) (int, error) {
	s.take(p)
	return len(p), nil
}

func (s *Sketch) take(p []byte) {
	for len(p) > 0 && s.taken < 2 {
		s.tail[s.taken] = lower(p[0])
		s.taken++
		p = p[1:]
	}
	if len(p) == 0 {
		return
	}
	s.taken += int64(len(p))
	s.across(p[:min(2, len(p))])
	rest := markAll(s.marks, p)
	s.finish(rest)
	if len(p) >= 2 {
		s.tail = [2]byte{lower(p[len(p)-2]), lower(p[len(p)-1])}
	}
}

// across marks the runs that begin before p, of which it is the first one or two
// bytes, and moves the tail on.
func (s *Sketch) across(p []byte) {
	for _, c := range p {
		c = lower(c)
		s.mark(s.tail[0], s.tail[1], c)
		s.tail = [2]byte{s.tail[1], c}
	}
}

// finish marks the runs in the few bytes that markAll leaves.
func (s *Sketch) finish(p []byte) {
	for ; len(p) >= 3; p = p[1:] {
		s.mark(lower(p[0]), lower(p[1]), lower(p[2]))
	}
}

func (s *Sketch) mark(a, b, c byte) {
	h := hash(uint64(a) | uint64(b)<<8 | uint64(c)<<16)
	s.marks[int(h)&(len(s.marks)-1)] = 1
}

// markAll marks the runs of p six at a time, and gives back what is left: at most
// seven bytes, of which no run is marked.
func markAll(marks []byte, p []byte) []byte {
	const three = 1<<24 - 1
	mask := uint64(len(marks) - 1)
	for len(p) >= 8 {
		w := lowerAll(binary.LittleEndian.Uint64(p))
		marks[w&three*factor>>(64-hashBits)&mask] = 1
		marks[w>>8&three*factor>>(64-hashBits)&mask] = 1
		marks[w>>16&three*factor>>(64-hashBits)&mask] = 1
		marks[w>>24&three*factor>>(64-hashBits)&mask] = 1
		marks[w>>32&three*factor>>(64-hashBits)&mask] = 1
		marks[w>>40*factor>>(64-hashBits)&mask] = 1
		p = p[6:]
	}
	return p
}

// hash is the place of a run: the upper bits of a product, each of which depends on
// all three bytes.
func hash(run uint64) uint32 { return uint32(run * factor >> (64 - hashBits)) }

const factor = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// lowerAll is lower of each of eight bytes: the upper bit of a byte of each sum says
// whether the byte is at least A, and beyond Z.
func lowerAll(w uint64) uint64 {
	const each = 0x0101010101010101
	low := w & (0x7F * each)
	fromA := low + (0x80-'A')*each
	beyondZ := low + (0x7F-'Z')*each
	return w | (fromA^beyondZ)&^w&(0x80*each)>>2
}

// bits is the filter of the file, valid until Begin, and whether it says enough to
// be kept.
func (s *Sketch) bits() (filter []uint64, ok bool) {
	if len(s.marks) == 0 { // nothing was begun
		return nil, false
	}
	filter = s.filter[:len(s.marks)/64]
	n := pack(filter, s.marks)
	for len(filter) > 1 && float64(n) <= sparse*64*float64(len(filter)) {
		filter, n = halve(filter)
	}
	return filter, float64(n) <= dense*64*float64(len(filter))
}

// pack turns marks, which are 0 or 1, into bits, and counts them.
func pack(filter []uint64, marks []byte) (n int) {
	for i := range filter {
		var word uint64
		for j, eight := 0, marks[i*64:i*64+64]; j < 64; j += 8 {
			// The product gathers the lowest bits of eight bytes in its highest byte.
			word |= binary.LittleEndian.Uint64(eight[j:]) * 0x0102040810204080 >> 56 << j
		}
		filter[i] = word
		n += bits.OnesCount64(word)
	}
	return n
}

// halve lays one half of a filter over the other: a place is then told by one bit
// less of the hash.
func halve(filter []uint64) (half []uint64, n int) {
	half, upper := filter[:len(filter)/2], filter[len(filter)/2:]
	for i := range half {
		half[i] |= upper[i]
		n += bits.OnesCount64(half[i])
	}
	return half, n
}
