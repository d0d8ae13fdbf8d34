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
	probe *match.Pattern // matches nothing: its search finds out the kind of a file

	begin   func(func(context.Context)) bool // runs something until the server ends; nil before start
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
		ctx, x.end = context.WithCancel(ctx)
		x.begin = func(f func(context.Context)) bool {
			if ctx.Err() != nil {
				return false
			}
			x.running.Go(func() { f(ctx) })
			return true
		}
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
		var texts [][]byte
		for _, l := range pattern.Required() {
			texts = append(texts, l.Text)
		}
		v = x.index.View(index.NewQuery(texts...))
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

// fill adds the files of a tree that are wanted, soon, unless another tree is gone
// through, or this one found no room and little can have come free since.
func (x *indexing) fill(root confine.Path, o walk.Options, wanted func(walk.File) bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begin == nil || x.filling {
		return
	}
	if root.Abs() == x.full && x.asked < index.Lasting {
		x.asked++
		return
	}
	began := x.now()
	x.filling = x.begin(func(ctx context.Context) {
		f := filling{indexing: x, wanted: wanted, quiet: func() bool { return x.quiet(ctx) }}
		select {
		case <-time.After(pause):
			o.Recall, o.Workers, o.Ahead = x.index.Listing, 1, 0
			o.Remember = func(dir confine.Path, at confine.Stamp, l walk.Listing) {
				f.put(func() index.Outcome { return x.index.AddListing(dir, at, began, l) })
			}
			// What cannot be listed is searched the next time too.
			_, _ = walk.Each(ctx, root, o, f.visit, func(walk.File, struct{}) bool { return !f.full })
			f.reader.Close() // it was only read
		case <-ctx.Done():
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.filling = false
		if f.full {
			x.full, x.asked = root.Abs(), 0
		}
	})
}

// quiet waits until no search is on, and reports whether the server is still at work.
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
	wanted func(walk.File) bool
	quiet  func() bool
	sketch index.Sketch
	reader confine.Reader
	read   int64 // bytes of what is open
	full   bool
}

// put adds something when no search is on.
func (f *filling) put(add func() index.Outcome) {
	for !f.full && f.quiet() {
		switch add() {
		case index.Full:
			f.full = true
		case index.Busy: // a search has just begun
			continue
		}
		return
	}
}

// visit adds a file, read as a search reads it, if it is not known and worth it.
func (f *filling) visit(ctx context.Context, file walk.File) struct{} {
	none := struct{}{}
	if f.full || !f.quiet() || !f.wanted(file) {
		return none
	}
	stamp, kind, err := file.Stamp()
	if err != nil || kind != confine.File || f.index.Has(stamp) {
		return none
	}
	// A file that is being written just now is not worth it. A large one must have rested
	// for longer, a second for every 16 MB, or a log that grows would be read again after
	// every search.
	rest := max(time.Duration(stamp.Size>>24)*time.Second, 2*time.Second)
	if f.now().UnixNano()-stamp.Changed > int64(rest) {
		f.take(ctx, file)
		runtime.Gosched() // whoever waits for a processor comes first
	}
	return none
}

func (f *filling) take(ctx context.Context, file walk.File) {
	began := f.now()
	if !f.open(file) {
		return
	}
	stamp := f.reader.Stamp()
	f.sketch.Begin(stamp.Size)
	got, err := f.probe.Search(ctx, io.TeeReader(f, &f.sketch), match.Want{CountOnly: true})
	if err != nil || !got.Binary && f.read != stamp.Size {
		return
	}
	kind := index.Text
	switch {
	case got.Encoding == "": // a NUL near the start
		kind = index.Binary
	case got.Encoding != "utf-8" && !f.decode(file, got.Encoding, stamp):
		kind = index.Opaque
	case got.Binary:
		kind = index.Mixed
	}
	f.put(func() index.Outcome { return f.index.AddFile(stamp, began, kind, &f.sketch) })
}

// open opens a file whose stamps can be relied on.
func (f *filling) open(file walk.File) bool {
	f.read = 0
	return file.OpenReader(&f.reader) == nil && f.reader.Local()
}

// decode reads a file once more, to sketch it as UTF-8: that is what is searched.
func (f *filling) decode(file walk.File, encoding string, stamp confine.Stamp) bool {
	e, err := text.Lookup(encoding)
	if err != nil || !f.open(file) {
		return false
	}
	f.sketch.Begin(2 * f.reader.Size())
	_, err = io.Copy(&f.sketch, e.NewReader(f))
	return err == nil && f.reader.Stamp() == stamp && f.read == stamp.Size
}

// Read reads on in the file that is open, while no search is on.
func (f *filling) Read(p []byte) (int, error) {
	if !f.quiet() {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := f.reader.Read(p)
	f.read += int64(n)
	return n, err
}
