package audit

import (
	"io"
	"sync"
	"time"
)

// Writer records to a stream, for --audit-log stderr. Its chain restarts with
// each process.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	also []func(line []byte)
	seq  uint64
	hash string
}

// NewWriter is a Recorder that writes each event to w by one Write, and then hands it to
// also, as [Options] have it.
func NewWriter(w io.Writer, also ...func(line []byte)) *Writer { return &Writer{out: w, also: also} }

// Record writes one event. After an error the next event takes its place in the
// chain.
func (w *Writer) Record(e Event) error {
	body, err := bodyOf(filled(e, time.Now))
	if err != nil {
		return failed("cannot hold the event", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	line, hash := seal(nil, w.seq+1, w.hash, body)
	n, err := w.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return failed("cannot be written", err)
	}
	w.seq, w.hash = w.seq+1, hash
	for _, also := range w.also {
		also(line)
	}
	return nil
}
