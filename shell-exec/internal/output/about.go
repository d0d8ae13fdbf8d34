package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

const (
	maxNote  = 64 << 10 // bytes of one note
	maxAbout = 1 << 20  // bytes of all lines about a run
	maxName  = 256      // bytes
)

// About is what the caller knows of a run.
type About struct {
	ExecutionID string
	Name        string // of the command, for a person; its outputs are called Name.stdout and so on
}

// line is one line of the file about a run, which only grows: what a crash cuts short is a line without an end.
type line struct {
	Begun *begun          `json:"begun,omitempty"`
	Note  json.RawMessage `json:"note,omitempty"`
	Ended *ended          `json:"ended,omitempty"`
}

type begun struct {
	Time        time.Time `json:"time"`
	ExecutionID string    `json:"execution_id"`
	Name        string    `json:"name"`
}

type ended struct {
	Time    time.Time      `json:"time"`
	Dropped map[Type]int64 `json:"dropped,omitempty"`
}

func (l line) encode() ([]byte, error) {
	b, err := json.Marshal(l)
	return append(b, '\n'), err
}

// record is all lines about a run taken together.
type record struct {
	begun begun
	note  json.RawMessage // the newest
	ended *ended
}

// about reads the whole lines about a run; fault.NotFound where there is no first one.
func (s *Store) about(run string) (record, error) {
	f, err := s.root.Open(fileName(run, aboutName))
	if os.IsNotExist(err) {
		return record{}, unknown(id(run, Combined))
	}
	if err != nil {
		return record{}, failed("read", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAbout))
	if err != nil {
		return record{}, failed("read", err)
	}
	var r record
	known := false
	for text := range bytes.Lines(b) {
		var l line
		if !bytes.HasSuffix(text, []byte("\n")) || json.Unmarshal(text, &l) != nil {
			continue
		}
		if l.Begun != nil {
			r.begun, known = *l.Begun, true
		}
		if l.Note != nil {
			r.note = l.Note
		}
		if l.Ended != nil {
			r.ended = l.Ended
		}
	}
	if !known {
		return record{}, unknown(id(run, Combined))
	}
	return r, nil
}

// State says whether a run continues.
type State string

// The states of a run.
const (
	Running State = "running"
	Ended   State = "ended"
	CutOff  State = "cut_off" // its server died before it ended: what is there can be read, the rest was never stored
)

// state asks the lock of a run whose end is not written.
func (s *Store) state(run string, r record) (State, error) {
	if r.ended != nil {
		return Ended, nil
	}
	f, err := s.root.Open(fileName(run, aboutName))
	if err == nil {
		defer f.Close()
		free, err := flock.Try(f, true) // those who ask are not in each other's way
		if !free || err != nil {
			return Running, failed("read", err)
		}
	} else if !os.IsNotExist(err) {
		return Running, failed("read", err)
	}
	if again, err := s.about(run); err != nil || again.ended != nil { // it may have ended meanwhile
		return Ended, err
	}
	return CutOff, nil
}

func acceptable(note json.RawMessage) error {
	if len(note) > maxNote {
		return fault.New(fault.ParamInvalid, "the note about an output is too long", "Shorten it").With("limit_bytes", maxNote)
	}
	if !json.Valid(note) {
		return fault.New(fault.ParamMalformed, "the note about an output is not JSON", "Pass valid JSON")
	}
	return nil
}

// note adds a note, and leaves room for the end.
func note(f *os.File, text json.RawMessage) error {
	if err := acceptable(text); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxAbout-2*maxNote {
		return fault.New(fault.LimitReached, "too much was noted about this run", "Note less often").With("limit_bytes", maxAbout)
	}
	return appendLine(f, line{Note: text})
}

// appendLine adds a line, or leaves the file as it was.
func appendLine(f *os.File, l line) error {
	b, err := l.encode()
	if err != nil {
		return err
	}
	n, err := f.Write(b)
	if err == nil || n == 0 {
		return err
	}
	info, e := f.Stat()
	if e == nil {
		e = f.Truncate(info.Size() - int64(n))
	}
	return errors.Join(err, e)
}
