package index

import (
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
)

// Lasting is for how many searches what none of them asked for is kept when there
// is no room.
const Lasting = 8

// Outcome says what became of something that was to be taken in.
type Outcome uint8

const (
	Taken Outcome = iota
	Young         // it was changed just now, and may be once more unseen: try again later
	Busy          // a search is on: try again when it has ended
	Full          // there is no room
)

// Has says whether the file is known as it is now. It keeps it from being dropped as
// a search does that asks for it.
func (x *Index) Has(s confine.Stamp) bool {
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	e := x.files.find(s)
	if e != nil {
		e.seen.Store(x.searches.Load())
	}
	return e != nil
}

// AddFile takes in what is known of a file: the stamp that it had before its content
// was read, when that reading began, what kind it is, and its content, which only
// Text and Mixed have.
func (x *Index) AddFile(s confine.Stamp, began time.Time, kind Kind, content *Sketch) Outcome {
	if !settled(s, began) {
		return Young
	}
	var filter []uint64
	if kind == Text || kind == Mixed {
		var ok bool
		if filter, ok = content.bits(); !ok {
			kind, filter = Opaque, nil
		}
	}
	return x.change(func() int { return x.files.growth() + x.filters.growth(len(filter)) }, func() bool {
		return x.putFile(s, kind, filter)
	})
}

func (x *Index) putFile(s confine.Stamp, kind Kind, filter []uint64) bool {
	at := span{}
	if filter != nil {
		var ok bool
		if at, ok = x.filters.put(filter); !ok {
			return false
		}
	}
	e := x.files.known(s)
	if e == nil {
		e = x.files.add(s)
	} else if e.filtered() {
		x.filters.letGo(e.filter)
	}
	e.stamp, e.kind, e.filter = s, kind, at
	e.seen.Store(x.searches.Load())
	return true
}

// filtered says that the entry has a filter.
func (e *entry) filtered() bool { return e.kind == Text || e.kind == Mixed }

// change runs put if there is room for what it will take, made if need be.
func (x *Index) change(growth func() int, put func() bool) Outcome {
	if x == nil {
		return Full
	}
	if !x.mu.TryLock() {
		return Busy
	}
	defer x.mu.Unlock()
	if x.size()+growth() > x.limit && x.worthSweeping() {
		x.sweep()
	}
	if x.size()+growth() > x.limit || !put() {
		return Full
	}
	return Taken
}

// old says that no search asked for something for long.
func (x *Index) old(seen uint32) bool { return x.searches.Load()-seen > Lasting }

// worthSweeping says that an eighth of the limit or more would come free.
func (x *Index) worthSweeping() bool {
	n := 8 * x.filters.waste
	for i := range x.files.n {
		if e := x.files.at(i); x.old(e.seen.Load()) {
			n += entrySize + 8<<e.filter.log
		}
	}
	for _, l := range x.listings {
		if x.old(l.seen.Load()) {
			n += l.size
		}
	}
	return n >= x.limit/8
}

// sweep drops what is old and closes the gaps.
func (x *Index) sweep() {
	x.files.keep(func(e *entry) bool { return !x.old(e.seen.Load()) })
	var spans []*span
	for i := range x.files.n {
		if e := x.files.at(i); e.filtered() {
			spans = append(spans, &e.filter)
		}
	}
	x.filters.compact(spans)
	for at, l := range x.listings {
		if x.old(l.seen.Load()) {
			x.listed -= l.size
			delete(x.listings, at)
		}
	}
}
