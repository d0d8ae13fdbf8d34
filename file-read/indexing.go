package main

import (
	"context"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/index"
	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/text"
)

// indexing is the index of what was searched, and the goroutine that fills it: a
// search pays nothing for the next one. The goroutine goes through a tree that was
// searched, one at a time, and only while no search is on. A nil indexing has no
// index.
type indexing struct {
	index *index.Index
	probe *match.Pattern // matches nothing: what is found beside tells the kind of a file

	ctx     context.Context // ends with the server
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	searches int           // that are on
	idle     chan struct{} // closed when there are none
	filling  bool
	full     string // the last tree that found no room …
	asked    int    // … and how often it was searched since

	now func() time.Time
}

// pause is how long it must have been quiet before a tree is gone through: another
// call may come right after the one before it.
const pause = 50 * time.Millisecond

// newIndexing is an indexing whose index takes no more than limit bytes; nil for 0.
func newIndexing(limit int64) (*indexing, error) {
	if limit == 0 {
		return nil, nil
	}
	probe, err := match.Compile("\x00", match.Options{Fixed: true}) // no text has it
	if err != nil {
		return nil, err
	}
	x := &indexing{index: index.New(int(limit)), probe: probe, idle: make(chan struct{}), now: time.Now}
	close(x.idle)
	return x, nil
}

// start lets the index be filled until ctx ends or close.
func (x *indexing) start(ctx context.Context) error {
	if x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.ctx, x.end = context.WithCancel(ctx)
	}
	return nil
}

// close ends what start began, and waits for it.
func (x *indexing) close() error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	if x.end != nil {
		x.end()
	}
	x.mu.Unlock()
	x.running.Wait()
	return nil
}

// view begins a search for pattern. done must be called at its end.
func (x *indexing) view(pattern *match.Pattern) (v *index.View, done func()) {
	if x == nil {
		return nil, func() {}
	}
	x.mu.Lock()
	if x.searches++; x.searches == 1 {
		x.idle = make(chan struct{})
	}
	x.mu.Unlock()
	if x.index.Size() > 0 {
		v = x.index.View(queryOf(pattern))
	}
	return v, func() {
		v.End()
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.searches--; x.searches == 0 {
			close(x.idle)
		}
	}
}

// queryOf is what the index is asked for where pattern is searched.
func queryOf(pattern *match.Pattern) *index.Query {
	var texts [][]byte
	for _, l := range pattern.Required() {
		texts = append(texts, l.Text)
	}
	return index.NewQuery(texts...)
}

// fill takes in the files of a tree that are wanted, soon, unless another tree is gone
// through, or this one found no room lately.
func (x *indexing) fill(root confine.Path, o walk.Options, wanted func(walk.File) bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx == nil || x.ctx.Err() != nil || x.filling || x.refused(root.Abs()) {
		return
	}
	x.filling = true
	x.running.Go(func() {
		f := filling{indexing: x, ctx: x.ctx, began: x.now(), wanted: wanted}
		full := f.tree(root, o)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.filling = false
		if full {
			x.full, x.asked = root.Abs(), 0
		}
	})
}

// refused says that a tree found no room, and that little can have come free since.
func (x *indexing) refused(root string) bool {
	if root != x.full || x.asked >= index.Lasting {
		return false
	}
	x.asked++
	return true
}

// quiet waits until no search is on, and says whether the server is still at work.
func (x *indexing) quiet(ctx context.Context) bool {
	for ctx.Err() == nil {
		x.mu.Lock()
		busy, idle := x.searches > 0, x.idle
		x.mu.Unlock()
		if !busy {
			return true
		}
		select {
		case <-idle:
		case <-ctx.Done():
		}
	}
	return false
}

// filling is one way through a tree.
type filling struct {
	*indexing
	began  time.Time
	wanted func(walk.File) bool
	ctx    context.Context
	sketch index.Sketch
	reader confine.Reader
	read   int64 // bytes of what is open
	full   bool
}

