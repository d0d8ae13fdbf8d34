// Package index remembers which files cannot contain a text, so that a search of a
// tree that was searched before opens few of them.
//
// Of each file it keeps a stamp and a filter: a Bloom filter of all runs of three
// bytes in it, ASCII letters in lower case. A text can only be in a file whose
// filter has all runs of three of that text. Of each directory it keeps the stamp
// and a listing.
//
// It never guesses. What it returns for a file is true only of the very stamp that it was
// added with, and it adds nothing whose stamp had not settled when the reading
// began: a file system may give two changes within one tick of its clock the same
// times, so a file that was changed just now could be changed once more unseen
// (git calls such an entry racy). The time of change counts, not that of
// modification, which anyone may set. No stamp shows what a program changes
// through a writable mapping until the kernel writes it back or the program asks for
// that (msync(2)); git, make and rsync do not see it either. Nor is a change seen
// after the clock was set back, if it is on the very nanosecond of the change
// before it. The callers leave out file systems whose attributes may be old, such as
// those of a network.
//
// It never opens a file, never starts a goroutine, never makes a search wait, and never
// takes more memory than its limit.
package index

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
)

// settling is for how long before it is read a file must not have changed. It is
// the coarsest tick of the file systems that are known (FAT; ext3 has one second).
const settling = 2 * time.Second

// settled reports whether a change at or after the time now will give another stamp.
func settled(s confine.Stamp, now time.Time) bool {
	return s.Changed > 0 && now.UnixNano()-s.Changed > int64(settling)
}

// Lasting is for how many searches what none of them asked for is kept when there
// is no room.
const Lasting = 8

// Kind is what was seen of a file, apart from its filter.
type Kind uint8

const (
	_      Kind = iota
	Text        // searched to its end
	Mixed       // text that is searched up to a NUL; only what comes before it counts
	Binary      // never searched
	Opaque      // searched, and nothing is known of its content
)

// Outcome is what became of something that was to be added.
type Outcome uint8

const (
	Taken Outcome = iota
	Young         // it was changed just now, and may be once more unseen: try again later
	Busy          // a search is on: try again when it has ended
	Full          // there is no room
)

// Index is what is known of files and directories. Any number of goroutines may use
// it. A nil Index knows nothing and takes nothing.
type Index struct {
	mu       sync.RWMutex // held for reading by a View as long as it lives; writers only try it
	searches atomic.Uint32
	limit    int // bytes
	entries  []entry
	numbers  map[id]uint32 // of entries, by file
	filters  filters
	listings map[id]*listing
	listed   int // bytes that listings take
}

// id is that of a file or directory.
type id struct{ dev, ino uint64 }

func idOf(s confine.Stamp) id { return id{s.Dev, s.Ino} }

// entry is what is known of one file. Entries are in the order in which they came, which
// is that of a walk, so that those of one directory are close together in memory.
type entry struct {
	stamp  confine.Stamp
	seen   uint32 // the last search that asked for it; written by many at once
	kind   Kind
	filter span
}

// filtered reports whether the entry has a filter.
func (e *entry) filtered() bool { return e.kind == Text || e.kind == Mixed }

// listing is what is known of one directory.
type listing struct {
	walk.Listing
	stamp confine.Stamp
	path  confine.Path
	seen  uint32
	size  int
}

const (
	entrySize  = int(unsafe.Sizeof(entry{}))
	numberSize = 40 // of an entry of the map, with the room beside it
	minEntries = 64
)

// New is an empty index that will take no more than limit bytes.
func New(limit int) *Index {
	return &Index{limit: limit, numbers: map[id]uint32{}, listings: map[id]*listing{}}
}

