package index

import "slices"

// filters is the memory of all filters, in slabs that the garbage collector does not
// count, for it would let as much garbage accumulate beside them.
type filters struct {
	slabs [][]uint64
	next  int // where in the last slab the next filter may begin
	waste int // words of filters that are no longer used, until compact
}

// span is where a filter is. Its length is a power of two, and it is in one slab.
type span struct {
	at  uint32 // words before it, slab by slab
	log uint8  // its length is 2^log words
}

const slabLen = 1 << 15 // words; twice the longest filter

func (f *filters) size() int { return 8 * slabLen * len(f.slabs) }

// of is the filter at a span.
func (f *filters) of(s span) []uint64 {
	at := int(s.at % slabLen)
	return f.slabs[s.at/slabLen][at : at+1<<s.log]
}

// growth is how many bytes a further filter of n words will take.
func (f *filters) growth(n int) int {
	if len(f.slabs) == 0 || f.next+n > slabLen {
		return 8 * slabLen
	}
	return 0
}

// put adds a copy of a filter, or reports that there is no memory.
func (f *filters) put(filter []uint64) (span, bool) {
	if f.growth(len(filter)) > 0 {
		slab := allocate(slabLen)
		if slab == nil {
			return span{}, false
		}
		f.slabs = append(f.slabs, slab)
		f.next = 0
	}
	s := span{at: uint32((len(f.slabs)-1)*slabLen + f.next)}
	for 1<<s.log < len(filter) {
		s.log++
	}
	f.next += len(filter)
	copy(f.of(s), filter)
	return s, true
}

// compact moves the filters in use to the front, each of spans to a place at or
// before its own, and frees the slabs that are left over.
func (f *filters) compact(spans []*span) {
	slices.SortFunc(spans, func(a, b *span) int { return int(a.at) - int(b.at) })
	slab, next := 0, 0
	for _, s := range spans {
		n := 1 << s.log
		if next+n > slabLen {
			slab, next = slab+1, 0
		}
		to := span{at: uint32(slab*slabLen + next), log: s.log}
		copy(f.of(to), f.of(*s))
		*s = to
		next += n
	}
	used := slab + 1
	if len(spans) == 0 {
		used = 0
	}
	for i, s := range f.slabs[used:] {
		free(s)
		f.slabs[used+i] = nil
	}
	f.slabs, f.next, f.waste = f.slabs[:used], next, 0
}