// tree goes through a tree and says whether the index had no room for all of it.
func (f *filling) tree(root confine.Path, o walk.Options) (full bool) {
	select {
	case <-time.After(pause):
	case <-f.ctx.Done():
		return false
	}
	defer f.reader.Close() // it was only read
	o.Listings = f
	_, _ = walk.Tree(f.ctx, root, o, f.visit) // what cannot be listed is searched the next time too
	return f.full
}

// Recall and Remember make the listings of the index those of the walk.
func (f *filling) Recall(dir confine.Path, at confine.Stamp) (walk.Listing, bool) {
	return f.index.Listing(dir, at)
}

func (f *filling) Remember(dir confine.Path, at confine.Stamp, l walk.Listing) {
	f.put(func() index.Outcome { return f.index.AddListing(dir, at, f.began, l) })
}

// put takes something in when no search is on.
func (f *filling) put(add func() index.Outcome) {
	for f.quiet(f.ctx) {
		switch add() {
		case index.Full:
			f.full = true
			return
		case index.Busy: // a search has just begun
			continue
		}
		return
	}
}

func (f *filling) visit(file walk.File) (walk.Step, error) {
	if f.full || !f.quiet(f.ctx) {
		return walk.Stop, nil
	}
	if file.Type != confine.File || !f.wanted(file) {
		return walk.Continue, nil
	}
	stamp, kind, err := file.Stamp()
	if err == nil && kind == confine.File && !f.index.Has(stamp) && rested(stamp, f.now()) {
		f.take(file)
		runtime.Gosched() // whoever waits for a processor comes first
	}
	return walk.Continue, nil
}

// rested says that a file is worth reading: it is not being written just now. A
// large one must have rested for longer, a second for every 16 MB, or a log that
// grows would be read again after every search.
func rested(s confine.Stamp, now time.Time) bool {
	rest := time.Duration(s.Size>>24) * time.Second
	return now.UnixNano()-s.Changed > int64(max(rest, 2*time.Second))
}

// take reads a file, as a search does, and takes it in.
func (f *filling) take(file walk.File) {
	began := f.now()
	if !f.open(file) {
		return
	}
	stamp := f.reader.Stamp()
	f.sketch.Begin(stamp.Size)
	got, err := f.probe.Search(f.ctx, io.TeeReader(f, &f.sketch), match.Want{CountOnly: true})
	if err != nil || !got.Binary && f.read != stamp.Size {
		return
	}
	kind := kindOf(got)
	if kind == index.Opaque && f.decode(file, got.Encoding) && f.reader.Stamp() == stamp && f.read == stamp.Size {
		kind = index.Text
		if got.Binary {
			kind = index.Mixed
		}
	}
	f.put(func() index.Outcome { return f.index.AddFile(stamp, began, kind, &f.sketch) })
}

// open opens a file whose stamps can be relied on.
func (f *filling) open(file walk.File) bool {
	f.read = 0
	return file.OpenReader(&f.reader) == nil && f.reader.Local()
}

// decode reads a file once more, to take it in as UTF-8: that is what is searched.
func (f *filling) decode(file walk.File, encoding string) bool {
	e, err := text.Lookup(encoding)
	if err != nil || !f.open(file) {
		return false
	}
	f.sketch.Begin(2 * f.reader.Size())
	_, err = io.Copy(&f.sketch, e.NewReader(f))
	return err == nil
}

// Read reads on in the file that is open, while no search is on.
func (f *filling) Read(p []byte) (int, error) {
	if !f.quiet(f.ctx) {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := f.reader.Read(p)
	f.read += int64(n)
	return n, err
}

// kindOf is the kind of a file in which nothing was found.
func kindOf(r match.Result) index.Kind {
	switch {
	case r.Encoding == "": // a NUL near the start
		return index.Binary
	case r.Encoding != "utf-8":
		return index.Opaque
	case r.Binary:
		return index.Mixed
	}
	return index.Text
}