// Size is how many bytes the index takes.
func (x *Index) Size() int {
	if x == nil {
		return 0
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.size()
}

func (x *Index) size() int {
	return entrySize*cap(x.entries) + numberSize*len(x.entries) + x.filters.size() + x.listed
}

// find is the entry of a file as it is now, or nil.
func (x *Index) find(s confine.Stamp) *entry {
	if i, ok := x.numbers[idOf(s)]; ok && x.entries[i].stamp == s {
		return &x.entries[i]
	}
	return nil
}

// Has reports whether the file is known as it is now. It keeps it from being dropped as
// a search does that asks for it.
func (x *Index) Has(s confine.Stamp) bool {
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	e := x.find(s)
	if e != nil {
		atomic.StoreUint32(&e.seen, x.searches.Load())
	}
	return e != nil
}

// Listing is the listing of a directory as it is now, if it is known under this path:
// what is denied depends on that. It keeps it from being dropped.
func (x *Index) Listing(path confine.Path, at confine.Stamp) (walk.Listing, bool) {
	if x == nil {
		return walk.Listing{}, false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.listings[idOf(at)]
	if l == nil || l.stamp != at || l.path != path && (l.path.Rel() != path.Rel() || l.path.Abs() != path.Abs()) {
		return walk.Listing{}, false
	}
	atomic.StoreUint32(&l.seen, x.searches.Load())
	return l.Listing, true
}

// AddFile adds what is known of a file: the stamp that it had before its content
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
	growth := func() int {
		n := numberSize + x.filters.growth(len(filter))
		if len(x.entries) == cap(x.entries) {
			n += entrySize * max(minEntries, cap(x.entries)/4)
		}
		return n
	}
	return x.change(growth, func() bool {
		var at span
		if filter != nil {
			var ok bool
			if at, ok = x.filters.put(filter); !ok {
				return false
			}
		}
		i, ok := x.numbers[idOf(s)]
		if !ok {
			if n := len(x.entries); n == cap(x.entries) {
				x.entries = append(make([]entry, 0, n+max(minEntries, n/4)), x.entries...)
			}
			i = uint32(len(x.entries))
			x.entries = append(x.entries, entry{})
			x.numbers[idOf(s)] = i
		} else if old := &x.entries[i]; old.filtered() {
			x.filters.waste += 1 << old.filter.log
		}
		x.entries[i] = entry{s, x.searches.Load(), kind, at}
		return true
	})
}

// AddListing adds the content of a directory: the stamp that it had before it was
// read, and when that began.
func (x *Index) AddListing(path confine.Path, at confine.Stamp, began time.Time, l walk.Listing) Outcome {
	if !settled(at, began) {
		return Young
	}
	var names strings.Builder // one text for all
	for _, e := range l.Entries {
		names.WriteString(e.Name)
	}
	const itself = int(unsafe.Sizeof(listing{})) + 64 // with its part of the map
	own := &listing{
		Listing: walk.Listing{Entries: make([]confine.Entry, len(l.Entries)), Denied: l.Denied}, stamp: at, path: path,
		size: itself + len(path.String()) + len(path.Rel()) + len(l.Entries)*int(unsafe.Sizeof(confine.Entry{})) + names.Len(),
	}
	rest := names.String()
	for i, e := range l.Entries {
		own.Entries[i] = confine.Entry{Name: rest[:len(e.Name)], Type: e.Type}
		rest = rest[len(e.Name):]
	}
	return x.change(func() int { return own.size }, func() bool {
		if old := x.listings[idOf(at)]; old != nil {
			x.listed -= old.size
		}
		own.seen = x.searches.Load()
		x.listings[idOf(at)] = own
		x.listed += own.size
		return true
	})
}

// change runs put if there is room for what it will take, or room can be made: by
// dropping what no search asked for lately, if an eighth of the limit comes free.
func (x *Index) change(growth func() int, put func() bool) Outcome {
	if x == nil {
		return Full
	}
	if !x.mu.TryLock() {
		return Busy
	}
	defer x.mu.Unlock()
	if x.size()+growth() > x.limit {
		free := 8 * x.filters.waste
		for i := range x.entries {
			if e := &x.entries[i]; x.old(e.seen) {
				free += entrySize + 8<<e.filter.log
			}
		}
		for _, l := range x.listings {
			if x.old(l.seen) {
				free += l.size
			}
		}
		if free >= x.limit/8 {
			x.sweep()
		}
	}
	if x.size()+growth() > x.limit || !put() {
		return Full
	}
	return Taken
}

// old reports whether no search asked for something for long.
func (x *Index) old(seen uint32) bool { return x.searches.Load()-seen > Lasting }

// sweep drops what is old and closes the gaps.
func (x *Index) sweep() {
	var entries []entry
	for _, e := range x.entries {
		if !x.old(e.seen) {
			entries = append(entries, e)
		}
	}
	x.entries = entries
	x.numbers = make(map[id]uint32, len(entries))
	var spans []*span
	for i := range entries {
		e := &entries[i]
		x.numbers[idOf(e.stamp)] = uint32(i)
		if e.filtered() {
			spans = append(spans, &e.filter)
		}
	}
	x.filters.compact(spans)
	for at, l := range x.listings {
		if x.old(l.seen) {
			x.listed -= l.size
			delete(x.listings, at)
		}
	}
}

// Verdict is what is known of a file for a search.
type Verdict uint8

const (
	Unknown      Verdict = iota // not seen, or not as it is now
	Maybe                       // it must be searched
	Never                       // no match is in it
	NeverABinary                // no match is in it, and a search of it finds that it is binary
)

// View is the index as one search sees it. Nothing is added as long as a View
// lives; any number may live at once.
type View struct {
	index *Index
	query *Query
}

// View begins a search for the query; nil is for a search that no filter can
// help. It must be ended.
func (x *Index) View(query *Query) *View {
	if x == nil {
		return nil
	}
	x.mu.RLock()
	x.searches.Add(1)
	return &View{index: x, query: query}
}

// End ends the view.
func (v *View) End() {
	if v != nil {
		v.index.mu.RUnlock()
	}
}

// Selective reports whether filters help this search, so that it is worth it to take the
// stamp of a file before it is opened.
func (v *View) Selective() bool { return v != nil && v.query != nil }

// File returns whether the file with this stamp can have a match.
func (v *View) File(s confine.Stamp) Verdict {
	if v == nil {
		return Unknown
	}
	e := v.index.find(s)
	if e == nil {
		return Unknown
	}
	atomic.StoreUint32(&e.seen, v.index.searches.Load())
	switch {
	case e.kind == Binary:
		return NeverABinary
	case e.kind == Opaque || v.query == nil || v.query.mayBeIn(v.index.filters.of(e.filter)):
		return Maybe
	case e.kind == Mixed:
		return NeverABinary
	}
	return Never
}

// Recall is [Index.Listing].
func (v *View) Recall(dir confine.Path, at confine.Stamp) (walk.Listing, bool) {
	if v == nil {
		return walk.Listing{}, false
	}
	return v.index.Listing(dir, at)
}
