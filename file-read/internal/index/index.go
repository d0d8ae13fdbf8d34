// Package index remembers which files cannot contain a text, so that a search of a
// tree that was searched before opens few of them.
//
// Of each file it keeps a stamp and a filter: a Bloom filter of all runs of three
// bytes in it, ASCII letters in lower case. A text can only stand in a file whose
// filter has all runs of three of that text. Of each directory it keeps the stamp
// and a listing.
//
// It refuses to guess. What it says of a file holds only for the very stamp that it
// was told with, and it takes nothing in whose stamp had not settled when the reading
// began: a file system may give two changes within one tick of its clock the same
// times, so a file that was changed just now could be changed once more unseen
// (git calls such an entry racy). The time of change counts, not that of
// modification, which anyone may set. What no stamp tells is what a program changes
// through a writable mapping until the kernel writes it back or the program asks for
// that (msync(2)); git, make and rsync do not see it either. Neither is seen a change
// after the clock was set back, if it falls on the very nanosecond of the change
// before it. Whoever uses this package leaves out file systems whose attributes may
// be old news, such as those of a network.
//
// It refuses as well to touch a file, to start a goroutine, to hold a search up, and
// to take more memory than it was given.
package index

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
)

// settling is for how long before it is read a file must not have changed. It is
// the coarsest tick of the file systems that are known (FAT; ext3 has one second).
const settling = 2 * time.Second

// settled says that a change at or after the time now will give another stamp.
func settled(s confine.Stamp, now time.Time) bool {
	return s.Changed > 0 && now.UnixNano()-s.Changed > int64(settling)
}

// Kind is what was seen of a file beside its filter.
type Kind uint8

const (
	_      Kind = iota
	Text        // searched to its end
	Mixed       // text that is searched up to a NUL; only what comes before it counts
	Binary      // never searched
	Opaque      // searched, and nothing is known of what it holds
)

// Index is what is known of files and directories. Any number of goroutines may use
// it. A nil Index knows nothing and takes nothing.
type Index struct {
	mu       sync.RWMutex // held for reading by a View as long as it lives
	searches atomic.Uint32
	limit    int // bytes
	files    files
	filters  filters
	listings map[place]*listing
	listed   int // bytes that listings take
}

// New is an empty index that will take no more than limit bytes.
func New(limit int) *Index { return &Index{limit: limit} }

// Size is how many bytes the index takes.
func (x *Index) Size() int {
	if x == nil {
		return 0
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.size()
}

func (x *Index) size() int { return x.files.size() + x.filters.size() + x.listed }

// Verdict is what the index says of a file.
type Verdict uint8

const (
	Unknown      Verdict = iota // not seen, or not as it is now
	Maybe                       // it must be searched
	Never                       // no match is in it
	NeverABinary                // no match is in it, and a search of it finds that it is binary
)

// View is the index as one search sees it. Nothing is taken in as long as a View
// lives; any number may live at once.
type View struct {
	index  *Index
	query  *Query
	search uint32
}

// View begins a search for what query says; nil is for a search that no filter can
// help. It must be ended.
func (x *Index) View(query *Query) *View {
	if x == nil {
		return nil
	}
	x.mu.RLock()
	return &View{index: x, query: query, search: x.searches.Add(1)}
}

// End ends the view.
func (v *View) End() {
	if v != nil {
		v.index.mu.RUnlock()
	}
}

// Selective says that filters help this search, so that it is worth it to take the
// stamp of a file before it is opened.
func (v *View) Selective() bool { return v != nil && v.query != nil }

// File says whether the file with this stamp can hold what is looked for.
func (v *View) File(s confine.Stamp) Verdict {
	if v == nil {
		return Unknown
	}
	e := v.index.files.find(s)
	if e == nil {
		return Unknown
	}
	e.seen.Store(v.search)
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

// Recall is the listing of the directory with this stamp, if it was taken in under
// this path. With Remember it makes the view walk.Listings.
func (v *View) Recall(dir confine.Path, at confine.Stamp) (walk.Listing, bool) {
	if v == nil {
		return walk.Listing{}, false
	}
	l := v.index.listing(dir, at)
	if l == nil {
		return walk.Listing{}, false
	}
	l.seen.Store(v.search)
	return l.Listing, true
}

// Remember takes nothing in: a view lives as long as a search does.
func (v *View) Remember(confine.Path, confine.Stamp, walk.Listing) {}
