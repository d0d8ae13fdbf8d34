package audit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// Options of a log file.
type Options struct {
	// MaxBytes is the size at which the file is rotated; 0 means 64 MiB.
	MaxBytes int64
	// Keep is how many rotated files stay; 0 means all.
	Keep int
	// Clock gives the time of events that have none; nil means time.Now. Several
	// goroutines may call it at once.
	Clock func() time.Time
	// Anchor is a file that says how far the log had come when it was opened and closed, so
	// that a log that was removed meanwhile is missed; it is in another directory. Empty: none.
	Anchor string
	// Also are called with each line once it is stored, in order. They must neither keep
	// the line nor wait.
	Also []func(line []byte)
}

const defaultMaxBytes = 64 << 20

// Log is an open log file. Several goroutines may use one Log, and several
// processes one file.
type Log struct {
	path  string // absolute
	max   int64
	keep  int
	clock func() time.Time
	also  []func(line []byte)

	anchor *os.File // nil: none

	mu     sync.Mutex
	closed bool
	data   openFile // the log
	lock   openFile // the head record, locked while anything is changed
	raw    []byte   // the head record as this process last wrote or parsed it
	state  head     // raw, parsed
	spare  []byte   // room for the next record
	line   []byte   // room for the next line
}

// openFile is an open file and what it was when it was opened.
type openFile struct {
	file *os.File
	info fs.FileInfo
}

// Open opens or creates a log file, its directory and its head record, for the
// owner only (0600 and 0700). It repairs what a crash left. It needs no other
// directory afterwards.
func Open(file string, o Options) (*Log, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, failed("cannot be opened", err)
	}
	l := &Log{path: path, max: o.MaxBytes, keep: o.Keep, clock: o.Clock, also: o.Also}
	if l.max <= 0 {
		l.max = defaultMaxBytes
	}
	if l.clock == nil {
		l.clock = time.Now
	}
	err = os.MkdirAll(filepath.Dir(l.path), 0o700)
	if err == nil {
		if l.openAnchor(o.Anchor) != nil { // a log that cannot have one is kept all the same
			l.anchor = nil
		}
		err = l.locked(func() error { return errors.Join(l.settle(), l.drop()) })
	}
	if err != nil {
		_ = l.Close() // the first error is the one to report
		return nil, failed("cannot be opened", err)
	}
	return l, nil
}

// Record stores one event. It fills Seq, Prev and Hash, and Time and PID where
// they are zero. An error means that the event is not in the log.
func (l *Log) Record(e Event) error {
	body, err := bodyOf(filled(e, l.clock))
	if err != nil {
		return failed("cannot hold the event", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.locked(func() error { return l.append(body) })
	if err != nil {
		return failed("cannot be written", err)
	}
	return nil
}

// Close closes the files. Record fails afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.anchor != nil && !l.closed {
		_ = errors.Join(l.locked(func() error { return errors.Join(l.settle(), l.drop()) }),
			l.anchor.Close()) // where it was dropped before holds as well
	}
	l.closed = true
	return errors.Join(l.data.close(), l.lock.close())
}

// filled is e with what the recorder knows, and masked where text can come from
// anywhere.
func filled(e Event, clock func() time.Time) Event {
	if e.Time.IsZero() {
		e.Time = clock()
	}
	e.Time = e.Time.UTC()
	if e.PID == 0 {
		e.PID = os.Getpid()
	}
	e.Cause, e.Rule = maskText(cut(e.Cause, seenCause)), maskText(cut(e.Rule, seenPath))
	count := len(e.Paths)
	if count > seenPaths {
		count = maxPaths - 1 // and the word on the others
	}
	e.Paths = fewer(e.Paths, count, seenPath)
	for i, p := range e.Paths {
		e.Paths[i] = maskText(p)
	}
	return e
}

