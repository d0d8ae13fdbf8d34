package index

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/multiollama/mcp-server/shared/confine"
)

// files is the entries of files, found by device and inode. Entries lie in the order
// in which they came, which is that of a walk, so that those of one directory are
// close together in memory.
type files struct {
	slots  []uint32 // a hash table with open addressing: number of an entry, from 1
	chunks [][]entry
	n      int
}

// entry is what is known of one file.
type entry struct {
	stamp  confine.Stamp
	seen   atomic.Uint32 // the last search that asked for it
	kind   Kind
	filter span
}

const (
	chunkLen  = 1024
	entrySize = int(unsafe.Sizeof(entry{}))
)

func (f *files) size() int { return 4*len(f.slots) + chunkLen*entrySize*len(f.chunks) }

func (f *files) at(i int) *entry { return &f.chunks[i/chunkLen][i%chunkLen] }

// find is the entry of a file as it is now, or nil.
func (f *files) find(s confine.Stamp) *entry {
	if e := f.known(s); e != nil && e.stamp == s {
		return e
	}
	return nil
}

// known is the entry of a file as it is or was, or nil.
func (f *files) known(s confine.Stamp) *entry {
	if len(f.slots) == 0 {
		return nil
	}
	i := f.slots[f.slotOf(s)]
	if i == 0 {
		return nil
	}
	return f.at(int(i) - 1)
}

// slotOf is the slot in which the number of the entry of a file is or would be.
func (f *files) slotOf(s confine.Stamp) int {
	mask := len(f.slots) - 1
	i := int((s.Ino^bits.RotateLeft64(s.Dev, 32))*factor>>32) & mask
	for ; f.slots[i] != 0; i = (i + 1) & mask {
		if e := f.at(int(f.slots[i]) - 1); e.stamp.SameFile(s) {
			break
		}
	}
	return i
}

// add makes an entry for a file that has none.
func (f *files) add(s confine.Stamp) *entry {
	if 2*(f.n+1) > len(f.slots) {
		f.rehash(max(64, 2*len(f.slots)))
	}
	if f.n == len(f.chunks)*chunkLen {
		f.chunks = append(f.chunks, make([]entry, chunkLen))
	}
	f.n++
	f.slots[f.slotOf(s)] = uint32(f.n)
	e := f.at(f.n - 1)
	e.stamp = s
	return e
}

// growth is how many bytes one more entry will take.
func (f *files) growth() int {
	n := 0
	if 2*(f.n+1) > len(f.slots) {
		n += 4 * max(64, len(f.slots))
	}
	if f.n == len(f.chunks)*chunkLen {
		n += chunkLen * entrySize
	}
	return n
}

// rehash makes n slots, a power of two, for the entries there are.
func (f *files) rehash(n int) {
	f.slots = make([]uint32, n)
	for i := range f.n {
		f.slots[f.slotOf(f.at(i).stamp)] = uint32(i + 1)
	}
}

// keep drops the entries for which stays is false. The others keep their order.
func (f *files) keep(stays func(*entry) bool) {
	kept := 0
	for i := range f.n {
		e := f.at(i)
		if !stays(e) {
			continue
		}
		if i != kept {
			to := f.at(kept)
			to.stamp, to.filter, to.kind = e.stamp, e.filter, e.kind
			to.seen.Store(e.seen.Load())
		}
		kept++
	}
	f.n = kept
	used := (kept + chunkLen - 1) / chunkLen
	clear(f.chunks[used:]) // let go of the memory
	f.chunks = f.chunks[:used]
	size := 64
	for size < 2*(kept+1) {
		size *= 2
	}
	f.rehash(size)
}
