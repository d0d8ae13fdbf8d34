package output

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Run is the outputs of one execution while they are written. Its methods may be called from several goroutines.
//
// Writing never fails, since a command must not stop because its output cannot be kept: what cannot be stored is counted
// at its end, and Err says why. A stream of which something was dropped is not written to again, so that what is
// there has no holes.
type Run struct {
	store *Store
	id    string
	first begun

	mu           sync.Mutex
	about        *os.File // nil while the run is only in memory
	waiting      []part
	waitingBytes int // bytes in waiting
	noted        json.RawMessage
	streams      [3]stream // in the order of streams()
	order        order
	err          error // why something was dropped first
	lost         bool  // the run could not be stored at all
	over         bool
}

// part is something that was written to one stream.
type part struct {
	to   int
	text []byte
}

const maxWaiting = 64 << 10 // bytes of a run that is not on the disk

type stream struct {
	file    *os.File // nil until something is written
	size    int64
	dropped int64
	tail    []byte // the last bytes of what was stored, at most 3
}

// Begin makes room for the outputs of a run and says that it continues, until End or the death of this process. A full
// disk is fault.DiskFull.
func (s *Store) Begin(ctx context.Context, a About) (*Run, error) {
	r := s.Later(a)
	if err := r.Keep(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Later is a run that touches the disk only when it must: when Keep is called, when it has written more than 64 KiB, or
// at its End. Until then no list has it.
func (s *Store) Later(a About) *Run {
	id, name := path.Join(s.project, strings.ToLower(rand.Text())), a.Name
	if len(name) > maxName {
		name = name[:maxName-unfinished([]byte(name[:maxName]))]
	}
	return &Run{store: s, id: id, first: begun{Time: s.clock().UTC().Round(0), ExecutionID: a.ExecutionID, Name: name}}
}

// Keep stores from now on what is written, and what was before.
func (r *Run) Keep(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return gone()
	}
	return failed("added to", r.keep(ctx))
}

func (r *Run) keep(ctx context.Context) error {
	switch {
	case r.about != nil:
		return nil
	case r.lost:
		return r.err
	}
	first, err := line{Begun: &r.first, Note: r.noted}.encode()
	if err != nil {
		return err
	}

	// Make and lock the file about the run, and let others go where there are too many.
	s := r.store
	err = s.locked(ctx, func() error {
		if s.begun.Add(1) > int64(max(s.limits.Runs/runsStep, 1)) || s.full.Load() {
			if err := s.sweep(); err != nil {
				return err
			}
		}
		if err := s.root.Mkdir(s.project, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		f, err := s.makePart(r.id, aboutName)
		if err != nil {
			return err
		}
		if err = lockFile(ctx, f); err == nil { // the store is locked, so that nobody finds the one without the other
			_, err = f.Write(first)
		}
		if err != nil {
			f.Close()
			s.root.Remove(fileName(r.id, aboutName))
			return err
		}
		r.about = f
		return nil
	})
	if err != nil {
		return err
	}

	waiting := r.waiting
	r.waiting, r.waitingBytes = nil, 0
	for _, p := range waiting {
		s.added.Add(int64(r.put(p.to, p.text)))
	}
	return nil
}

func (s *Store) makePart(run, part string) (*os.File, error) {
	return s.root.OpenFile(fileName(run, part), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}

// ID is the output_id of what Stdout and Stderr say together.
func (r *Run) ID() string { return id(r.id, Combined) }

// OutputID is the output_id of one type of output.
func (r *Run) OutputID(t Type) string { return id(r.id, t) }

// Writer stores what is written to it as Stdout, Stderr or Log.
func (r *Run) Writer(t Type) io.Writer { return writer{r, t.index()} }

type writer struct {
	run *Run
	to  int
}

func (w writer) Write(p []byte) (int, error) {
	if w.to < 0 {
		return 0, fault.New(fault.Internal, "an output of this type cannot be written", "")
	}
	r := w.run
	r.mu.Lock()
	unstored := r.about == nil && !r.lost && !r.over
	if unstored && r.waitingBytes+len(p) <= maxWaiting {
		r.waitingBytes += len(p)
		if n := len(r.waiting); n > 0 && r.waiting[n-1].to == w.to {
			r.waiting[n-1].text = append(r.waiting[n-1].text, p...)
		} else {
			r.waiting = append(r.waiting, part{w.to, bytes.Clone(p)})
		}
		r.mu.Unlock()
		return len(p), nil
	}
	if unstored {
		r.keepOrLose()
	}
	stored := r.put(w.to, p)
	r.mu.Unlock()

	// Look at the total from time to time.
	s, step := r.store, min(r.store.limits.Total/16, maxStep)
	if stored == 0 || s.added.Add(int64(stored)) <= step {
		return len(p), nil
	}
	err := s.locked(context.Background(), func() error {
		if s.added.Load() <= step { // somebody looked meanwhile
			return nil
		}
		return s.sweep()
	})
	if err != nil {
		s.full.Store(true) // nobody knows how much there is
	}
	return len(p), nil
}

// keepOrLose counts what is in memory as dropped, where it cannot be stored.
func (r *Run) keepOrLose() {
	if err := r.keep(context.Background()); err != nil {
		r.because(failed("added to", err))
		r.lost = true
		for _, p := range r.waiting {
			r.streams[p.to].dropped += int64(len(p.text))
		}
		r.waiting, r.waitingBytes = nil, 0
	}
}

// put stores what there is room for, and counts the rest.
func (r *Run) put(to int, p []byte) (stored int) {
	st, s := &r.streams[to], r.store
	defer func() { st.dropped += int64(len(p) - stored) }()
	room := s.limits.Stream - st.size
	switch {
	case st.dropped > 0 || r.over || r.lost:
		return 0
	case s.full.Load():
		r.because(fault.New(fault.LimitReached, "the stored outputs of running commands fill all the room there is",
			"Delete outputs, or end a command").With("limit_bytes", s.limits.Total))
		return 0
	case int64(len(p)) > room:
		r.because(fault.New(fault.LimitReached, "the command wrote more than is stored of one stream", "Let it write less, or to a file").
			With("limit_bytes", s.limits.Stream))
	}
	keep := p[:min(int64(len(p)), room)]
	if len(keep) == 0 {
		return 0
	}
	if st.file == nil {
		f, err := s.makePart(r.id, string(streams()[to]))
		if err != nil {
			r.because(failed("added to", err))
			return 0
		}
		st.file = f
	}
	r.turn(to)
	n, err := st.file.Write(keep)
	if err != nil {
		r.because(failed("added to", err))
	}
	st.size += int64(n)
	st.tail = append(st.tail, keep[max(n-3, 0):n]...)
	st.tail = append(st.tail[:0], st.tail[max(len(st.tail)-3, 0):]...)
	return n
}

func (r *Run) because(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Note keeps JSON of at most 64 KiB with the run, for who finds it after a restart. The newest note counts.
func (r *Run) Note(text json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
		return gone()
	case r.about != nil:
		return failed("added to", note(r.about, text))
	}
	if err := acceptable(text); err != nil {
		return err
	}
	r.noted = bytes.Clone(text)
	return nil
}

func gone() error {
	return fault.New(fault.Internal, "an output was written to after its end", "")
}

// Err is why something was dropped first: fault.LimitReached, or fault.DiskFull. It is nil if nothing was.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// End says that the run is over. What is written afterwards is dropped. Its error is about the store's files; the run
// is over in any case.
func (r *Run) End() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.keepOrLose()
	r.over = true
	if r.lost {
		return r.err
	}
	dropped := map[Type]int64{}
	for i, st := range r.streams {
		if st.dropped > 0 {
			dropped[streams()[i]] = st.dropped
		}
	}
	err := appendLine(r.about, line{Ended: &ended{Time: r.store.clock().UTC().Round(0), Dropped: dropped}})
	errs := []error{err}
	for _, f := range []*os.File{r.about, r.order.file, r.streams[0].file, r.streams[1].file, r.streams[2].file} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return failed("added to", errors.Join(errs...))
}
