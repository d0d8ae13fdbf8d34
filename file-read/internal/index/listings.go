package index

import (
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
)

// place is a directory.
type place struct{ dev, ino uint64 }

// listing is what is known of one directory.
type listing struct {
	walk.Listing
	stamp confine.Stamp
	path  confine.Path
	seen  atomic.Uint32 // the last search that asked for it
	size  int
}

// newListing is a copy of l with all names in one text.
func newListing(path confine.Path, at confine.Stamp, l walk.Listing) *listing {
	var names strings.Builder
	for _, e := range l.Entries {
		names.WriteString(e.Name)
	}
	own := &listing{Listing: walk.Listing{Entries: make([]confine.Entry, len(l.Entries)), Denied: l.Denied}, stamp: at, path: path}
	rest := names.String()
	for i, e := range l.Entries {
		own.Entries[i] = confine.Entry{Name: rest[:len(e.Name)], Type: e.Type}
		rest = rest[len(e.Name):]
	}
	const itself = int(unsafe.Sizeof(listing{})) + 64 // with its part of the map
	own.size = itself + len(path.String()) + len(path.Rel()) + len(l.Entries)*int(unsafe.Sizeof(confine.Entry{})) + names.Len()
	return own
}

// listing is that of a directory as it is now, if it is known under this path: what
// is denied depends on that.
func (x *Index) listing(path confine.Path, at confine.Stamp) *listing {
	l := x.listings[place{at.Dev, at.Ino}]
	if l == nil || l.stamp != at || l.path != path && !same(l.path, path) {
		return nil
	}
	return l
}

// same says that two paths lead to the same place, whatever the caller's words.
func same(a, b confine.Path) bool { return a.Rel() == b.Rel() && a.Abs() == b.Abs() }

// Listing is the listing of a directory that a View would recall. It keeps it from
// being dropped as a search does that asks for it.
func (x *Index) Listing(path confine.Path, at confine.Stamp) (walk.Listing, bool) {
	if x == nil {
		return walk.Listing{}, false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.listing(path, at)
	if l == nil {
		return walk.Listing{}, false
	}
	l.seen.Store(x.searches.Load())
	return l.Listing, true
}

// AddListing takes in what a directory held: the stamp that it had before it was
// read, and when that began.
func (x *Index) AddListing(path confine.Path, at confine.Stamp, began time.Time, l walk.Listing) Outcome {
	if !settled(at, began) {
		return Young
	}
	own := newListing(path, at, l)
	return x.change(func() int { return own.size }, func() bool {
		x.putListing(own)
		return true
	})
}

func (x *Index) putListing(l *listing) {
	if x.listings == nil {
		x.listings = map[place]*listing{}
	}
	at := place{l.stamp.Dev, l.stamp.Ino}
	if old := x.listings[at]; old != nil {
		x.listed -= old.size
	}
	l.seen.Store(x.searches.Load())
	x.listings[at] = l
	x.listed += l.size
}