// append writes one event at the end of the chain. The caller holds the lock.
func (l *Log) append(body []byte) error {
	if err := l.settle(); err != nil {
		return err
	}
	line, hash := seal(l.line[:0], l.state.Seq+1, l.state.Hash, body)
	l.line = line
	if l.state.Size > 0 && l.state.Size+int64(len(line)) > l.max {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	next := l.state
	next.Seq, next.Hash, next.Size = next.Seq+1, hash, next.Size+int64(len(line))
	err := appendAt(l.data.file, line, l.state.Size)
	if err == nil {
		err = l.save(next)
	}
	if err != nil { // an event that is reported as lost must not be half there
		return errors.Join(err, l.data.file.Truncate(l.state.Size))
	}
	for _, also := range l.also {
		also(line)
	}
	return nil
}

// save makes h the head record.
func (l *Log) save(h head) error {
	raw, err := h.record(l.room())
	if err != nil {
		return err
	}
	if _, err := l.lock.file.WriteAt(raw, 0); err != nil {
		return err
	}
	if len(l.raw) != headSize { // a new file: let it not be empty after a power failure
		if err := l.lock.file.Sync(); err != nil {
			return err
		}
	}
	l.raw, l.spare, l.state = raw, l.raw, h
	return nil
}

// room is room for a head record in addition to the current one.
func (l *Log) room() []byte {
	if cap(l.spare) < headSize {
		l.spare = make([]byte, 0, headSize)
	}
	return l.spare
}

// locked runs do while no other process changes the log. If the head record was
// removed or replaced since it was opened, the new one is taken: two processes
// that lock different files would tear the chain.
func (l *Log) locked(do func() error) error {
	if l.closed {
		return fs.ErrClosed
	}
	for range 10 {
		if err := l.lock.open(headPath(l.path), openHead); err != nil {
			return err
		}
		if err := lockWait(l.lock.file, true); err != nil {
			return err
		}
		if info, err := os.Lstat(headPath(l.path)); err == nil && os.SameFile(info, l.lock.info) {
			return errors.Join(do(), flock.Unlock(l.lock.file))
		}
		if err := l.lock.close(); err != nil { // unlocks it as well
			return err
		}
	}
	return fault.New(fault.Unavailable, "the head record of the audit log is replaced again and again",
		"Let no other program write to the audit directory")
}

// readState parses the head record, or makes a new one where it is lost, or older than
// what this process knows: then the chain continues after the events that are gone. Nearly
// always it is as this process left it.
func (l *Log) readState() error {
	raw, err := readHead(l.lock.file, l.room())
	if err != nil || (len(raw) == headSize && bytes.Equal(raw, l.raw)) {
		return err
	}
	h, ok := parseHead(raw)
	if !ok {
		if h, err = rebuilt(l.path); err != nil {
			return err
		}
	}
	switch known := l.state; {
	case h.Seq < known.Seq:
		if h.Seq == 0 {
			h.From = known.From
		}
		h.Seq, h.Hash, h.Rebuilt = known.Seq, known.Hash, known.Seq
	case ok:
		l.raw, l.spare, l.state = raw, l.raw, h
		return nil
	}
	return l.save(h)
}

// open opens path with with, unless it is open already.
func (h *openFile) open(path string, with func(string) (*os.File, error)) error {
	if h.file != nil {
		return nil
	}
	f, err := with(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fault.New(fault.Misconfigured, "the audit log is not a regular file", "Name a regular file with --audit-log, or stderr, or off")
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	h.file, h.info = f, info
	return nil
}

func (h *openFile) close() error {
	if h.file == nil {
		return nil
	}
	f := h.file
	h.file, h.info = nil, nil
	return f.Close()
}

// failed is the error a caller sees: code and sentence of the cause, worded as one
// of the audit log. The cause may name paths and is kept for diagnostics.
func failed(how string, err error) error {
	f := fault.From(err)
	do := f.Do
	if do == "" || f.Code == fault.Internal {
		do = "Ask the person who runs this server to look at the audit directory"
	}
	return fault.New(f.Code, "the audit log "+how+": "+f.Msg, do).Because(err)
}
