package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
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
// a text of eight. A filter of which more than dense is set is not kept.
const (
	sparse = 0.25
	dense  = 0.75
)

// Sketch gathers the runs of one file after the other. It takes as much memory as
// the largest needed, at most 1.2 MB.
type Sketch struct {
	marks   []byte   // one for each hash; a power of two
	filter  []uint64 // one bit for each
	tail    [2]byte  // the last bytes written, in lower case
	written int64
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
	s.written = 0
}

// Write adds the next bytes of the file, all of them.
func (s *Sketch) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && s.written < 2 {
		s.tail[s.written] = lower(p[0])
		s.written++
		p = p[1:]
	}
	if len(p) == 0 {
		return n, nil
	}
	s.written += int64(len(p))
	last := p[max(0, len(p)-2):]
	for _, c := range p[:min(2, len(p))] { // the runs that begin before p
		c = lower(c)
		s.mark(s.tail[0], s.tail[1], c)
		s.tail = [2]byte{s.tail[1], c}
	}
	for p = markAll(s.marks, p); len(p) >= 3; p = p[1:] {
		s.mark(lower(p[0]), lower(p[1]), lower(p[2]))
	}
	if len(last) == 2 {
		s.tail = [2]byte{lower(last[0]), lower(last[1])}
	}
	return n, nil
}

func (s *Sketch) mark(a, b, c byte) {
	h := hash(uint64(a) | uint64(b)<<8 | uint64(c)<<16)
	s.marks[int(h)&(len(s.marks)-1)] = 1
}

// markAll marks the runs of p six at a time, and returns what is left: at most
// seven bytes, of which no run is marked.
func markAll(marks []byte, p []byte) []byte {
	const three = 1<<24 - 1
	mask := uint64(len(marks) - 1)
	for len(p) >= 8 {
		// To lower case: the upper bit of a byte of each sum shows whether the byte is at
		// least A, and beyond Z.
		const each = 0x0101010101010101
		w := binary.LittleEndian.Uint64(p)
		low := w & (0x7F * each)
		fromA := low + (0x80-'A')*each
		beyondZ := low + (0x7F-'Z')*each
		w |= (fromA ^ beyondZ) & ^w & (0x80 * each) >> 2

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

// bits is the filter of the file, valid until Begin, and whether it is selective enough
// to be kept.
func (s *Sketch) bits() (filter []uint64, ok bool) {
	if len(s.marks) == 0 { // nothing was begun
		return nil, false
	}
	filter = s.filter[:len(s.marks)/64]
	n := 0 // bits that are set
	for i := range filter {
		var word uint64
		for j, eight := 0, s.marks[i*64:i*64+64]; j < 64; j += 8 {
			// Marks are 0 or 1; the product gathers the lowest bits of eight bytes in its highest byte.
			word |= binary.LittleEndian.Uint64(eight[j:]) * 0x0102040810204080 >> 56 << j
		}
		filter[i] = word
		n += bits.OnesCount64(word)
	}
	for len(filter) > 1 && float64(n) <= sparse*64*float64(len(filter)) {
		// One half over the other: a place is then decided by one bit less of the hash.
		upper := filter[len(filter)/2:]
		filter, n = filter[:len(filter)/2], 0
		for i := range filter {
			filter[i] |= upper[i]
			n += bits.OnesCount64(filter[i])
		}
	}
	return filter, float64(n) <= dense*64*float64(len(filter))
}

// Query is texts of which one is in everything that matches.
type Query struct {
	texts [][]uint32 // the hashes of the runs of each
}

// NewQuery is a query for any of the texts, whatever the case of their ASCII
// letters. It is nil where filters cannot help: one of the texts is too short, or
// there are none. Runs with a line end are left out: a search takes the carriage return
// out of one.
func NewQuery(texts ...[]byte) *Query {
	q := &Query{}
	for _, t := range texts {
		var runs []uint32
		for i := 0; i+3 <= len(t); i++ {
			if bytes.ContainsAny(t[i:i+3], "\r\n") {
				continue
			}
			h := hash(uint64(lower(t[i])) | uint64(lower(t[i+1]))<<8 | uint64(lower(t[i+2]))<<16)
			if !slices.Contains(runs, h) {
				runs = append(runs, h)
			}
		}
		if len(runs) == 0 {
			return nil
		}
		q.texts = append(q.texts, runs)
	}
	if q.texts == nil {
		return nil
	}
	return q
}

// mayBeIn reports whether all runs of one of the texts are in a filter.
func (q *Query) mayBeIn(filter []uint64) bool {
	mask := uint32(len(filter)*64 - 1)
next:
	for _, runs := range q.texts {
		for _, h := range runs {
			if filter[h&mask>>6]>>(h&63)&1 == 0 {
				continue next
			}
		}
		return true
	}
	return false
}
