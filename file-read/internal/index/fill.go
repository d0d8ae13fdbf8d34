package index

import (
	"sync/atomic"
	"time"
)

// lasting is for how many searches what none of them asked for is kept when there
// is no room.
const lasting = 8

// Outcome says what became of something that was to be taken in.
type Outcome uint8

const (
	Taken Outcome = iota
	Young         // it was changed just now, and may be once more unseen: try again later
	Busy          // a search is on: try again when it has ended
	Full          // there is no room
)

// place is a directory.
type place struct{ dev, ino uint64 }

// listing is the entries of a directory, in a form that is the caller's.
type listing struct {
	stamp   Stamp
	name    string
	entries string
	seen    atomic.Uint32
}

// listingSize is about what a listing takes beside its texts, with its part of the map.
const listingSize = 160

func (l *listing) size() int { return listingSize + len(l.name) + len(l.entries) }

// Has says whether the file is known as it is now. It keeps it from being dropped as
// a search does that asks for it.
func (x *Index) Has(s Stamp) bool {
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

// HasListing is Has for a directory, known under this name.
func (x *Index) HasListing(s Stamp, name string) bool {
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.listings[place{s.Dev, s.Ino}]
	if l == nil || l.stamp != s || l.name != name {
		return false
	}
	l.seen.Store(x.searches.Load())
	return true
}

// AddFile takes in what is known of a file: the stamp that it had before its content
// was read, when that reading began, what kind it is, and its content, which only
// Text and Mixed have.
func (x *Index) AddFile(s Stamp, began time.Time, kind Kind, content *Sketch) Outcome {
	if !s.settled(began) {
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

func (x *Index) putFile(s Stamp, kind Kind, filter []uint64) bool {
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

// AddListing takes in the entries of a directory: the stamp that it had before they
// were read, when that began, and the name that they hold for. What they mean may
// depend on that name, and it is told only to those who ask by it.
func (x *Index) AddListing(s Stamp, began time.Time, name, entries string) Outcome {
	if !s.settled(began) {
		return Young
	}
	l := &listing{stamp: s, name: name, entries: entries}
	return x.change(l.size, func() bool {
		x.putListing(l)
		return true
	})
}

func (x *Index) putListing(l *listing) {
	if x.listings == nil {
		x.listings = map[place]*listing{}
	}
	at := place{l.stamp.Dev, l.stamp.Ino}
	if old := x.listings[at]; old != nil {
		x.named -= old.size()
	}
	l.seen.Store(x.searches.Load())
	x.listings[at] = l
	x.named += l.size()
}

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
func (x *Index) old(seen uint32) bool { return x.searches.Load()-seen > lasting }

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
			n += l.size()
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
			x.named -= l.size()
			delete(x.listings, at)
		}
	}
}
