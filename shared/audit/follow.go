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
// ctx ends. A line that is not an event is an error, after which it continues; an
// error of the file ends it.
func Follow(ctx context.Context, file string, n int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{yield: yield, path: file}
		for more := f.start(n); more; more = f.poll() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(followPause):
			}
		}
	}
}

// follower is how far a log was read. Its methods return false when it is over.
type follower struct {
	yield  func(Event, error) bool
	path   string
	seq    uint64      // of the last event that was yielded or skipped
	number int         // of the newest rotated file
	info   fs.FileInfo // of the current file; nil: it was missing
	offset int64       // up to which that was read, always the end of a line
}

// start yields the last n of the lines there are, and notes the number of the last one.
func (f *follower) start(n int) bool {
	v, err := look(f.path)
	if err != nil {
		f.yield(Event{}, err)
		return false
	}
	defer v.close()
	recent, end, err := v.tail(max(n, 1)) // at least one, to know its number
	if err != nil {
		return f.failed(err)
	}
	f.info, f.offset, f.number = v.info, end, max(v.head.Rotated, newest(v.old))
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

// poll reads what was appended and, after a rotation, what came in between.
func (f *follower) poll() bool {
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) { // in the middle of a rotation
		return true
	}
	if err == nil && f.info != nil && os.SameFile(info, f.info) && info.Size() == f.offset { // nothing new
		return true
	}
	v, err := look(f.path)
	if err != nil {
		f.yield(Event{}, err)
		return false
	}
	defer v.close()
	if f.info == nil || v.info == nil || !os.SameFile(v.info, f.info) {
		if v.sealed && v.head.Seq < f.seq { // another log took its place
			f.seq = 0
		}
		if !f.rotated(v.old) {
			return false
		}
		f.offset = 0
	}
	f.info, f.number = v.info, max(v.head.Rotated, newest(v.old))
	if v.info == nil {
		return true
	}
	f.offset = min(f.offset, v.info.Size()) // somebody may have cut it
	return f.fresh(v.from(f.offset), &f.offset)
}

// rotated reads the files that were rotated since. The first of them is the one that was read:
// its events have a number that was seen.
func (f *follower) rotated(old []rotated) bool {
	for _, r := range old {
		if r.number <= f.number {
			continue
		}
		file, err := r.open()
		if errors.Is(err, errPruned) {
			continue
		}
		if err != nil {
			return f.failed(err)
		}
		more := f.fresh(file, new(int64))
		_ = file.Close() // only read from
		if !more {
			return false
		}
	}
	return true
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
		*offset += line.size
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
