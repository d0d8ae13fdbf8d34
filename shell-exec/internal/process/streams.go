package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// drainSize is what is read from a pipe at once.
const drainSize = 32 << 10

// streams are the three of an execution: the child's ends, and what is done at ours.
type streams struct {
	child     sandbox.Files
	input     *os.File // our end of stdin; nil where it is empty
	text      string   // for it
	drains    []*drain
	recording *output.Run // nil where nothing is kept
}

// open makes the streams of e and all that takes what comes from them.
func (r *Runner) open(e *execution, q Request) (s *streams, err error) {
	s = &streams{text: q.Input}
	defer func() {
		if err != nil {
			s.closeChild()
			s.abandon()
		}
	}()
	e.streams = s
	if e.stdout, err = output.NewCapture(q.MaxOutput); err != nil {
		return s, err
	}
	if e.stderr, err = output.NewCapture(q.MaxOutput); err != nil {
		return s, err
	}
	if s.text == "" {
		s.child.Stdin, err = os.Open(os.DevNull)
	} else {
		s.input, s.child.Stdin, err = pipe(false)
	}
	if err != nil {
		return s, err
	}
	// A store that fails stops no command: the record reports that its output is not kept.
	if r.config.Store != nil {
		s.recording = r.config.Store.Later(output.About{ExecutionID: e.rec.ID, Name: q.Text})
		e.rec.OutputID = s.recording.ID()
	}
	if s.child.Stdout, err = s.drain(&tap{e: e, capture: e.stdout, keep: s.keep(output.Stdout), room: int64(q.MaxOutput)}); err != nil {
		return s, err
	}
	if q.DropStderr {
		s.child.Stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	} else {
		s.child.Stderr, err = s.drain(&tap{e: e, capture: e.stderr, keep: s.keep(output.Stderr), room: int64(q.MaxOutput)})
	}
	return s, err
}

// keep is where the store takes one stream of the execution.
func (s *streams) keep(t output.Type) io.Writer {
	if s.recording == nil {
		return io.Discard
	}
	return s.recording.Writer(t)
}

// drain adds a pipe whose other end is the result.
func (s *streams) drain(to io.Writer) (*os.File, error) {
	ours, theirs, err := pipe(true)
	if err != nil {
		return nil, err
	}
	s.drains = append(s.drains, &drain{from: ours, to: to, settled: make(chan struct{}), ended: make(chan struct{})})
	return theirs, nil
}

// begin feeds and drains until the pipes end or are closed.
func (s *streams) begin(buffers *sync.Pool) {
	for _, d := range s.drains {
		go d.run(buffers)
	}
	if s.input != nil {
		to, text := s.input, s.text
		s.text = ""
		go func() { // the command need not read: what it leaves, and that its end of the pipe is gone, is its own affair
			_, _ = io.WriteString(to, text)
			_ = to.Close()
		}()
	}
}

func (s *streams) closeChild() {
	for _, f := range []*os.File{s.child.Stdin, s.child.Stdout, s.child.Stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// abandon is for streams that have not begun.
func (s *streams) abandon() {
	for _, d := range s.drains {
		_ = d.from.Close()
	}
	s.closeInput()
	s.end()
}

// outlasting is how long pipes may stay open when no process of the tree is left: what holds them then is a stranger.
const outlasting = 100 * time.Millisecond

// close gives everything back but the record of it: executions are remembered for longer than their output.
func (s *streams) close() {
	limit := time.NewTimer(outlasting)
	defer limit.Stop()
	for _, d := range s.drains {
		select {
		case <-d.ended:
		case <-limit.C:
			limit.Reset(0)
		}
		_ = d.from.Close()
		<-d.ended
	}
	s.drains = nil
	s.closeInput()
}

func (s *streams) closeInput() {
	if s.input != nil {
		_ = s.input.Close()
	}
}

// end ends the output in the store: nothing more comes.
func (s *streams) end() {
	if s.recording != nil {
		_ = s.recording.End()
	}
}

// drain empties one pipe, as long as it has another end.
type drain struct {
	from    *os.File
	to      io.Writer
	settled chan struct{}
	ended   chan struct{}
}

func (d *drain) run(buffers *sync.Pool) {
	defer close(d.ended)
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := d.from.Read(*buffer)
		_, _ = d.to.Write((*buffer)[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			d.rest(*buffer)
			_ = d.from.SetReadDeadline(time.Time{})
			close(d.settled)
		default:
			return
		}
	}
}

// finish is called once. A deadline in the past is what wakes a reader that waits: it then takes what is there.
func (d *drain) finish() {
	select {
	case <-d.ended:
		return
	default:
	}
	if d.from.SetReadDeadline(time.Unix(1, 0)) != nil {
		return
	}
	select {
	case <-d.settled:
	case <-d.ended:
	}
}

// tap is where one stream goes: into the answer, the progress, and the store.
type tap struct {
	e       *execution
	capture *output.Capture
	keep    io.Writer
	room    int64 // in the answer
}

// Write never fails, so that a full disk blocks no command.
func (t *tap) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	_, _ = t.capture.Write(p)
	_, _ = t.e.newest.Write(p)
	_, _ = t.keep.Write(p)
	t.e.written.Add(int64(len(p)))
	if t.room -= int64(len(p)); t.room < 0 {
		t.e.filled.Do(func() { close(t.e.full) })
	}
	return len(p), nil
}
