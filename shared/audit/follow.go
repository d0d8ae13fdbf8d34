package audit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

// followPause is how often Follow looks for new events.
const followPause = 200 * time.Millisecond

// Follow yields the last n events and then each new one, across rotation, until
// ctx ends. A line that is no event is an error, after which it goes on; an
// error of the file ends it.
func Follow(ctx context.Context, file string, n int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{yield: yield}
		defer f.close()
		if !f.start(file, n) {
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followPause):
			}
			if !f.poll() {
				return
			}
		}
	}
}

// follower holds the current file open, so that nothing of it is missed when it
// is rotated. Its methods say false when it is over.
type follower struct {
	yield  func(Event, error) bool
	path   string
	seq    uint64 // of the last event that was yielded or skipped
	number int    // of the newest rotated file when data was opened
	data   *os.File
	offset int64 // up to which data was read, always the end of a line
}

// start yields the last n of the lines there are, and notes the number of the last one.
func (f *follower) start(file string, n int) bool {
	v, err := look(file)
	if err != nil {
		f.yield(Event{}, err)
		return false
	}
	defer v.close()
	f.path = v.path
	recent, end, err := v.tail(max(n, 1)) // at least one, to know its number
	if err != nil {
		return f.failed(err)
	}
	f.hold(v)
	f.offset = end
	for i, line := range recent {
		if len(recent)-i <= n {
			if !f.emit(line) {
				return false
			}
		} else if k, err := linkOf(line); err == nil {
			f.seq = k.Seq
		}
	}
	return true
}

// failed ends it with an error.
func (f *follower) failed(err error) bool {
	f.yield(Event{}, failed("cannot be read", err))
	return false
}

// hold takes over the current file of a view.
func (f *follower) hold(v *view) {
	f.close()
	f.data, f.offset, f.number = v.current, 0, max(v.head.Rotated, newest(v.old))
	v.current = nil
}

func (f *follower) close() {
	if f.data != nil {
		_ = f.data.Close() // only read from
		f.data = nil
	}
}

// poll reads what was appended and, after a rotation, what came in between.
func (f *follower) poll() bool {
	if !f.drain() {
		return false
	}
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) { // in the middle of a rotation
		return true
	}
	if f.data != nil && info != nil {
		if held, err := f.data.Stat(); err == nil && os.SameFile(info, held) { // nothing new
			return true
		}
	}
	v, err := look(f.path)
	if err != nil {
		f.yield(Event{}, err)
		return false
	}
	defer v.close()
	if v.sealed && v.head.Seq < f.seq { // another log took its place
		f.seq = 0
	}

	// The files that were rotated since. The first of them is the one that was held: what is
	// known of it has a number that was seen.
	for _, r := range v.old {
		if r.number <= f.number {
			continue
		}
		ok := yieldRotated(r, func(p part, err error) bool {
			switch {
			case errors.Is(err, errPruned):
				return true
			case err != nil:
				return f.failed(err)
			}
			return f.fresh(p.content, nil)
		})
		if !ok {
			return false
		}
	}
	f.hold(v)
	return f.drain()
}

// drain reads the held file from where it was read up to.
func (f *follower) drain() bool {
	if f.data == nil {
		return true
	}
	info, err := f.data.Stat()
	if err != nil {
		return f.failed(err)
	}
	if info.Size() < f.offset { // somebody cut it
		f.offset = info.Size()
	}
	return f.fresh(io.NewSectionReader(f.data, f.offset, info.Size()-f.offset), &f.offset)
}

// fresh emits the whole lines of r and moves the offset behind them.
func (f *follower) fresh(r io.Reader, offset *int64) bool {
	for line, err := range lines(r) {
		if err != nil {
			return f.failed(err)
		}
		if !line.whole {
			return true
		}
		if offset != nil {
			*offset += line.size
		}
		if !f.emit(line.text) {
			return false
		}
	}
	return true
}

// emit yields a line unless its event was seen.
func (f *follower) emit(line []byte) bool {
	e, err := decode(line, f.path, 0)
	if err != nil {
		return f.yield(e, err)
	}
	if e.Seq <= f.seq {
		return true
	}
	f.seq = e.Seq
	return f.yield(e, nil)
}
